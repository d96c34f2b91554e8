"""The least bytes that a transaction takes on the wire of each link, by what its workload declares."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

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
    # Ends of QUIC that look for larger datagrams let nobody fragment them (RFC 9000 section 14).
    policy: Policy = "set" if exchange.transport == "tcp" or exchange.datagrams is not None else "clear"
    try:
        sent = _payloads(exchange, network, exchange.sent, exchange.sent_data_bytes)
        received = _payloads(exchange, network, exchange.received, exchange.received_data_bytes)
        sent.update([SYN_BYTES, TCP_HEADER_BYTES] * exchange.connections)
        received.update([SYN_BYTES] * exchange.connections)
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


@dataclass(frozen=True, kw_only=True)
class StreamPackets:
    """The largest packets that carry a stream on a path.

    Attributes:
        header_bytes: those between the header of IP and the stream's data.
        data_bytes: the data.
    """

    header_bytes: int
    data_bytes: int

    def payloads(self, size_bytes: int) -> Counter[int]:
        """The payloads of the fewest IP packets with so many bytes of the stream, and how many have each."""
        full, rest_bytes = divmod(size_bytes, self.data_bytes)
        counted = Counter({self.header_bytes + self.data_bytes: full} if full else {})
        if rest_bytes:
            counted[self.header_bytes + rest_bytes] += 1
        return counted


def stream_packets(network: Network, datagrams: Datagrams | None = None) -> StreamPackets:
    """The packets of a stream.

    Args:
        datagrams: those that the stream fills; None: segments of TCP carry it.

    Raises:
        NotPredicted: the path carries no such datagram.
    """
    if datagrams is None:
        room_bytes = path_mtu(network) - header_of(network.family).size_bytes - TCP_HEADER_BYTES
        return StreamPackets(header_bytes=TCP_HEADER_BYTES, data_bytes=room_bytes)
    largest_bytes = datagram_bytes(datagrams, network)
    if largest_bytes is None:
        raise NotPredicted(f"the path carries no datagram of {datagrams.least_bytes} bytes")
    header_bytes = datagrams.header_bytes
    return StreamPackets(header_bytes=UDP.size_bytes + header_bytes, data_bytes=largest_bytes - header_bytes)


def _payloads(exchange: TransactionTraffic, network: Network, writes: tuple[int, ...], data_bytes: int) -> Counter[int]:
    """The payloads of IP packets. `data_bytes`: those that fill datagrams."""
    payloads: Counter[int] = Counter()
    if exchange.transport == "tcp":
        packets = stream_packets(network)
        for size in writes:
            payloads.update(packets.payloads(size))
        return payloads
    payloads.update(UDP.size_bytes + size for size in writes)
    if exchange.datagrams is not None:
        payloads.update(stream_packets(network, exchange.datagrams).payloads(data_bytes))
    return payloads


def _on_links(network: Network, payloads: Counter[int], policy: Policy, engine: str | None) -> dict[str, int]:
    """The bytes of these packets on the wire of each link."""
    totals = {crossing.link.name: 0 for crossing in network.crossings}
    for payload_bytes, packets in payloads.items():
        settled = settle(network, payload_bytes, policy, engine)[-1]
        if settled.outcome != "delivered":
            raise NotPredicted(f"a packet of {payload_bytes} bytes does not arrive")
        for load in settled.loads:
            totals[load.crossing.link.name] += packets * load.wire_bytes
    return totals
