"""Findings as rows of text, the same in every format that people read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeVar

from ..model.change_words import change_of, noise_of
from ..model.finding import Analysis, Finding, is_too_variable
from ..model.metric import METRICS
from ..model.parameter import Scalar
from ..model.workloads import WORKLOADS
from . import marks, words
from .agreeing import Scale, value_cells
from .typed_cells import NOTHING, IntervalCell, NumberCell, TypedCell, WordsCell, is_empty, quantity_cell

PROGRAM_METRICS = ("bpf_encapsulate", "bpf_decapsulate")
"""Only paths of the engine `ebpf` have these. A native baseline has nothing to compare them with."""

Tone = Literal["better", "worse", "changed", "small", "same", "mixed", "open"]
"""The meaning of a comparison for the user: `changed` where neither direction is better, `small` where a difference is
real
and within the margin, `mixed` where not all blocks say the same, `open` where nothing could be concluded, and where the
baseline may differ from itself by as much."""


class AtLevels(Protocol):
    """A thing at one combination of levels."""

    @property
    def levels(self) -> Mapping[str, Scalar]:
        """Levels by column."""
        ...


class HasLevels(AtLevels, Protocol):
    """A finding or an estimate."""

    @property
    def workload(self) -> str:
        """Name of the workload."""
        ...

    @property
    def metric(self) -> str:
        """Name of the metric."""
        ...


Item = TypeVar("Item", bound=HasLevels)


THEORY_IS_EXACT_TO = 0.001
"""Accuracy of an expected ratio: a trial has whole packets in its window, and theory an endless stream. It is also that
of a lower bound."""

_WIDE = 1000
"""Values whose largest is so many times the smallest do not share a unit."""

UNLIKE = "≠"
"""Marks theory where the measurement contradicts it."""

BOUNDS = "bounds"
"""Stands before the change between lower bounds."""


@dataclass(frozen=True, kw_only=True)
class FindingCells:
    """The numbers of a finding, as all formats print them.

    Attributes:
        value, baseline: those that the change is of, with so many digits that they give it.
        change: path against baseline: signed percent, or a signed difference in the metric's unit.
        interval: confidence interval of the change, in its unit; words where it is too wide to say anything.
        noise: the largest deviation that the A/A comparison's interval allows, as `±0.05 %`.
        theory: the change that theory expects, or that between its lower bounds, as `bounds +1.20 %`; marked `≠` where
            the measurement contradicts it. Or what theory gives for the path where it is silent on the baseline.
    """

    value: TypedCell
    baseline: TypedCell
    change: TypedCell
    interval: TypedCell
    noise: TypedCell
    theory: TypedCell


@dataclass(frozen=True, kw_only=True)
class FindingRow:
    """A finding in words.

    Attributes:
        levels: those that vary within the workload, as a phrase; empty if none does.
        mark_word: one of few words, by which rows can be sorted.
        verdict: the text for a table, with what pairs that lie apart say, and with the blocks that would tell.
    """

    finding: Finding
    cells: FindingCells
    levels: str
    mark_word: marks.MarkWord
    verdict: str
    tone: Tone

    @property
    def word(self) -> str:
        """The text of its word, such as `lower` or `equivalent in most`."""
        return self.mark_word.text

    @property
    def value(self) -> str:
        """The path's value, with its unit."""
        return self.cells.value.text

    @property
    def baseline_value(self) -> str:
        """That of the baseline."""
        return self.cells.baseline.text

    @property
    def change(self) -> str:
        """Such as `−1.39 %`."""
        return self.cells.change.text

    @property
    def interval(self) -> str:
        """Such as `−1.45 to −1.33`."""
        return self.cells.interval.text

    @property
    def noise(self) -> str:
        """Such as `±0.05 %`."""
        return self.cells.noise.text

    @property
    def theory(self) -> str:
        """Such as `−1.38 %` or `bounds +1.20 %`."""
        return self.cells.theory.text

    @property
    def change_with_interval(self) -> str:
        """Such as `−1.39 % (−1.45 to −1.33)`."""
        return self.change if is_empty(self.cells.interval) else f"{self.change} ({self.interval})"

    @property
    def compared(self) -> str:
        """Such as `−1.39 % (−1.45 to −1.33) against ipv4: lower`."""
        text = self.change_with_interval if isinstance(self.cells.interval, IntervalCell) else self.change
        return f"{text} against {self.finding.baseline}: {self.verdict}"


