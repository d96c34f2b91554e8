"""The least bytes that a transaction takes on the wire of each link, by what its workload declares."""

from __future__ import annotations

from collections import Counter

from ..model.expectation import Datagrams, TransactionTraffic
from ..model.headers import TCP, UDP
from ..model.network import Network
from .fragmentation import NotPredicted, settle
from .limits import path_mtu
from .packets import TCP_TIMESTAMPS_BYTES
from .pieces import Policy, header_of

TCP_HEADER_BYTES = TCP.size_bytes + TCP_TIMESTAMPS_BYTES
SYN_BYTES = TCP.size_bytes + 20
"""The header of a segment that opens a connection, with Linux's options: MSS, SACK, timestamps, and the window's scale
(RFC 9293 section 3.2, RFC 2018, RFC 7323), filled to a multiple of 4."""


def exchange_wire_bytes(
    exchange: TransactionTraffic, network: Network, engine: str | None
) -> dict[str, tuple[int, int]]:
    """The least bytes of a transaction on the wire of each link, to the server and from it, by the link's name.

    Acknowledgements without data are not counted, since the receiver chooses their number (RFC 5681 section 4.2), nor
    is what closes a connection, which may be in segments with data. Empty where theory has no value: over a relay, and
    where packets do not arrive.
    """
    if len(network.parts) > 1 or not network.crossings:
        return {}
    policy: Policy = "set" if exchange.transport == "tcp" else "clear"
    try:
        sent = _payloads(exchange, network, exchange.sent, exchange.sent_data_bytes)
        received = _payloads(exchange, network, exchange.received, exchange.received_data_bytes)
        sent += [SYN_BYTES, TCP_HEADER_BYTES] * exchange.connections
        received += [SYN_BYTES] * exchange.connections
        forward = _on_links(network, sent, policy, engine)
        reverse = _on_links(network.reversed, received, policy, engine)
    except (NotPredicted, ValueError):
        return {}
    return {link: (forward[link], reverse[link]) for link in forward}


def datagram_bytes(datagrams: Datagrams, network: Network) -> int | None:
    """The payload of UDP that the search for the largest datagram ends with. None: the path has no room for the
    protocol."""
    room_bytes = path_mtu(network) - header_of(network.family).size_bytes - UDP.size_bytes
    size_bytes = min(datagrams.largest_bytes, room_bytes)
    return None if size_bytes < datagrams.least_bytes else size_bytes


def _payloads(exchange: TransactionTraffic, network: Network, writes: tuple[int, ...], data_bytes: int) -> list[int]:
    """The payloads of IP packets. `data_bytes`: those that fill datagrams."""
    if exchange.transport == "udp":
        filled = [] if exchange.datagrams is None else _filled(exchange.datagrams, network, data_bytes)
        return [UDP.size_bytes + size for size in (*writes, *filled)]
    segment_bytes = path_mtu(network) - header_of(network.family).size_bytes - TCP_HEADER_BYTES
    full = [segment_bytes] * sum(size // segment_bytes for size in writes)
    rest = [size % segment_bytes for size in writes if size % segment_bytes]
    return [TCP_HEADER_BYTES + size for size in (*full, *rest)]


def _filled(datagrams: Datagrams, network: Network, data_bytes: int) -> list[int]:
    """The payloads of as few datagrams as carry so much."""
    size_bytes = datagram_bytes(datagrams, network)
    if size_bytes is None:
        raise NotPredicted(f"the path carries no datagram of {datagrams.least_bytes} bytes")
    full, rest_bytes = divmod(data_bytes, size_bytes - datagrams.header_bytes)
    return [size_bytes] * full + ([datagrams.header_bytes + rest_bytes] if rest_bytes else [])


def _on_links(network: Network, payloads: list[int], policy: Policy, engine: str | None) -> dict[str, int]:
    """The bytes of these packets on the wire of each link."""
    totals = {crossing.link.name: 0 for crossing in network.crossings}
    for payload_bytes, packets in Counter(payloads).items():
        settled = settle(network, payload_bytes, policy, engine)[-1]
        if settled.outcome != "delivered":
            raise NotPredicted(f"a packet of {payload_bytes} bytes does not arrive")
        for load in settled.loads:
            totals[load.crossing.link.name] += packets * load.wire_bytes
    return totals
