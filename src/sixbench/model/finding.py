"""Findings: comparisons of a path with its baseline; and verdicts on claims."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Literal

from .comparison_group import ComparisonGroup
from .parameter import Scalar

FINDINGS_SCHEMA = "sixbench.findings/3"
READ_SCHEMAS = (FINDINGS_SCHEMA, "sixbench.findings/2", "sixbench.findings/1")
"""The schemas of findings that this sixbench reads. The first version has no `value`, `baseline_value`, `direction` and
nothing on pairs that lie apart; its `mark` knows no `small` and no `mixed`. Its `difference` is the mean difference of
the pairs also where there is a ratio."""

Verdict = Literal["higher", "lower", "equivalent", "inconclusive"]
Direction = Literal["higher", "lower"]
Mark = Literal["decided", "small", "mixed", "within A/A", "equivalent", "undecided", "too variable", "not compared"]
"""Result of a comparison with its noise floor taken into account; see `Finding.mark`."""

TOO_VARIABLE_FACTOR = 2.0
"""An undecided change whose interval reaches beyond half and twice the estimate tells nothing about the paths."""

MANY_BLOCKS = 1000
"""More blocks than this are no advice: something else helps, such as longer trials or a quieter machine."""

ClaimVerdict = Literal[
    "reproduced", "too small to matter", "not reproduced", "opposite", "undecided", "not testable here"
]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One path against its baseline: one workload, one metric, one combination of levels.

    Attributes:
        n: pairs of valid trials.
        value, baseline_value: of the path and of the baseline in these pairs, with the weights of the pairs, in the
            metric's unit. The change is theirs: `ratio`, or `difference`.
        estimate, baseline_estimate: of each path by itself, over all of its valid trials.
        ratio: path over baseline, paired by block; None where the metric is compared by difference or
            a value is 0.
        ci_low, ci_high: confidence interval of the ratio (of the difference where `ratio` is None).
        difference: path minus baseline, paired by block, in the metric's unit.
        p_value: Holm-adjusted within the metric; None where n is too small.
        verdict: `higher` or `lower` than the baseline; `equivalent` within the margin; else `inconclusive`.
        direction: `higher` or `lower` where there is a difference for certain, however small; else None.
        noise_low, noise_high: the A/A comparison's interval at the same levels, where the experiment carries one.
        spread: standard deviation of the log ratios of the pairs (of their differences where `ratio` is None); with
            the biweight, the standard error of a single pair.
        blocks_needed: about how many blocks would make an answer of this, where there is none yet: see
            `analysis.blocks_needed`.
        blocks_tell: the change that so many blocks would tell from none, as a share of the baseline (of metrics that
            are shares themselves: as a difference).
        looks: how often it was looked at before it ended, where blocks go on until answers are decided: interval and
            p-value hold for all of these looks together. None: it was to be looked at once.
        estimator: how the pairs became one value: by Tukey's biweight of their log ratios, or by the mean of their log
            ratios or differences; None where there is no pair.
        outlying: outlying pairs, with a weight of less than a tenth. They are in `n`.
        apart: how many of those lie beyond the margin from the change, or on another side of it.
        apart_low, apart_high: the least and the greatest ratio of path to baseline in those; None where there are none.
        mixed: the path (this one or the baseline) whose own trials are far from its others more often than those of the
            other paths allow; None: neither's are.
        constant: whether the path has the same value in every pair, and the baseline has.
        theory, theory_baseline: what path and baseline should give, where known; lower bounds where
            `quantity.Metric.has_lower_bound`.
        invalid: invalid or failed trials of path and baseline together.
        is_aa: whether this is the A/A comparison itself.
    """

    workload: str
    metric: str
    unit: str
    levels: dict[str, Scalar]
    combination: str
    path: str
    baseline: str
    n: int
    verdict: Verdict
    direction: Direction | None = None
    value: float | None = None
    baseline_value: float | None = None
    estimate: float | None = None
    baseline_estimate: float | None = None
    ratio: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    difference: float | None = None
    p_value: float | None = None
    noise_low: float | None = None
    noise_high: float | None = None
    theory: float | None = None
    theory_baseline: float | None = None
    invalid: int = 0
    is_aa: bool = False
    headline: bool = False
    spread: float | None = None
    blocks_needed: int | None = None
    blocks_tell: float | None = None
    looks: int | None = None
    estimator: Literal["biweight", "mean"] | None = None
    outlying: int = 0
    apart: int = 0
    apart_low: float | None = None
    apart_high: float | None = None
    mixed: str | None = None
    constant: bool = False

    @property
    def values(self) -> tuple[float | None, float | None]:
        """The values of path and baseline that the change is of; those of each path by itself where a file of an older
        sixbench has no others."""
        known = self.value is not None and self.baseline_value is not None
        return (self.value, self.baseline_value) if known else (self.estimate, self.baseline_estimate)

    @property
    def is_answered(self) -> bool:
        """True if it is decided in the middle of its pairs: a difference beyond what the baseline may differ from
        itself, or equivalence."""
        return self.verdict == "equivalent" or (self.verdict in ("higher", "lower") and not self.is_within_noise)

    @property
    def mark(self) -> Mark:
        """The result of the comparison.

        `decided`: higher or lower, adjusted for many comparisons, and by more than the baseline may differ from itself.
        `small`: the same, but within the margin: it is real, and too small to matter. `mixed`: the path or its baseline
        does two things: in most trials one, in some another, more often than the other paths do (`mixed`).
        `within A/A`: higher or lower, but the A/A comparison's interval reaches as far from no difference, on either
        side. `equivalent`: within the margin. `too variable`: undecided, and the interval is so wide that it says
        nothing. `undecided`: more blocks may tell. `not compared`: fewer than two pairs of valid trials.
        """
        if self.mixed is not None:
            return "mixed"
        if self.verdict == "equivalent":
            return "small" if self.direction is not None and not self.is_within_noise else "equivalent"
        if self.verdict in ("higher", "lower"):
            return "within A/A" if self.is_within_noise else "decided"
        return _mark_of_undecided(self.n, self.ci_low, self.ci_high, self.ratio, self.values)

    @property
    def is_within_noise(self) -> bool:
        """True if the A/A comparison's interval reaches as far from no difference as the change does."""
        value = self.difference if self.ratio is None else self.ratio
        if self.is_aa or value is None or self.noise_low is None or self.noise_high is None:
            return False
        ends = (self.noise_low, self.noise_high)
        if self.ratio is None:
            return abs(value) <= max(map(abs, ends))
        return _times(value) <= max(map(_times, ends))