@dataclass(frozen=True, kw_only=True)
class Group:
    """The findings of one metric of one workload, as rows.

    Attributes:
        scale: that of all values; None where each has its own.
    """

    workload: str
    metric: str
    rows: list[FindingRow]
    scale: Scale | None = None


def headline(analysis: Analysis) -> list[Finding]:
    """The findings that are shown first: those of headline metrics without the A/A comparison; all of these if none
    is marked."""
    real = [finding for finding in analysis.findings if not finding.is_aa]
    return [finding for finding in real if finding.headline] or real


def beside_groups(analysis: Analysis) -> list[Finding]:
    """The findings of `headline` that are in no group of comparisons, which has a table of its own."""
    grouped = {(member.combination, group.path, group.metric) for group in analysis.groups for member in group.members}
    return [
        finding for finding in headline(analysis) if (finding.combination, finding.path, finding.metric) not in grouped
    ]


def primary(findings: Iterable[Finding]) -> list[Finding]:
    """The findings of each workload's first metric."""
    return [f for f in findings if f.workload in WORKLOADS and WORKLOADS[f.workload].primary == f.metric]


def grouped(findings: Iterable[Finding]) -> list[Group]:
    """Rows by workload, in the order of the findings, and in each by metric, in the order of the workload's headline
    metrics."""
    groups: list[Group] = []
    for workload, of_workload in by_workload(findings).items():
        columns = varying(of_workload)
        for metric, of_metric in by_metric(of_workload).items():
            scale = _scale_of(of_metric)
            finding_rows = [row(finding, columns, scale) for finding in of_metric]
            groups.append(Group(workload=workload, metric=metric, rows=finding_rows, scale=scale))
    return groups


def _scale_of(findings: Iterable[Finding]) -> Scale | None:
    """The scale of all values of a metric; None where the largest is too many times the smallest."""
    everything = list(findings)
    values = [known for item in everything for value in item.values if (known := words.finite(value)) is not None]
    sizes, unit = list(map(abs, values)), everything[0].unit
    if not sizes or (unit != "1" and max(sizes) > _WIDE * min(sizes)):
        return None
    return words.common_scale(values, unit)


def by_workload(items: Iterable[Item]) -> dict[str, list[Item]]:
    """Findings or estimates by workload, in order of appearance."""
    results: dict[str, list[Item]] = {}
    for item in items:
        results.setdefault(item.workload, []).append(item)
    return results


def by_metric(items: Iterable[Item]) -> dict[str, list[Item]]:
    """Findings or estimates of one workload by metric: headline metrics first, in their order."""
    results: dict[str, list[Item]] = {}
    for item in items:
        results.setdefault(item.metric, []).append(item)

    def rank(metric: str) -> int:
        kind = WORKLOADS.get(next(iter(results[metric])).workload)
        order = kind.headline if kind else ()
        return order.index(metric) if metric in order else len(order)

    return {metric: results[metric] for metric in sorted(results, key=rank)}


def varying(items: Iterable[AtLevels]) -> list[str]:
    """Columns of levels that are not the same in all of these, in order of appearance."""
    values: dict[str, set[Scalar | None]] = {}
    everything = list(items)
    for item in everything:
        for column in item.levels:
            values.setdefault(column, set())
    for item in everything:
        for column, seen in values.items():
            seen.add(item.levels.get(column))
    return [column for column, seen in values.items() if len(seen) > 1]


def constant(items: Iterable[HasLevels]) -> dict[str, Scalar]:
    """Levels that are the same in all of these."""
    everything = list(items)
    changing = set(varying(everything))
    return {column: value for item in everything[:1] for column, value in item.levels.items() if column not in changing}


def row(finding: Finding, columns: Iterable[str] | None = None, scale: Scale | None = None) -> FindingRow:
    """A finding in words.

    Args:
        columns: the levels to name (None: all).
        scale: that of the values (None: each has its own).
    """
    return FindingRow(
        finding=finding,
        cells=_cells(finding, scale),
        levels=words.levels(finding.levels, columns),
        mark_word=marks.MarkWord.of(finding),
        verdict=marks.verdict(finding),
        tone=tone(finding),
    )


