"""What a link may be given beside its ends and addresses: MTU, rate, queue, impairments, offload."""

from __future__ import annotations

import re

from ..model import units
from ..model.emulation import EMULATORS
from ..model.topology import ETHERNET_MIN_MTU_V6, MAX_MTU, MIN_MTU_V4, Link
from ..model.wording import shown
from ..model.workload import Scalar
from .emulation_settings import EMULATION_SETTINGS, MAX_DELAY_NS, one_of
from .link_setting import LinkSetting

DEFAULT_MTU_BYTES = 1500
"""RFC 894: Ethernet."""

MIN_RATE_BPS = 8_000
MAX_RATE_BPS = 10**12
MAX_QUEUE_BYTES = 2**30
"""tc keeps the limit of a queue in 32 bits."""

FRAME_OVERHEAD_BYTES = 38
"""Of a frame beyond the IP packet, as the rate limiter counts it: Ethernet 14, preamble, gap and FCS 24."""


_PER_LINK = re.compile(r"([0-9]{1,6})\s*([-+])\s*([0-9]{1,6})\s+per\s+link")


def queue_limit(queue: Scalar | None) -> tuple[int | None, int | None]:
    """A queue's limit, as the setting `queue` keeps it, in bytes or in nanoseconds."""
    if not isinstance(queue, str):
        return None, None
    return (units.parse_size(queue), None) if queue.endswith("B") else (None, units.parse_duration(queue))


def check_link(link: Link, wants_ipv6: bool) -> tuple[str, str] | None:
    """What is wrong with a link whose settings are right one by one: the key, and the sentence."""
    if not MIN_MTU_V4 <= link.mtu_bytes <= MAX_MTU:
        return "mtu", f"an MTU of {link.mtu_bytes} cannot be: from {MIN_MTU_V4} (RFC 791) to {MAX_MTU}"
    if wants_ipv6 and link.mtu_bytes < ETHERNET_MIN_MTU_V6:
        return "mtu", (
            f"an MTU of {link.mtu_bytes} is too small for IPv6, which a path of this experiment uses: "
            f"at least {ETHERNET_MIN_MTU_V6} (RFC 8200 section 5)"
        )
    for key, value in (("queue", link.queue_bytes or link.queue_ns), ("burst", link.burst_bytes)):
        if value is not None and link.rate_bps is None:
            return key, f"a {key} belongs to a rate: add rate, or leave {key} out"
    frame_bytes = link.mtu_bytes + FRAME_OVERHEAD_BYTES
    if link.burst_bytes is not None and link.burst_bytes < frame_bytes:
        return "burst", (
            f"a burst of {link.burst_bytes} bytes lets no packet of the MTU pass: at least {frame_bytes}B, "
            f"the MTU of {link.mtu_bytes} and {FRAME_OVERHEAD_BYTES} bytes of frame"
        )
    if link.queue_ns is not None and link.rate_bps is not None:
        queue_bytes = link.queue_ns * link.rate_bps // (8 * 10**9)
        if queue_bytes > MAX_QUEUE_BYTES:
            held = f"{units.format_duration(link.queue_ns)} at {units.format_rate(link.rate_bps)}"
            most = units.format_size(MAX_QUEUE_BYTES)
            return "queue", f"a queue of {held} holds {queue_bytes} bytes, which is too large: at most {most}"
    return None


def is_per_link(value: object) -> bool:
    """Whether an MTU is meant to change from link to link."""
    return isinstance(value, str) and "link" in value


def parse_profile(value: object) -> str:
    """MTUs along a row of links: `1500 - 15 per link`, or one for all. Raises `ValueError`."""
    if not is_per_link(value):
        return str(_mtu(value))
    found = _PER_LINK.fullmatch(str(value).strip())
    if found is None:
        raise ValueError(
            f"{shown(value)} is not an MTU per link: that of the first and what each further one differs by, "
            "such as 1500 - 15 per link"
        )
    first, sign, step = found.groups()
    return f"{_mtu(int(first))} {sign} {int(step)} per link"


def mtu_at(profile: Scalar, number: int) -> int:
    """Of a link of a row, counted from 0; as `parse_profile` gives it."""
    words = str(profile).split()
    return int(words[0]) + (number * int(words[1] + words[2]) if len(words) > 1 else 0)


def _mtu(value: object) -> Scalar:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{shown(value)} is not an MTU: a whole number of bytes without a unit, such as 1500")
    if not MIN_MTU_V4 <= value <= MAX_MTU:
        raise ValueError(f"an MTU of {value} cannot be: from {MIN_MTU_V4} (RFC 791) to {MAX_MTU}")
    return value


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


def _flag(value: object) -> Scalar:
    if not isinstance(value, bool):
        raise ValueError(f"{shown(value)} is neither true nor false")
    return value


LINK_SETTINGS: dict[str, LinkSetting] = {
    "mtu": LinkSetting(
        parse=_mtu,
        suffix="_bytes",
        kind="mtu",
        doc="largest IP packet; whole bytes, the only size without a unit",
        default=str(DEFAULT_MTU_BYTES),
    ),
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
        doc="limit of the queue before the rate, as a time at that rate or as a size",
        default="50ms, at least 128KiB",
    ),
    "burst": LinkSetting(
        parse=_burst,
        suffix="_bytes",
        kind="size",
        doc="bucket of the rate limiter",
        default="2ms at the rate, at least two frames",
    ),
    **EMULATION_SETTINGS,
    "emulator": LinkSetting(
        parse=one_of("emulator", EMULATORS),
        suffix="",
        kind="emulator",
        doc="who delays and drops: the kernel's netem, or user, the emulator of our own",
        default="netem where the kernel has it and it can, else user",
    ),
    "offload": LinkSetting(
        parse=_flag,
        suffix="",
        kind="flag",
        doc="segmentation offload at both ends (TSO, GSO, GRO)",
        default="off on links with a rate or impairments, on without",
    ),
}
