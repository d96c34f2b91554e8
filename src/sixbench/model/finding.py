"""Findings: comparisons of a path with its baseline; and verdicts on claims."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .workload import Scalar

FINDINGS_SCHEMA = "sixbench.findings/1"

Verdict = Literal["higher", "lower", "equivalent", "inconclusive"]
ClaimVerdict = Literal["reproduced", "not reproduced", "opposite", "not testable here"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One path against its baseline: one workload, one metric, one combination of levels.

    Attributes:
        n: pairs of valid trials.
        estimate, baseline_estimate: of the path and of the baseline, in the metric's unit.
        ratio: path over baseline, paired by block (geometric mean); None where the metric is compared by difference or
            a value is 0.
        ci_low, ci_high: confidence interval of the ratio (of the difference where `ratio` is None).
        difference: path minus baseline, paired by block, in the metric's unit.
        p_value: Holm-adjusted within the metric; None where n is too small.
        verdict: `higher` or `lower` than the baseline; `equivalent` within the margin; else `inconclusive`.
        noise_low, noise_high: the A/A comparison's interval at the same levels, where the experiment carries one.
        theory, theory_baseline: what path and baseline should give, where known.
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


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """One path's own value of a metric at one combination: its confidence interval is over `n` valid trials."""

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


@dataclass(frozen=True, kw_only=True)
class ClaimResult:
    """What became of a paper's claim."""

    claim: str
    text: str
    source: str
    verdict: ClaimVerdict
    reason: str
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
class Analysis:
    """All that a report is made from, beside the manifest and the trials."""

    estimates: list[Estimate]
    findings: list[Finding]
    claims: list[ClaimResult] = field(default_factory=list)
    published: list[PublishedComparison] = field(default_factory=list)
    tables: list[ComparedTable] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
