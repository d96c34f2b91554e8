"""By how much the counters of a device rose between two looks (docs/protocol.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...model.evidence.devices import Count


def rises(early: Mapping[str, Any] | None, late: Mapping[str, Any] | None) -> dict[str, Count]:
    """By name, without those that did not rise."""
    found = {name: rise((early or {}).get(name), count) for name, count in (late or {}).items()}
    return {name: count for name, count in found.items() if count.packets}


def rise(early: Mapping[str, int] | None, late: Mapping[str, int] | None) -> Count:
    """Of one counter. What was not counted is 0."""
    early, late = early or {}, late or {}
    return Count(
        packets=int(late.get("packets", 0)) - int(early.get("packets", 0)),
        bytes=int(late.get("bytes", 0)) - int(early.get("bytes", 0)),
    )
