"""The number of differences that were declared between paths whose true difference is known.

*What a comparison counts.* One comparison is one run of one workload over two paths. It counts once, by the primary
metric of its workload (goodput, or the median round trip). What the other headline metrics say is counted metric by
metric, and once more as the share of comparisons in which any of them shows a false difference.

*What a difference is.* The verdict of `analysis.findings`, by the same function: higher or lower. As its margin calls
differences equivalent that are real but too small to matter, the share of false differences may be far under
1 - confidence. So the test by itself is counted beside it: p under 1 - confidence and an interval that leaves no
difference out. That share is to be about 1 - confidence, whatever the margin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ...analysis.candidates import verdict
from ...analysis.findings import findings
from ...model.finding import Finding, Verdict
from ...model.metric import METRICS
from ...model.quantity import Metric
from ...model.repeats import repeated
from ...model.trial import TrialRecord
from ...stats import Pairs, clopper_pearson, compare_all
from ...store import Run
from .design import CHANGE, PlannedComparison

EQUALISED = "goodput"
"""The metric that theory foretells for both families. It is compared as a share of what theory allows."""

WANTED_POWER = 0.9
STEPS = tuple(0.001 * 1.1**step for step in range(80))
"""Changes from 0.1 % to 190 %, which are tried to find the smallest that would have been found."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """So many of so many."""

    number: int
    of: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the share (Clopper and Pearson). None if there are no comparisons."""
        return clopper_pearson(self.number, self.of) if self.of else None


@dataclass(frozen=True, kw_only=True)
class JudgedMetric:
    """One metric of one comparison.

    Attributes:
        is_primary: whether it is its workload's primary metric, by which the comparison counts.
    """

    planned: PlannedComparison
    finding: Finding
    is_primary: bool

    @property
    def is_decided(self) -> bool:
        """True if there were enough valid trials for a test."""
        return self.finding.p_value is not None

    @property
    def is_different(self) -> bool:
        """True if a difference was declared."""
        return self.finding.verdict in ("higher", "lower")

    @property
    def is_different_by_test(self) -> bool:
        """True if a difference would have been declared without the margin."""
        low, high, p_value = self.finding.ci_low, self.finding.ci_high, self.finding.p_value
        if low is None or high is None or p_value is None:
            return False
        none = 0.0 if self.finding.ratio is None else 1.0
        return not low <= none <= high and p_value < self.error

    @property
    def is_found(self) -> bool:
        """True if the real difference was declared."""
        return self.finding.verdict == "lower"

    @property
    def error(self) -> float:
        """Share of tests that may err."""
        return 1 - self.planned.experiment.statistics.confidence


@dataclass(frozen=True, kw_only=True)
class MetricShare:
    """False differences of one metric of one workload.

    Attributes:
        different: the share of differences by the verdict.
        by_test: the share of differences by the test without the margin.
        undecided: the number of comparisons with too few valid trials, which are in neither share.
    """

    workload: str
    metric: str
    is_primary: bool
    different: Share
    by_test: Share
    undecided: int


@dataclass(frozen=True, kw_only=True)
class Detectable:
    """The smallest change that would have been found.

    Attributes:
        change: as a share; at least `WANTED_POWER` of the null comparisons declare it where the path's values are
            multiplied by one more than that. None where not even the largest that was tried is found.
        comparisons: null comparisons that say so.
        at_change: how many of them declare a difference where the path's values are multiplied by one and `CHANGE`.
        is_primary: whether it is its workload's primary metric.
    """

    workload: str
    metric: str
    blocks: int
    change: float | None
    comparisons: int
    at_change: Share
    is_primary: bool


@dataclass(frozen=True, kw_only=True)
class NullResult:
    """The results of all comparisons.

    Attributes:
        judged: the null comparisons in all headline metrics.
        changed: the comparisons with a known difference, in the primary metric.
        trials, invalid: the number of trials of all comparisons, and of those that are invalid or failed.
        repeats, repeats_valid: how many of these trials are repeats, and how many of the repeats are valid.
    """

    judged: list[JudgedMetric]
    changed: list[JudgedMetric]
    detectable: list[Detectable]
    trials: int
    invalid: int
    repeats: int = 0
    repeats_valid: int = 0

    @property
    def primary(self) -> list[JudgedMetric]:
        """One for each null comparison."""
        return [item for item in self.judged if item.is_primary]

    @property
    def in_all(self) -> MetricShare:
        """The null comparisons, each by its primary metric."""
        return _share("", "", self.primary)

    @property
    def by_metric(self) -> list[MetricShare]:
        """The shares of each metric, in the order of the workloads, with the primary metric of each first."""
        groups: dict[tuple[str, str], list[JudgedMetric]] = {}
        for item in sorted(self.judged, key=lambda element: not element.is_primary):
            groups.setdefault((item.planned.kind.workload, item.finding.metric), []).append(item)
        workloads = list(dict.fromkeys(workload for workload, _ in groups))
        ordered = sorted(groups, key=lambda key: workloads.index(key[0]))
        return [_share(*key, groups[key]) for key in ordered]

    @property
    def any_metric(self) -> Share:
        """Null comparisons in which any headline metric has a false difference."""
        by_comparison: dict[str, bool] = {}
        for item in self.judged:
            if item.is_decided:
                by_comparison[item.planned.name] = by_comparison.get(item.planned.name, False) or item.is_different
        return Share(number=sum(by_comparison.values()), of=len(by_comparison))

    @property
    def power(self) -> Share:
        """The changed comparisons in which the difference was found. One without enough valid trials did not find
        it."""
        return power_of(self.changed)

    @property
    def power_at_change(self) -> Share:
        """The null comparisons that would declare a difference by their primary metric, were the path's values larger
        by `CHANGE`."""
        return summed(item.at_change for item in self.detectable if item.is_primary)


