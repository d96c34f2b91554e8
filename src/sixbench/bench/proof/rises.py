"""Increases of a device's counters between two looks (docs/protocol.md)."""

from __future__ import annotations

from collections.abc import Mapping

from ...model import observation
from ...model.evidence.counts import CountIncrease

Counts = Mapping[str, observation.PacketCount]

NO_PACKETS = observation.PacketCount(packets=0, bytes=0)


def rises(early: Counts | None, late: Counts | None) -> dict[str, CountIncrease]:
    """Increases of counters by name, without those that did not rise."""
    counts = {name: rise((early or {}).get(name), count) for name, count in (late or {}).items()}
    return {name: count for name, count in counts.items() if count.packets}


def rise(early: observation.PacketCount | None, late: observation.PacketCount | None) -> CountIncrease:
    """Increase of one counter. What was not counted is 0."""
    first, last = ((0, 0) if count is None else (count.packets, count.bytes) for count in (early, late))
    return CountIncrease(packets=last[0] - first[0], bytes=last[1] - first[1])
