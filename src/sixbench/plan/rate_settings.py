"""The keys of a link that make it send more slowly: the rate, its bucket and its queue."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ..model import units
from ..model.direction import DISCIPLINES, RateQueue
from ..model.framing import ETHERNET_FRAMING, framing_of
from ..model.parameter import Parameter, Scalar
from ..model.quoting import shown
from .emulation_settings import MAX_DELAY_NS

MIN_RATE_BPS = 8_000
MAX_RATE_BPS = 10**12
MAX_QUEUE_BYTES = 2**30
"""tc keeps the limit of a queue in 32 bits."""

MAX_QUEUE_PACKETS = 1_000_000
MAX_CODEL_NS = 10 * 10**9


def _codel(name: str, default_ns: int, doc: str) -> Parameter:
    return Parameter(name=name, kind="duration", doc=doc, minimum=1000, maximum=MAX_CODEL_NS, default=default_ns)


CODEL_TARGET = _codel("queue-target", 5_000_000, "for CoDel: the waiting time of packets that it tolerates")
CODEL_INTERVAL = _codel(
    "queue-interval",
    100_000_000,
    "for CoDel: time for which packets may wait longer than the target before it drops one; about the longest round "
    "trip",
)
"""The defaults of Linux (include/net/codel.h), which are those of RFC 8289 section 4.2."""

_PACKETS = re.compile(r"([0-9]{1,9})\s*packets?")


def queue(value: Mapping[str, Scalar]) -> RateQueue:
    """The queue of one direction, from its settings."""
    limit = _limit(value.get("queue"))
    return replace(
        limit,
        discipline=next(
            (discipline for discipline in DISCIPLINES if discipline == value.get("queue-discipline")), DISCIPLINES[0]
        ),
        target_ns=int(value["queue-target"]) if "queue-target" in value else None,
        interval_ns=int(value["queue-interval"]) if "queue-interval" in value else None,
        ecn=value["queue-ecn"] is True if "queue-ecn" in value else None,
    )


def overhead(value: Mapping[str, Scalar]) -> str:
    """The name of the framing of one direction, from its settings."""
    return str(value.get("overhead", ETHERNET_FRAMING.name))


def _limit(limit: Scalar | None) -> RateQueue:
    if not isinstance(limit, str):
        return RateQueue()
    packets = _PACKETS.fullmatch(limit)
    if packets is not None:
        return RateQueue(limit_packets=int(packets[1]))
    if limit.endswith("B"):
        return RateQueue(limit_bytes=units.parse_size(limit))
    return RateQueue(limit_ns=units.parse_duration(limit))


def check_rate(value: Mapping[str, Scalar], mtu_bytes: int) -> tuple[str, str] | None:
    """The problem with settings of one direction that are each right on their own: the key, and the sentence."""
    both = {parameter.name: parameter.default for parameter in (CODEL_TARGET, CODEL_INTERVAL)}
    target_ns, interval_ns = (int(value.get(key) or default or 0) for key, default in both.items())
    if target_ns >= interval_ns:
        key = next(key for key in both if key in value)
        target, interval = units.format_duration(target_ns), units.format_duration(interval_ns)
        return key, f"a target of {target} must be shorter than the interval of {interval}"
    frame_bytes = framing_of(overhead(value)).wire_bytes(mtu_bytes)
    if "burst" in value and int(value["burst"]) < frame_bytes:
        return "burst", (
            f"a burst of {value['burst']} bytes is too small for a packet of the MTU: give at least {frame_bytes}B, "
            f"which is the MTU of {mtu_bytes} and {frame_bytes - mtu_bytes} bytes of frame"
        )
    return _check_queue(value, frame_bytes) if "queue" in value else None


def _check_queue(value: Mapping[str, Scalar], frame_bytes: int) -> tuple[str, str] | None:
    rate_bps, limit = int(value["rate"]), queue(value)
    if limit.limit_packets is not None:
        return None
    held = f"{value['queue']} at {units.format_rate(rate_bps)}" if limit.limit_ns is not None else f"{value['queue']}"
    held_bytes = limit.limit_bytes if limit.limit_ns is None else limit.limit_ns * rate_bps // (8 * 10**9)
    if held_bytes is None:
        return None
    if held_bytes > MAX_QUEUE_BYTES:
        most = units.format_size(MAX_QUEUE_BYTES)
        return "queue", f"a queue of {held} holds {held_bytes} bytes, which is too large; give at most {most}"
    if held_bytes < frame_bytes:
        least_us = -(-frame_bytes * 8 * 10**6 // rate_bps)
        at_least = "that" if limit.limit_ns is None else units.format_duration(least_us * 1000)
        return "queue", (
            f"a queue of {held} holds {held_bytes} bytes, which is less than one packet of the MTU with its frame, "
            f"{frame_bytes}B; give at least {at_least}"
        )
    return None


def _queue(value: object) -> Scalar:
    """A time, a size or a number of packets, as text with its unit. The unit decides which of them it is."""
    packets = _PACKETS.fullmatch(value.strip()) if isinstance(value, str) else None
    if packets is not None and 0 < int(packets[1]) <= MAX_QUEUE_PACKETS:
        return f"{int(packets[1])} packets"
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
        f"{shown(value)} is not a queue: give a time (50ms), a size (100KiB) or a number (100 packets), "
        f"over 0 and at most {units.format_duration(MAX_DELAY_NS)}, {units.format_size(MAX_QUEUE_BYTES)} or "
        f"{MAX_QUEUE_PACKETS} packets"
    )


def _overhead(value: object) -> Scalar:
    try:
        return framing_of(value if isinstance(value, str) else "").name
    except ValueError as error:
        raise ValueError(f"{shown(value)} is not an overhead: {error}") from error


RATE_PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        name="rate",
        kind="rate",
        doc="bits per second on the wire, each way; overhead sets how packets count",
        minimum=MIN_RATE_BPS,
        maximum=MAX_RATE_BPS,
        unless_given="as fast as the machine",
    ),
    Parameter(
        name="overhead",
        kind="overhead",
        parser=_overhead,
        doc="bytes of each packet that the rate counts beside the IP packet: the name of a framing, or a size",
        default=ETHERNET_FRAMING.name,
    ),
    Parameter(
        name="queue",
        kind="queue",
        parser=_queue,
        doc=(
            "limit of the queue before the rate: a time at that rate, a size, or a number of packets; at least one "
            "packet"
        ),
        unless_given="50ms, at least 128KiB; with codel 1000 packets, with fq_codel 10240",
    ),
    Parameter(
        name="queue-discipline",
        kind="choice",
        choices=DISCIPLINES,
        doc=(
            "tail-drop drops packets that come when the queue is full; codel (RFC 8289) and fq_codel (RFC 8290) drop "
            "earlier, and they count the limit in packets of the MTU"
        ),
        default="tail-drop",
    ),
    CODEL_TARGET,
    CODEL_INTERVAL,
    Parameter(
        name="queue-ecn",
        kind="flag",
        doc="for CoDel: packets whose senders know ECN (RFC 3168) are marked instead of dropped",
        unless_given="false with codel, true with fq_codel",
    ),
    Parameter(
        name="burst",
        kind="size",
        doc="bucket of the rate limiter: amount that may leave at once after a pause",
        minimum=1,
        maximum=MAX_QUEUE_BYTES,
        unless_given="2ms at the rate, at least two frames",
    ),
)
"""Settings that make a link send more slowly, in the order of the documents."""
