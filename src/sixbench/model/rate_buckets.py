"""Buckets of the rate limiters of links: what they let pass at once. Pure."""

from __future__ import annotations

from .direction import LinkDirection
from .headers import ETHERNET
from .topology import Link

DEFAULT_BURST_NS = 2_000_000
"""The rate limiter's bucket, as a time. tbf sends whatever its timer missed while the bucket was not full, so the
bucket must outlast a late wake-up (60..100 us at the 99th percentile, some milliseconds under load, measured) or the
link is slower than its rate."""
MIN_BURST_FRAMES = 2


def burst_bytes(link: Link, direction: LinkDirection) -> int:
    """The rate limiter's bucket, in bytes, of a direction that has a rate."""
    if direction.burst_bytes is not None:
        return direction.burst_bytes
    assert direction.rate_bps is not None, "only a direction with a rate has a bucket"
    return max(MIN_BURST_FRAMES * frame_bytes(link, direction), direction.rate_bps * DEFAULT_BURST_NS // 8 // 10**9)


def frame_bytes(link: Link, direction: LinkDirection) -> int:
    """The largest packet, as the rate counts it; on Ethernet with preamble, FCS and gap."""
    return direction.framing.wire_bytes(link.mtu_bytes, link.tag_bytes)


def bucket_bytes(link: Link, direction: LinkDirection) -> int:
    """The most bytes that a full bucket lets pass at once, as the rate counts them. The kernel counts the bucket as one
    frame of its length, with its overhead and its cells (sch_tbf.c, `tbf_change` by `psched_l2t_ns`)."""
    return direction.framing.wire_bytes(burst_bytes(link, direction) - ETHERNET.size_bytes, link.tag_bytes)


def bucket_slack_ns(link: Link, direction: LinkDirection) -> int:
    """Lateness that the timer of a direction with a rate may have without a loss of tokens: the time in which the
    bucket fills, less that of the frame that waits for its tokens."""
    assert direction.rate_bps is not None, "only a direction with a rate has a bucket"
    room_bytes = bucket_bytes(link, direction) - frame_bytes(link, direction)
    return max(0, room_bytes * 8 * 10**9 // direction.rate_bps)
