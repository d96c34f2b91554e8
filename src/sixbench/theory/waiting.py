"""The least time that messages take through links in a row, each node storing a packet before it forwards it.

This is a property of wires. The lab's links are token buckets, and a token bucket lets a short burst pass at once. A
round trip that is measured there may be shorter than this (docs/theory.md). The number is therefore for information,
and no trial is judged by it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model.headers import wire_bytes
from .packets import TCP_TIMESTAMPS_BYTES, Transport, message_packets
from .stacks import Hop


def round_trip_ns(
    hops: Sequence[Hop],
    transport: Transport,
    request_bytes: int,
    response_bytes: int | None = None,
    mss_bytes: int | None = None,
    options_bytes: int = TCP_TIMESTAMPS_BYTES,
    back: Sequence[Hop] | None = None,
) -> float:
    """The time of a request and its response: serialisation and propagation, and no time in any node.

    The response is as long as the request unless `response_bytes` is given.

    Args:
        back: the links as the response crosses them. None: the links of the request in reverse order.
    """
    answer_bytes = request_bytes if response_bytes is None else response_bytes
    there = one_way_ns(hops, transport, request_bytes, mss_bytes, options_bytes)
    return there + one_way_ns(hops[::-1] if back is None else back, transport, answer_bytes, mss_bytes, options_bytes)


def one_way_ns(
    hops: Sequence[Hop],
    transport: Transport,
    message_bytes: int,
    mss_bytes: int | None = None,
    options_bytes: int = TCP_TIMESTAMPS_BYTES,
) -> float:
    """The time from the first bit of the first packet to the last bit of the last, if all packets are sent at once.

    The packets follow one another through the links like jobs through machines: packet p leaves link k when it has been
    sent there, which starts when it has come from link k - 1 and packet p - 1 is gone. For the equal packets before the
    last that recurrence has a closed form: the sum of their times on the links so far, and all but one of them at the
    slowest.
    """
    packets = message_packets(transport, message_bytes, hops, mss_bytes, options_bytes)
    sum_ns = slowest_ns = done_ns = 0.0
    for hop, on_link in zip(hops, packets, strict=True):
        gone_ns = 0.0
        if on_link.full_count:
            full_ns = _sending_ns(hop, on_link.full_bytes)
            sum_ns += full_ns
            slowest_ns = max(slowest_ns, full_ns)
            gone_ns = sum_ns + (on_link.full_count - 1) * slowest_ns
        done_ns = max(done_ns, gone_ns) + _sending_ns(hop, on_link.last_bytes)
    return done_ns + sum(hop.delay_ns for hop in hops)


def _sending_ns(hop: Hop, packet_bytes: int) -> float:
    return 0.0 if hop.rate_bps is None else wire_bytes(packet_bytes, hop.tag_bytes) * 8e9 / hop.rate_bps
