"""Goals of a search for a throughput, and which rates are bounds by what was measured (RFC 9971).

The search and the report use the same rule. So what a report says of a device is computed from the recorded trials
alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A search goal (RFC 9971 section 4.6). A trial that loses more than the goal's loss ratio is a bad one.

    Attributes:
        name: in reports, such as `RFC 2544`.
        loss_ratio: the largest loss of a trial that is not bad, as a share of what was sent.
        exceed_ratio: how much of the measured time may be that of bad trials at a rate that is still a lower bound.
        width: how far the bounds may be apart in the end, as a share of the upper one.
        initial_s, final_s: length of the shortest trials and of the full-length ones.
        sum_s: how long a rate must be measured by full-length trials before it is a bound.
    """

    name: str
    loss_ratio: float
    exceed_ratio: float
    width: float
    initial_s: float
    final_s: float
    sum_s: float


@dataclass(frozen=True, kw_only=True)
class LoadTrial:
    """A trial at a rate.

    Attributes:
        load_pps: frames per second in each direction.
        duration_s: how long frames were sent.
        loss_ratio: lost frames by sent frames, of both directions together.
    """

    load_pps: float
    duration_s: float
    loss_ratio: float


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The bounds of a throughput. None: there is none.

    Attributes:
        lower_pps: the highest rate under the upper bound that meets the goal: the throughput.
        upper_pps: the lowest rate that does not meet it.
    """

    lower_pps: float | None
    upper_pps: float | None


@dataclass
class _Sums:
    """Lengths of the trials at a rate, in seconds: full-length and shorter ones, good and bad."""

    good_long: float = 0.0
    bad_long: float = 0.0
    good_short: float = 0.0
    bad_short: float = 0.0


@dataclass(frozen=True)
class _Load:
    goal: Goal
    sums: _Sums = field(default_factory=_Sums)

    def add(self, trial: LoadTrial) -> None:
        is_good = trial.loss_ratio <= self.goal.loss_ratio
        is_long = trial.duration_s >= self.goal.final_s
        name = f"{'good' if is_good else 'bad'}_{'long' if is_long else 'short'}"
        setattr(self.sums, name, getattr(self.sums, name) + trial.duration_s)

    @property
    def is_lower(self) -> bool | None:
        """True if the rate is a lower bound (True) or an upper one (False); None: more trials may make it either (RFC
        9971 section 6.1, load classification)."""
        sums, exceed = self.sums, self.goal.exceed_ratio
        balanced = sums.good_short * exceed / (1 - exceed)
        bad = sums.bad_long + max(0.0, sums.bad_short - balanced)
        whole = max(sums.good_long + bad, self.goal.sum_s)
        optimistic = bad <= whole * exceed
        pessimistic = whole - sums.good_long <= whole * exceed
        return optimistic if optimistic == pessimistic else None


def bounds(trials: Iterable[LoadTrial], goal: Goal) -> Bounds:
    """The bounds by these trials. A rate over the lowest upper bound counts for nothing, even if it lost nothing."""
    loads: dict[float, _Load] = {}
    for trial in trials:
        loads.setdefault(trial.load_pps, _Load(goal)).add(trial)
    upper = min((load for load, known in loads.items() if known.is_lower is False), default=None)
    lower = [load for load, known in loads.items() if known.is_lower and (upper is None or load < upper)]
    return Bounds(lower_pps=max(lower, default=None), upper_pps=upper)
