"""Counts of packets and bytes that devices make."""

from __future__ import annotations

from dataclasses import dataclass

from ..form import Kept, Whole


@dataclass(frozen=True, kw_only=True, slots=True)
class CountIncrease(Kept):
    """Increase of the packets and bytes that a device counted."""

    packets: Whole
    bytes: Whole

    def __add__(self, other: CountIncrease) -> CountIncrease:
        return CountIncrease(packets=self.packets + other.packets, bytes=self.bytes + other.bytes)