FINDING_KEYS = (*(item.name for item in fields(Finding)), "mark")
"""The public values of a finding, as JSON and as CSV."""


def _mark_of_undecided(
    n: int, low: float | None, high: float | None, ratio: float | None, values: Iterable[float | None]
) -> Mark:
    if n < 2 or low is None or high is None:
        return "not compared"
    return "too variable" if is_too_variable(low, high, ratio, values) else "undecided"


def is_too_variable(low: float, high: float, ratio: float | None, values: Iterable[float | None]) -> bool:
    """True if an interval of a change is so wide that it says nothing.

    Of a ratio: it is wider than a factor of `TOO_VARIABLE_FACTOR` on each side of the estimate. Of a difference
    (`ratio` is None): its half-width is more than so many times the larger of the two values that differ.
    """
    if ratio is not None:
        return high > TOO_VARIABLE_FACTOR**2 * low
    return (high - low) / 2 > TOO_VARIABLE_FACTOR * max(
        (abs(value) for value in values if value is not None), default=0
    )


def _times(ratio: float) -> float:
    """Ratio of the larger to the smaller: the same for a ratio and its inverse."""
    return math.inf if ratio <= 0 else max(ratio, 1 / ratio)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """One path's own value of a metric at one combination: its confidence interval is over `n` valid trials.

    Attributes:
        outlying: number of outlying trials, with a weight of less than a tenth.
    """

    workload: str
    metric: str
    unit: str
    levels: dict[str, Scalar]
    combination: str
    path: str
    n: int
    value: float
    ci_low: float | None = None
    ci_high: float | None = None
    theory: float | None = None
    outlying: int = 0