def _cells(finding: Finding, scale: Scale | None) -> FindingCells:
    value, baseline = value_cells(finding, scale)
    change = change_of(finding)
    interval = None if change is None else change.printed_interval
    too_variable = WordsCell(text=marks.TOO_VARIABLE)
    return FindingCells(
        value=value,
        baseline=baseline,
        change=NOTHING
        if change is None
        else NumberCell(value=change.change, decimals=change.decimals, unit=change.unit, sign="both"),
        interval=too_variable
        if finding.mark == "too variable"
        else NOTHING
        if interval is None
        else IntervalCell(low=interval.low, high=interval.high, decimals=interval.decimals),
        noise=_noise(finding),
        theory=theory_cell(finding),
    )


def tone(finding: Finding) -> Tone:
    """Meaning of the comparison for the user."""
    match finding.mark:
        case "mixed":
            return "mixed"
        case "equivalent" | "small" if finding.apart:
            return "mixed"
        case "equivalent":
            return "same"
        case "small":
            return "small"
        case mark if mark != "decided":
            return "open"
    better = METRICS[finding.metric].better if finding.metric in METRICS else "neither"
    if better == "neither":
        return "changed"
    return "better" if finding.verdict == better else "worse"


def expected_ratio(finding: Finding) -> float | None:
    """The ratio that theory expects of path to baseline, or that of its lower bounds, where it knows both."""
    if not finding.theory or not finding.theory_baseline:
        return None
    return words.finite(finding.theory / finding.theory_baseline)


def has_lower_bounds(metric: str) -> bool:
    """True if theory gives lower bounds of the metric. Their ratio bounds nothing: what comes on top of either may be
    more or less."""
    return metric in METRICS and METRICS[metric].has_lower_bound


def _noise(finding: Finding) -> TypedCell:
    noise = noise_of(finding)
    if noise is None:
        return NOTHING
    if is_noise_too_variable(finding):
        return WordsCell(text=marks.TOO_VARIABLE)
    return NumberCell(value=noise.farther, decimals=noise.decimals, unit=noise.unit, sign="none", prefix="±")


def is_noise_too_variable(finding: Finding) -> bool:
    """True if the A/A comparison's interval says nothing, by the rule for intervals of changes."""
    low, high = words.finite(finding.noise_low), words.finite(finding.noise_high)
    return low is not None and high is not None and is_too_variable(low, high, finding.ratio, finding.values)


def contradicts_theory(finding: Finding) -> bool:
    """True if the measurement contradicts theory: the expected ratio is outside the interval, or where theory gives
    lower bounds, a value is below its bound."""
    if has_lower_bounds(finding.metric):
        bounds = finding.theory, finding.theory_baseline
        return any(
            value is not None and bound is not None and value < bound * (1 - THEORY_IS_EXACT_TO)
            for value, bound in zip(finding.values, bounds, strict=True)
        )
    ratio = expected_ratio(finding)
    low, high = words.finite(finding.ci_low), words.finite(finding.ci_high)
    if ratio is None or finding.ratio is None or low is None or high is None:
        return False
    return not low - THEORY_IS_EXACT_TO <= ratio <= high + THEORY_IS_EXACT_TO


def theory_words(findings: Iterable[Finding]) -> str:
    """The meaning of the marks beside theory that occur; empty where none does."""
    marked = [finding for finding in findings if expected_ratio(finding) is not None or contradicts_theory(finding)]
    bounds = [finding for finding in marked if has_lower_bounds(finding.metric)]
    sentences = []
    if any(contradicts_theory(finding) for finding in marked if finding not in bounds):
        sentences.append(f"{UNLIKE}: theory is outside the interval.")
    if bounds:
        sentences.append(f"{BOUNDS}: the change between theory's lower bounds. A measured one may be another.")
    if any(contradicts_theory(finding) for finding in bounds):
        sentences.append(f"{UNLIKE} {BOUNDS}: a value is below its bound.")
    return " ".join(sentences)


def theory_cell(finding: Finding) -> TypedCell:
    """The change that theory expects, or its value of the path where it is silent on the baseline."""
    unlike = f"{UNLIKE} " if contradicts_theory(finding) else ""
    is_bound = has_lower_bounds(finding.metric)
    ratio = expected_ratio(finding)
    if ratio is None:
        cell = quantity_cell(finding.theory, finding.unit)
        return replace(cell, prefix=f"{unlike}≥ ") if is_bound and isinstance(cell, NumberCell) else cell
    change = words.as_percent(ratio)
    prefix = f"{unlike}{BOUNDS} " if is_bound else unlike
    return NumberCell(value=change, decimals=words.percent_decimals(change), unit="%", sign="both", prefix=prefix)