def power_of(changed: Sequence[JudgedMetric]) -> Share:
    """The share of changed comparisons in which the difference was found."""
    return Share(number=sum(item.is_found for item in changed), of=len(changed))


def summed(shares: Iterable[Share]) -> Share:
    """All of them together."""
    every = list(shares)
    return Share(number=sum(share.number for share in every), of=sum(share.of for share in every))


def judge(planned: Sequence[PlannedComparison], runs: Sequence[Run]) -> NullResult:
    """The result of the runs of planned comparisons, which are in the same order."""
    judged: list[JudgedMetric] = []
    changed: list[JudgedMetric] = []
    pairs: dict[tuple[str, str, int], list[tuple[PlannedComparison, Pairs]]] = {}
    for planned_comparison, run in zip(planned, runs, strict=True):
        of_comparison = _judged(planned_comparison, run)
        if planned_comparison.kind.is_changed:
            changed.extend(item for item in of_comparison if item.is_primary)
            continue
        judged.extend(of_comparison)
        for item in of_comparison:
            metric = METRICS[item.finding.metric]
            if metric.scale == "ratio" and item.finding.ratio is not None:
                key = (planned_comparison.kind.workload, metric.name, planned_comparison.blocks)
                pairs.setdefault(key, []).append((planned_comparison, _pairs(planned_comparison, run, metric)))
    again = repeated(trial for run in runs for trial in run.trials)
    return NullResult(
        judged=judged,
        changed=changed,
        detectable=[
            Detectable(
                workload=workload,
                metric=metric,
                blocks=blocks,
                change=_smallest(METRICS[metric], cases),
                comparisons=len(cases),
                at_change=Share(number=_detected(METRICS[metric], cases, 1 + CHANGE), of=len(cases)),
                is_primary=metric == cases[0][0].primary,
            )
            for (workload, metric, blocks), cases in sorted(pairs.items())
        ],
        trials=sum(len(run.trials) for run in runs),
        invalid=sum(trial.status != "ok" for run in runs for trial in run.trials),
        repeats=again.repeats,
        repeats_valid=again.valid,
    )


def _judged(planned_comparison: PlannedComparison, run: Run) -> list[JudgedMetric]:
    compared = _equalised(planned_comparison, run)
    return [
        JudgedMetric(
            planned=planned_comparison, finding=finding, is_primary=finding.metric == planned_comparison.primary
        )
        for finding in findings(compared)
        if finding.headline
    ]


def _equalised(planned_comparison: PlannedComparison, run: Run) -> Run:
    """The run as it is compared. Between two families that is only the goodput, with the path's converted to the
    baseline's cost of headers."""
    if planned_comparison.kind.between != "families":
        return run
    return replace(run, trials=[_with_goodput_alone(trial, run) for trial in run.trials])


def _with_goodput_alone(trial: TrialRecord, run: Run) -> TrialRecord:
    column = METRICS[EQUALISED].column
    values = {column: trial.metrics[column]} if column in trial.metrics else {}
    baseline = run.manifest.experiment.baseline
    allowed = next((other.theory.get(column) for other in run.trials if other.path == baseline), None)
    if values and allowed and column in trial.theory:
        values[column] *= allowed / trial.theory[column]
    return replace(trial, metrics=values, theory={})


def _pairs(planned_comparison: PlannedComparison, run: Run, metric: Metric) -> Pairs:
    experiment = planned_comparison.experiment
    values: dict[str, dict[int, float]] = {path.name: {} for path in experiment.paths}
    for trial in _equalised(planned_comparison, run).trials:
        if trial.status == "ok" and metric.column in trial.metrics:
            values[trial.path][trial.block] = trial.metrics[metric.column]
    baseline = values.pop(experiment.baseline)
    [path] = values.values()
    blocks = sorted(path.keys() & baseline.keys())
    return Pairs(path=[path[block] for block in blocks], baseline=[baseline[block] for block in blocks])


def _smallest(metric: Metric, cases: Sequence[tuple[PlannedComparison, Pairs]]) -> float | None:
    for step in STEPS:
        if _detected(metric, cases, 1 + step) >= WANTED_POWER * len(cases):
            return step
    return None


def _detected(metric: Metric, cases: Sequence[tuple[PlannedComparison, Pairs]], factor: float) -> int:
    """Number of comparisons that declare a difference where the path's values are multiplied by this."""
    statistics = cases[0][0].experiment.statistics
    changed = [replace(pairs, path=[factor * value for value in pairs.path]) for _, pairs in cases]
    compared = compare_all(
        changed, confidence=statistics.confidence, margin=statistics.margin, estimator=statistics.estimator
    )
    names: list[Verdict] = [
        verdict(comparison, comparison.p_value, metric, 1 - statistics.confidence) for comparison in compared
    ]
    return names.count("higher")


def _share(workload: str, metric: str, judged: Iterable[JudgedMetric]) -> MetricShare:
    every = list(judged)
    decided = [item for item in every if item.is_decided]
    return MetricShare(
        workload=workload,
        metric=metric,
        is_primary=all(item.is_primary for item in every),
        different=Share(number=sum(item.is_different for item in decided), of=len(decided)),
        by_test=Share(number=sum(item.is_different_by_test for item in decided), of=len(decided)),
        undecided=len(every) - len(decided),
    )