@dataclass(frozen=True, kw_only=True)
class ClaimResult:
    """The outcome of a paper's claim.

    Attributes:
        blocks_needed: about how many blocks would decide it, where it is undecided and blocks would.
    """

    claim: str
    text: str
    source: str
    verdict: ClaimVerdict
    reason: str
    blocks_needed: int | None = None
    evidence: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class PublishedComparison:
    """A paper's number beside ours.

    Attributes:
        source: table or figure, and page.
        published: in `unit`; `ours` the same, None where this run has no such value.
    """

    source: str
    what: str
    published: float
    unit: str
    ours: float | None = None
    ours_low: float | None = None
    ours_high: float | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class ComparedColumn:
    """A column of a paper's table.

    Attributes:
        heading: as printed.
        role: whether its cells are levels of the experiment, count repetitions, or are results.
        is_compared: whether ours can stand beside it.
    """

    heading: str
    unit: str
    role: Literal["level", "repetition", "result"]
    is_compared: bool


@dataclass(frozen=True, kw_only=True)
class ComparedTable:
    """A paper's table in its own columns and units, with ours in the same.

    Attributes:
        rows: the paper's numbers, a list a row; None where it left one out.
        ours: ours at the same places; None where this run has no such value.
    """

    name: str
    title: str
    note: str
    columns: list[ComparedColumn]
    rows: list[list[float | None]]
    ours: list[list[float | None]]


@dataclass(frozen=True, kw_only=True)
class WorkerValue:
    """The change that one worker found: as in a finding, over its `n` blocks."""

    worker: str
    n: int
    ratio: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, kw_only=True)
class WorkerEffect:
    """A comparison by the workers that measured it.

    Attributes:
        p_value: of the hypothesis that the change is the same on all of them, adjusted over all such comparisons of the
            run. None: too few blocks.
    """

    workload: str
    metric: str
    unit: str
    levels: dict[str, Scalar]
    combination: str
    path: str
    baseline: str
    p_value: float | None
    workers: list[WorkerValue]


@dataclass(frozen=True, kw_only=True)
class KernelContrast:
    """One path on a kernel against the same path on the kernel that the run names first: one workload, one metric, one
    combination of the other levels. The trials of a block are a pair.

    Attributes:
        levels: without the kernel.
        kernel, reference: the kernel, and the one that it is compared with.
        n: pairs of valid trials.
        value, reference_value: on both kernels in these pairs, in the metric's unit.
        ratio: value over reference_value; None where the metric is compared by difference or a value is 0.
        difference: value less reference_value, in the metric's unit.
        ci_low, ci_high: confidence interval of the ratio (of the difference where `ratio` is None).
        p_value: Holm-adjusted within the metric; None where n is too small.
        verdict: `higher` or `lower` than on the reference; `equivalent` within the margin; else `inconclusive`.
        direction, apart, apart_low, apart_high, spread, blocks_needed, blocks_tell: as of a `Finding`.
    """

    workload: str
    metric: str
    unit: str
    levels: dict[str, Scalar]
    path: str
    kernel: str
    reference: str
    n: int
    verdict: Verdict
    direction: Direction | None = None
    apart: int = 0
    apart_low: float | None = None
    apart_high: float | None = None
    value: float | None = None
    reference_value: float | None = None
    ratio: float | None = None
    difference: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p_value: float | None = None
    headline: bool = False
    spread: float | None = None
    blocks_needed: int | None = None
    blocks_tell: float | None = None

    @property
    def values(self) -> tuple[float | None, float | None]:
        """The values on both kernels."""
        return self.value, self.reference_value

    @property
    def mark(self) -> Mark:
        """The result, as of a `Finding` without A/A paths: `decided`, `small`, `equivalent`, `undecided`, `too
        variable` or `not compared`."""
        if self.verdict == "equivalent":
            return "equivalent" if self.direction is None else "small"
        if self.verdict in ("higher", "lower"):
            return "decided"
        return _mark_of_undecided(self.n, self.ci_low, self.ci_high, self.ratio, self.values)


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """Everything that a report is made from, beside the manifest and the trials.

    Attributes:
        remarks: sentences for every reader, near the answers: doubts about the results, and advice.
        notes: sentences on the trials that ask nothing of a reader, below the findings.
    """

    estimates: list[Estimate]
    findings: list[Finding]
    claims: list[ClaimResult] = field(default_factory=list)
    published: list[PublishedComparison] = field(default_factory=list)
    tables: list[ComparedTable] = field(default_factory=list)
    workers: list[WorkerEffect] = field(default_factory=list)
    kernels: list[KernelContrast] = field(default_factory=list)
    groups: list[ComparisonGroup] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
