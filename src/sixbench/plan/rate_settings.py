"""What a link may be given to send more slowly: the keys of the rate, its bucket and its queue."""

from __future__ import annotations

from collections.abc import Mapping

from ..model import units
from ..model.direction import Queue
from ..model.wording import shown
from ..model.workload import Scalar
from .emulation_settings import MAX_DELAY_NS
from .link_setting import LinkSetting

MIN_RATE_BPS = 8_000
MAX_RATE_BPS = 10**12
MAX_QUEUE_BYTES = 2**30
"""tc keeps the limit of a queue in 32 bits."""

FRAME_OVERHEAD_BYTES = 38
"""Of a frame beyond the IP packet, as the rate limiter counts it: Ethernet 14, preamble, gap and FCS 24."""


def queue(value: Mapping[str, Scalar]) -> Queue:
    """The queue of one direction, from its settings."""
    limit = value.get("queue")
    if not isinstance(limit, str):
        return Queue()
    if limit.endswith("B"):
        return Queue(limit_bytes=units.parse_size(limit))
    return Queue(limit_ns=units.parse_duration(limit))


def check_rate(value: Mapping[str, Scalar], mtu_bytes: int) -> tuple[str, str] | None:
    """What is wrong with settings of one direction that are right one by one: the key, and the sentence."""
    for key in ("queue", "burst"):
        if key in value and "rate" not in value:
            return key, f"a {key} belongs to a rate: add rate, or leave {key} out"
    frame_bytes = mtu_bytes + FRAME_OVERHEAD_BYTES
    if "burst" in value and int(value["burst"]) < frame_bytes:
        return "burst", (
            f"a burst of {value['burst']} bytes lets no packet of the MTU pass: at least {frame_bytes}B, "
            f"the MTU of {mtu_bytes} and {FRAME_OVERHEAD_BYTES} bytes of frame"
        )
    return _check_queue(value, frame_bytes) if "queue" in value else None


def _check_queue(value: Mapping[str, Scalar], frame_bytes: int) -> tuple[str, str] | None:
    rate_bps, limit = int(value["rate"]), queue(value)
    held = f"{value['queue']} at {units.format_rate(rate_bps)}" if limit.limit_ns is not None else f"{value['queue']}"
    held_bytes = limit.limit_bytes if limit.limit_ns is None else limit.limit_ns * rate_bps // (8 * 10**9)
    if held_bytes is None:
        return None
    if held_bytes > MAX_QUEUE_BYTES:
        most = units.format_size(MAX_QUEUE_BYTES)
        return "queue", f"a queue of {held} holds {held_bytes} bytes, which is too large: at most {most}"
    if held_bytes < frame_bytes:
        least_ns = -(-frame_bytes * 8 * 10**9 // rate_bps)
        return "queue", (
            f"a queue of {held} holds {held_bytes} bytes, less than one packet of the MTU and its frame, "
            f"{frame_bytes}B: at least that, or {units.format_duration(least_ns)}"
        )
    return None


def _rate(value: object) -> Scalar:
    rate_bps = units.parse_rate(value)
    if not MIN_RATE_BPS <= rate_bps <= MAX_RATE_BPS:
        raise ValueError(
            f"{shown(value)} is out of range: from 8kbit to 1000Gbit; without rate, as fast as the machine"
        )
    return rate_bps


def _queue(value: object) -> Scalar:
    """A time or a size, as text with its unit: which of them it is decides what it means."""
    for parse, write, most in (
        (units.parse_duration, units.format_duration, MAX_DELAY_NS),
        (units.parse_size, units.format_size, MAX_QUEUE_BYTES),
    ):
        try:
            amount = parse(value)
        except ValueError:
            continue
        if not 0 < amount <= most:
            break
        return write(amount)
    raise ValueError(
        f"{shown(value)} is not a queue: a time such as 50ms or a size such as 100KiB, "
        f"over 0 and at most {units.format_duration(MAX_DELAY_NS)} or {units.format_size(MAX_QUEUE_BYTES)}"
    )


def _burst(value: object) -> Scalar:
    burst_bytes = units.parse_size(value)
    if not 0 < burst_bytes <= MAX_QUEUE_BYTES:
        raise ValueError(f"{shown(value)} is out of range: over 0 and at most {units.format_size(MAX_QUEUE_BYTES)}")
    return burst_bytes


RATE_SETTINGS: dict[str, LinkSetting] = {
    "rate": LinkSetting(
        parse=_rate,
        suffix="_bps",
        kind="rate",
        doc="bits per second on the wire, preamble, gap and FCS included, each way",
        default="as fast as the machine",
    ),
    "queue": LinkSetting(
        parse=_queue,
        suffix="",
        kind="queue",
        doc="limit of the queue before the rate, as a time at that rate or as a size; at least one packet",
        default="50ms, at least 128KiB",
    ),
    "burst": LinkSetting(
        parse=_burst,
        suffix="_bytes",
        kind="size",
        doc="bucket of the rate limiter",
        default="2ms at the rate, at least two frames",
    ),
}
