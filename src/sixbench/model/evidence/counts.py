"""Counts of packets and bytes that devices make."""

from __future__ import annotations

from dataclasses import dataclass

from ..form import Kept, Whole


@dataclass(frozen=True, kw_only=True, slots=True)
class Count(Kept):
    """Increase of the packets and bytes that a device counted."""

    packets: Whole
    bytes: Whole

    def __add__(self, other: Count) -> Count:
        return Count(packets=self.packets + other.packets, bytes=self.bytes + other.bytes)
