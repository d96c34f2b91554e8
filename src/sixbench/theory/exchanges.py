"""The least bytes that a transaction takes on the wire of each link, by what its workload declares."""

from __future__ import annotations

from ..model.expectation import TransactionTraffic
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
    sent, received = _payloads(exchange, network, exchange.sent), _payloads(exchange, network, exchange.received)
    if exchange.connects:
        sent, received = [SYN_BYTES, TCP_HEADER_BYTES, *sent], [SYN_BYTES, *received]
    policy: Policy = "set" if exchange.transport == "tcp" else "clear"
    try:
        forward = _on_links(network, sent, policy, engine)
        reverse = _on_links(network.reversed, received, policy, engine)
    except (NotPredicted, ValueError):
        return {}
    return {link: (forward[link], reverse[link]) for link in forward}


def _payloads(exchange: TransactionTraffic, network: Network, writes: tuple[int, ...]) -> list[int]:
    """The payloads of IP packets."""
    if exchange.transport == "udp":
        return [UDP.size_bytes + size for size in writes]
    segment_bytes = path_mtu(network) - header_of(network.family).size_bytes - TCP_HEADER_BYTES
    full = [segment_bytes] * sum(size // segment_bytes for size in writes)
    rest = [size % segment_bytes for size in writes if size % segment_bytes]
    return [TCP_HEADER_BYTES + size for size in (*full, *rest)]


def _on_links(network: Network, payloads: list[int], policy: Policy, engine: str | None) -> dict[str, int]:
    """The bytes of these packets on the wire of each link."""
    totals = {crossing.link.name: 0 for crossing in network.crossings}
    for payload_bytes in payloads:
        settled = settle(network, payload_bytes, policy, engine)[-1]
        if settled.outcome != "delivered":
            raise NotPredicted(f"a packet of {payload_bytes} bytes does not arrive")
        for load in settled.loads:
            totals[load.crossing.link.name] += load.wire_bytes
    return totals
