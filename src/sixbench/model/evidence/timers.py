"""Timers of links' rates that were late."""

from __future__ import annotations

from dataclasses import dataclass

from ..form import Kept, Natural


@dataclass(frozen=True, kw_only=True, slots=True)
class LateTimers(Kept):
    """The timers of the token bucket that sends on a link (`bench.proof.timers`).

    Attributes:
        expired: how often one ran.
        late: how often it was later than the bucket has room for, which is `slack_ns`.
        worst_ns: the latest.
        lost_ns: for how long nothing was sent because of that, in all.
    """

    expired: Natural
    late: Natural
    worst_ns: Natural
    lost_ns: Natural
    slack_ns: Natural
