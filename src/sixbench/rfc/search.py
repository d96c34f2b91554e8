"""The search for a throughput, by MLRsearch, the library of the authors of RFC 9971.

A trial that the tester could not carry out says nothing of the device, so it never becomes a loss. The rate at which it
happened time and again is above what the tester can do, and so is every higher one: a rate is looked for that it can,
and the search begins anew there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import sqrt

from ..model.errors import CapabilityError
from .goal import Goal, LoadTrial

LEAST_PPS = 20.0
"""The lowest rate of a search. A trial of a second then has frames enough to tell 5 % of loss."""

ATTEMPTS = 3
"""Number of attempts at a trial that the tester could not carry out."""

UNDER_REFUSED = 0.9
"""Largest distance between a rate above the tester's limit and the rate at which the search goes on, as a share of
it."""

MAX_REFUSED = 60
"""Number of trials of a search that the tester may fail to carry out. A tester that can do some of the rates needs
about ten to find these; one that has failed so often is on a machine that is busy with something else."""

LONGEST_S = 10.0**7
"""The library stops a search by the time that it took. Ours has none, so that it repeats."""

Measure = Callable[[float, float], LoadTrial | None]
"""Measures at a rate (frames/s in each direction) for so long (s); None: the tester could not."""


@dataclass(frozen=True, kw_only=True)
class Searched:
    """The end of a search.

    Attributes:
        refused_pps: the lowest rate that the tester could not carry out; None: there was none.
        has_found: whether the device carried any rate within every goal.
    """

    refused_pps: float | None
    has_found: bool


class _TooBusy(Exception):
    """The tester has failed too often."""


class _TooFast(Exception):
    """The tester could not carry out a trial at this rate."""

    def __init__(self, load_pps: float) -> None:
        super().__init__(load_pps)
        self.load_pps = load_pps


def search(measure: Measure, goals: Sequence[Goal], most_pps: float) -> Searched:
    """Searches until each goal has its bounds, or the highest rate meets it; or until the tester has failed too often.

    Args:
        measure: is asked for trials one after the other.
        most_pps: the highest rate, such as the line's.

    Raises:
        CapabilityError: the library is not installed.
    """
    refused: float | None = None
    measure = _patient(measure)
    while True:
        try:
            return Searched(refused_pps=refused, has_found=_search_once(measure, goals, most_pps))
        except _TooFast as too_fast:
            refused = too_fast.load_pps
        except _TooBusy:
            return Searched(refused_pps=refused, has_found=False)
        try:
            can_pps, refused = _under(measure, goals[0].initial_s, refused)
        except _TooBusy:
            can_pps = None
        if can_pps is None:
            return Searched(refused_pps=refused, has_found=False)
        most_pps = can_pps


def _patient(measure: Measure) -> Measure:
    """The same, until the tester has failed too often."""
    failed = 0

    def measured(load_pps: float, duration_s: float) -> LoadTrial | None:
        nonlocal failed
        if failed >= MAX_REFUSED:
            raise _TooBusy
        trial = measure(load_pps, duration_s)
        failed += trial is None
        return trial

    return measured


def _under(measure: Measure, duration_s: float, refused_pps: float) -> tuple[float | None, float]:
    """A rate that the tester can do, and the next higher one that was refused. None: it can do none, which is the
    machine's fault rather than the rate's.

    It goes down faster and faster, and then between the two.
    """

    def can(load_pps: float) -> bool:
        try:
            _tried(measure, load_pps, duration_s)
        except _TooFast:
            return False
        return True

    share = UNDER_REFUSED
    while not can(share * refused_pps):
        refused_pps *= share
        share *= share
        if share * refused_pps <= LEAST_PPS:
            return None, refused_pps
    can_pps = share * refused_pps
    while can_pps < UNDER_REFUSED * refused_pps * (1 - 1e-9):
        between_pps = sqrt(can_pps * refused_pps)
        if can(between_pps):
            can_pps = between_pps
        else:
            refused_pps = between_pps
    return can_pps, refused_pps


def require_library() -> None:
    """Raises `CapabilityError` where the library is not installed."""
    if find_spec("MLRsearch") is None:
        raise CapabilityError(
            "searching for a throughput needs the package MLRsearch, which is not installed: "
            "pip install 'sixbench[rfc]'"
        )


def _search_once(measure: Measure, goals: Sequence[Goal], most_pps: float) -> bool:
    """One search of the library: whether every goal has a lower bound."""
    require_library()
    from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

    class Measurer(AbstractMeasurer):  # type: ignore[misc]
        """Our trials, in the library's form."""

        def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
            """One trial."""
            trial = _tried(measure, intended_load, intended_duration)
            return MeasurementResult(
                intended_duration=intended_duration,
                intended_load=intended_load,
                offered_count=_PARTS,
                loss_count=_lost_parts(trial.loss_ratio, goals),
            )

    config = Config()
    config.goals = [
        SearchGoal(
            loss_ratio=goal.loss_ratio,
            exceed_ratio=goal.exceed_ratio,
            relative_width=goal.width,
            initial_trial_duration=goal.initial_s,
            final_trial_duration=goal.final_s,
            duration_sum=goal.sum_s,
            preceding_targets=2,
            expansion_coefficient=2,
            fail_fast=False,
        )
        for goal in goals
    ]
    config.min_load = LEAST_PPS
    config.max_load = most_pps
    config.search_duration_max = LONGEST_S
    config.warmup_duration = 0.0
    results = MultipleLossRatioSearch(config=config).search(measurer=Measurer(), debug=lambda text: None)
    return all(result.relevant_lower_bound is not None for result in results.values())


_PARTS = 10**12
"""The library counts in whole numbers, and we tell it of a ratio: so finely that no loss becomes none, and none of a
goal's ratio becomes more."""


def _lost_parts(loss_ratio: float, goals: Sequence[Goal]) -> int:
    parts = round(loss_ratio * _PARTS)
    return parts + any(loss_ratio > goal.loss_ratio >= parts / _PARTS for goal in goals)


def _tried(measure: Measure, load_pps: float, duration_s: float) -> LoadTrial:
    for _ in range(ATTEMPTS):
        trial = measure(load_pps, duration_s)
        if trial is not None:
            return trial
    raise _TooFast(load_pps)
