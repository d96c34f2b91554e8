"""Counts of the ends of tunnels."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..form import Kept, Name
from .counts import CountIncrease


@dataclass(frozen=True, kw_only=True, slots=True)
class TunnelCounters(Kept):
    """Counts of one end of a tunnel.

    Attributes:
        encapsulated, decapsulated: by the fast path.
        slow_encapsulated, slow_decapsulated: by the slow path. None: the engine has none (`kernel`).
        slow: why packets were given to the slow path, without reasons for which none was.
        drops: by reason, without those of which there were none.
    """

    encapsulated: CountIncrease
    decapsulated: CountIncrease
    slow_encapsulated: CountIncrease | None = None
    slow_decapsulated: CountIncrease | None = None
    slow: dict[Name, CountIncrease] | None = None
    drops: dict[Name, CountIncrease] = field(default_factory=dict)
