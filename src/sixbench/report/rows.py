"""Findings as rows of text, the same in every format that people read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from ..model.change_words import change_of, noise_of
from ..model.finding import Analysis, Finding, is_too_variable
from ..model.metric import METRICS
from ..model.parameter import Scalar
from ..model.workloads import WORKLOADS
from . import marks, words
from .agreeing import value_texts

PROGRAM_METRICS = ("bpf_encapsulate", "bpf_decapsulate")
"""Only paths of the engine `ebpf` have these. A native baseline has nothing to compare them with."""

Tone = Literal["better", "worse", "changed", "small", "same", "mixed", "open"]
"""The meaning of a comparison for the user: `changed` where neither direction is better, `small` where a difference is
real
and within the margin, `mixed` where not all blocks say the same, `open` where nothing could be concluded, and where the
baseline may differ from itself by as much."""


class HasLevels(Protocol):
    """A finding or an estimate."""

    @property
    def workload(self) -> str:
        """Name of the workload."""
        ...

    @property
    def metric(self) -> str:
        """Name of the metric."""
        ...

    @property
    def levels(self) -> Mapping[str, Scalar]:
        """Levels by column."""
        ...


Item = TypeVar("Item", bound=HasLevels)


THEORY_IS_EXACT_TO = 0.001
"""Accuracy of an expected ratio: a trial has whole packets in its window, and theory an endless stream."""

UNLIKE = "≠"
"""Marks what theory expects where it lies outside the measured interval."""


@dataclass(frozen=True, kw_only=True)
class FindingRow:
    """A finding in words.

    Attributes:
        levels: those that vary within the workload, as a phrase; empty if none does.
        value, baseline_value: those that the change is of, with so many digits that they give it.
        change: path against baseline: signed percent, or a signed difference in the metric's unit.
        interval: confidence interval of the change, in the unit of the change and without it: `−1.45 to −1.33`; in
            words where it is too wide to say anything.
        word: one of few, by which rows can be sorted: `marks.word`.
        verdict: the text for a table, with what pairs that lie apart say, and with the blocks that would tell.
        noise: the largest deviation that the A/A comparison's interval allows, as `±0.05 %`.
        theory: the change that theory expects, marked `≠` where it is outside the interval; or what theory gives for
            the path where it is silent on the baseline.
    """

    finding: Finding
    levels: str
    value: str
    baseline_value: str
    change: str
    interval: str
    word: str
    verdict: str
    noise: str
    theory: str
    tone: Tone

    @property
    def change_with_interval(self) -> str:
        """Such as `−1.39 % (−1.45 to −1.33)`."""
        return self.change if self.interval == words.MISSING else f"{self.change} ({self.interval})"

    @property
    def compared(self) -> str:
        """Such as `−1.39 % (−1.45 to −1.33) against ipv4: lower`."""
        text = self.change if self.interval == marks.TOO_VARIABLE else self.change_with_interval
        return f"{text} against {self.finding.baseline}: {self.verdict}"


@dataclass(frozen=True, kw_only=True)
class Group:
    """The findings of one metric of one workload, as rows."""

    workload: str
    metric: str
    rows: list[FindingRow]


def headline(analysis: Analysis) -> list[Finding]:
    """The findings that are shown first: those of headline metrics without the A/A comparison; all of these if none
    is marked."""
    real = [finding for finding in analysis.findings if not finding.is_aa]
    return [finding for finding in real if finding.headline] or real


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
            groups.append(
                Group(workload=workload, metric=metric, rows=[row(finding, columns) for finding in of_metric])
            )
    return groups


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


def varying(items: Iterable[HasLevels]) -> list[str]:
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


def row(finding: Finding, columns: Iterable[str] | None = None) -> FindingRow:
    """A finding in words; `columns` are the levels to name (None: all)."""
    change = change_of(finding)
    interval = words.MISSING if change is None else change.interval
    value, baseline_value = value_texts(finding)
    return FindingRow(
        finding=finding,
        levels=words.levels(finding.levels, columns),
        value=value,
        baseline_value=baseline_value,
        change=words.MISSING if change is None else change.text,
        interval=marks.TOO_VARIABLE if finding.mark == "too variable" else interval,
        word=marks.word(finding),
        verdict=marks.verdict(finding),
        noise=_noise(finding),
        theory=_theory(finding),
        tone=tone(finding),
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
    """The ratio that theory expects of path to baseline, where it knows both."""
    if not finding.theory or not finding.theory_baseline:
        return None
    return words.finite(finding.theory / finding.theory_baseline)


def _noise(finding: Finding) -> str:
    noise = noise_of(finding)
    if noise is None:
        return words.MISSING
    return marks.TOO_VARIABLE if is_noise_too_variable(finding) else noise.widest


def is_noise_too_variable(finding: Finding) -> bool:
    """True if the A/A comparison's interval says nothing, by the rule for intervals of changes."""
    low, high = words.finite(finding.noise_low), words.finite(finding.noise_high)
    return low is not None and high is not None and is_too_variable(low, high, finding.ratio, finding.values)


def contradicts_theory(finding: Finding) -> bool:
    """True if what theory expects is outside the interval of what was measured."""
    ratio = expected_ratio(finding)
    low, high = words.finite(finding.ci_low), words.finite(finding.ci_high)
    if ratio is None or finding.ratio is None or low is None or high is None:
        return False
    return not low - THEORY_IS_EXACT_TO <= ratio <= high + THEORY_IS_EXACT_TO


def _theory(finding: Finding) -> str:
    ratio = expected_ratio(finding)
    if ratio is not None:
        change = words.as_percent(ratio)
        sign = f"{UNLIKE} " if contradicts_theory(finding) else ""
        return f"{sign}{words.signed(change, words.percent_decimals(change))} %"
    return words.quantity(finding.theory, finding.unit)
