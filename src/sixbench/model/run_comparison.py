"""Two runs of an experiment side by side: what became better or worse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .parameter import Scalar

RUN_COMPARISON_SCHEMA = "sixbench.run-comparison/2"

Change = Literal["better", "worse", "higher", "lower", "inconclusive"]
"""`higher` and `lower` are for metrics of which neither direction is better."""


@dataclass(frozen=True, kw_only=True)
class TrialSample:
    """The valid trials in one run of one workload on one path at one combination of levels.

    Attributes:
        n: how many have the metric.
        value: their mean, in the metric's unit: geometric where the change is a ratio, so that this is `new / old`.
        half_width: half the width of its confidence interval; None for fewer than two.
    """

    n: int
    value: float
    half_width: float | None


@dataclass(frozen=True, kw_only=True)
class ComparedMetric:
    """One metric of one workload on one path at one combination of levels, in both runs.

    Attributes:
        ratio: new over old, geometric means; None where they are compared by difference.
        difference: new less old, in the metric's unit; None where they are compared by ratio.
        ci_low, ci_high: confidence interval of the ratio, or of the difference; None where a run has fewer than two
            valid trials.
        p_value: of no change, Holm-adjusted within the metric; None likewise.
        is_equivalent: whether the change is within the old run's margin of equivalence, by two one-sided tests; None
            where no interval is known.
        blocks_needed: about how many blocks in each run would tell a change of `blocks_tell` from none, where neither
            a change nor equivalence is shown; None where that is not known.
        blocks_tell: as a share of the old value (of metrics that are shares themselves: as a difference).
        is_over: whether it has become worse by more than the limit, Holm-adjusted over all comparisons that the limit
            is for; None where there is no limit, where it is not for this metric, or where no interval is known.
    """

    workload: str
    metric: str
    unit: str
    levels: dict[str, Scalar]
    path: str
    old: TrialSample
    new: TrialSample
    change: Change
    ratio: float | None = None
    difference: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p_value: float | None = None
    is_equivalent: bool | None = None
    blocks_needed: int | None = None
    blocks_tell: float | None = None
    is_over: bool | None = None
    headline: bool = False


@dataclass(frozen=True, kw_only=True)
class Lacking:
    """A workload on a path at a combination of levels, of which only one of the runs has valid trials.

    Attributes:
        absent: the run that lacks it: the old one or the new one.
        is_planned: whether that run's experiment has it all the same: then none of its trials was valid.
    """

    workload: str
    levels: dict[str, Scalar]
    path: str
    absent: Literal["old", "new"]
    is_planned: bool


@dataclass(frozen=True, kw_only=True)
class DifferingSetting:
    """A setting that is not the same in both runs; None where a run does not have it."""

    name: str
    old: str | None
    new: str | None


@dataclass(frozen=True, kw_only=True)
class RunComparison:
    """A new run against an old one.

    Attributes:
        old, new: the names of the runs.
        clock: what their times are read from.
        confidence: of every interval.
        limit: by which share a metric may become worse; None: by any.
        settings: what differs in machine, versions and experiment.
    """

    experiment: str
    old: str
    new: str
    clock: str
    confidence: float
    limit: float | None
    settings: list[DifferingSetting]
    metrics: list[ComparedMetric]
    lacking: list[Lacking]

    @property
    def over(self) -> list[ComparedMetric]:
        """The comparisons that are worse by more than the limit."""
        return [compared for compared in self.metrics if compared.is_over]

    @property
    def judged(self) -> list[ComparedMetric]:
        """The comparisons that could be held against the limit."""
        return [compared for compared in self.metrics if compared.is_over is not None]

    @property
    def lost(self) -> list[Lacking]:
        """The comparisons that worked in the old run and had no valid trial in the new one."""
        return [item for item in self.lacking if item.absent == "new" and item.is_planned]

    @property
    def fails(self) -> bool:
        """True if the new run is over the limit."""
        return self.limit is not None and bool(self.over or self.lost)
