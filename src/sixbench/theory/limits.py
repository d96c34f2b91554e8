"""Upper bounds of what links can carry. Only a sender that never pauses reaches them.

A link carries both directions at its full rate each, so that acknowledgements cost a one-way stream nothing.
Each function gives None where no link has a rate.
"""

from __future__ import annotations

from collections.abc import Sequence

from .packets import TCP_TIMESTAMPS_BYTES, message_packets, tcp_payload_bytes
from .stacks import Hop


def tcp_goodput_limit_bps(
    hops: Sequence[Hop], mss_bytes: int | None = None, options_bytes: int = TCP_TIMESTAMPS_BYTES
) -> float | None:
    """Goodput (RFC 2647 section 3.17) of a TCP stream in full segments: at 100 Mbit/s and an MTU of 1500, 94.15 Mbit/s
    over IPv4 and 92.85 Mbit/s over IPv6."""
    return _tightest(tcp_limits_bps(hops, mss_bytes, options_bytes))


def udp_goodput_limit_bps(hops: Sequence[Hop], datagram_bytes: int) -> float | None:
    """UDP payload per second, in datagrams of that size back to back, each in as many fragments as it needs."""
    return _tightest(udp_limits_bps(hops, datagram_bytes))


def datagrams_limit_pps(hops: Sequence[Hop], datagram_bytes: int) -> float | None:
    """Whole datagrams per second. (RFC 5180 appendix A.1 gives it for frames: rate / (8 (frame + 20)).)"""
    limit_bps = udp_goodput_limit_bps(hops, datagram_bytes)
    return None if limit_bps is None else limit_bps / (8 * datagram_bytes)


def tcp_limits_bps(
    hops: Sequence[Hop], mss_bytes: int | None = None, options_bytes: int = TCP_TIMESTAMPS_BYTES
) -> list[float | None]:
    """The limit that each link sets for a TCP stream."""
    payload_bytes = tcp_payload_bytes(hops, mss_bytes, options_bytes)
    packets = message_packets("tcp", payload_bytes, hops, mss_bytes, options_bytes)
    return [_limit(hop, payload_bytes, on_link.wire_bytes) for hop, on_link in zip(hops, packets, strict=True)]


def udp_limits_bps(hops: Sequence[Hop], datagram_bytes: int) -> list[float | None]:
    """The limit that each link sets for a stream of datagrams."""
    packets = message_packets("udp", datagram_bytes, hops)
    return [_limit(hop, datagram_bytes, on_link.wire_bytes) for hop, on_link in zip(hops, packets, strict=True)]


def _limit(hop: Hop, payload_bytes: int, wire_bytes: int) -> float | None:
    return None if hop.rate_bps is None else hop.rate_bps * payload_bytes / wire_bytes


def _tightest(limits_bps: Sequence[float | None]) -> float | None:
    return min((limit for limit in limits_bps if limit is not None), default=None)
