"""Sentences and tables on the results of null and changed comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ...report import words
from ...report.tables import ColumnOf, Table, number_column, table_in, words_column
from .design import CHANGE, WORKLOAD_TITLES
from .judge import Detectable, JudgedMetric, MetricShare, NullResult, Share, power_of, summed

NOMINAL = 0.05
"""The share of tests that err with intervals of 95 %."""
POWER = 0.9


def sentences(result: NullResult) -> list[str]:
    """The result in sentences."""
    every = result.in_all
    names = []
    if every.different.of:
        names.append(
            f"{words.count(every.different.of, 'null comparison')} by the primary metric of each workload gave "
            f"{words.count(every.different.number, 'false difference')}, {share_words(every.different)}. "
            f"The test alone, without the margin, errs in {every.by_test.number}, {share_words(every.by_test)}."
        )
        names.append(
            "Each headline metric is a test of its own. At least one of them shows a false difference in "
            f"{result.any_metric.number} of {result.any_metric.of} comparisons, {share_words(result.any_metric)}."
        )
    if result.power.of:
        names.append(
            f"A link that is slower by {100 * CHANGE:g} % is found in {result.power.number} of {result.power.of} "
            f"comparisons, {share_words(result.power)}."
        )
    if result.power_at_change.of:
        would = result.power_at_change
        names.append(
            f"If one path's values were larger by {100 * CHANGE:g} %, {would.number} of {would.of} null comparisons "
            f"would show it by their primary metric, {share_words(would)}."
        )
    return names


def is_alarming(result: NullResult) -> bool:
    """True if differences are declared more often, or found less often, than chance explains."""
    return bool(_alarms(result))


def warnings(result: NullResult) -> list[str]:
    """Warnings on shares that chance does not explain, and on comparisons that came to nothing."""
    names = _alarms(result)
    undecided = sum(not item.is_decided for item in [*result.primary, *result.changed])
    if undecided:
        names.append(f"{words.count(undecided, 'comparison')} had too few valid trials to be decided.")
    if result.invalid:
        names.append(f"{result.invalid} of {words.count(result.trials, 'trial')} were not valid. They are not counted.")
    if result.repeats:
        names.append(
            f"{words.count(result.repeats, 'of these trials is a repeat', 'of these trials are repeats')} of one that "
            f"the machine disturbed, and {result.repeats_valid} of the repeats gave a valid trial."
        )
    return names


def _alarms(result: NullResult) -> list[str]:
    names = []
    every, power = result.in_all, result.power
    for share, what in ((every.different, "false differences"), (every.by_test, "errors of the test by itself")):
        if share.interval is not None and share.interval[0] > NOMINAL:
            names.append(
                f"There are more {what} than {100 * NOMINAL:g} %, and more than chance explains. Something other than "
                "the paths makes differences on this machine."
            )
    if power.interval is not None and power.interval[1] < POWER:
        names.append(
            f"The difference of {100 * CHANGE:g} % is found in less than {100 * POWER:g} % of the comparisons. This "
            "machine is too busy, or its times vary too much, for trials as short as these."
        )
    return names


def share_words(share: Share) -> str:
    """A share with its interval, such as `1.5 % (95 % CI 0.3 to 4.3 %)`."""
    if share.interval is None:
        return words.MISSING
    low, high = (100 * end for end in share.interval)
    return f"{_percent(100 * share.number / share.of)} % (95 % CI {_percent(low)} to {_percent(high)} %)"


@dataclass(frozen=True, kw_only=True)
class _FalseRow:
    workload: str
    metric: str
    share: MetricShare


_FALSE_COLUMNS: tuple[ColumnOf[_FalseRow], ...] = (
    words_column("workload", lambda row: row.workload),
    words_column("metric", lambda row: row.metric),
    number_column("of", lambda row: str(row.share.different.of)),
    number_column("false", lambda row: str(row.share.different.number)),
    number_column("%, 95 % CI", lambda row: _share_cell(row.share.different)),
    number_column("test alone", lambda row: str(row.share.by_test.number)),
    number_column("%, 95 % CI", lambda row: _share_cell(row.share.by_test)),
)


def false_differences(result: NullResult) -> Table:
    """The table of false differences: a row for each metric, and one for all comparisons."""
    rows = [
        _FalseRow(workload=WORKLOAD_TITLES[share.workload], metric=_metric(share), share=share)
        for share in result.by_metric
    ]
    in_all = _FalseRow(workload="in all", metric="primary metrics (*)", share=result.in_all)
    return table_in("False differences", _FALSE_COLUMNS, [*rows, in_all])


@dataclass(frozen=True, kw_only=True)
class _FoundRow:
    workload: str
    paths: str
    judged: Sequence[JudgedMetric]

    @property
    def share(self) -> Share:
        return power_of(self.judged)

    @property
    def measured(self) -> str:
        """The least and the most of the changes that were measured."""
        ratios = sorted(item.finding.ratio for item in self.judged if item.finding.ratio is not None)
        if not ratios:
            return words.MISSING
        low, high = (words.signed(words.as_percent(end), 2) for end in (ratios[0], ratios[-1]))
        return f"{low} to {high} %"


_FOUND_COLUMNS: tuple[ColumnOf[_FoundRow], ...] = (
    words_column("workload", lambda row: row.workload),
    words_column("paths", lambda row: row.paths),
    number_column("of", lambda row: str(row.share.of)),
    number_column("found", lambda row: str(row.share.number)),
    number_column("%, 95 % CI", lambda row: _share_cell(row.share)),
    number_column("measured change", lambda row: row.measured),
)


def found_differences(result: NullResult) -> Table:
    """The table of differences that were found: a row for each workload and family, and one for all."""
    groups: dict[tuple[str, str], list[JudgedMetric]] = {}
    for item in result.changed:
        groups.setdefault((WORKLOAD_TITLES[item.planned.kind.workload], item.planned.kind.title), []).append(item)
    rows = [_FoundRow(workload=workload, paths=paths, judged=judged) for (workload, paths), judged in groups.items()]
    in_all = _FoundRow(workload="in all", paths="", judged=result.changed)
    return table_in(f"A link slower by {100 * CHANGE:g} %", _FOUND_COLUMNS, [*rows, in_all])


def detectable(result: NullResult) -> Table:
    """The smallest change that would have been found, by metric and number of blocks."""
    by_metric: dict[tuple[str, str], dict[int, Detectable]] = {}
    for item in result.detectable:
        by_metric.setdefault((item.workload, item.metric), {})[item.blocks] = item
    columns: list[ColumnOf[tuple[tuple[str, str], dict[int, Detectable]]]] = [
        words_column("workload", lambda row: WORKLOAD_TITLES[row[0][0]]),
        words_column("metric", lambda row: words.metric_label(row[0][1])),
    ]
    for number in sorted({item.blocks for item in result.detectable}):
        columns.append(number_column(f"{number} blocks", partial(_smallest, number)))
    title = f"Smallest change that {100 * POWER:g} % of null comparisons would show"
    return table_in(title, columns, by_metric.items())


def _smallest(blocks: int, row: tuple[tuple[str, str], dict[int, Detectable]]) -> str:
    """The change of that number of blocks."""
    item = row[1].get(blocks)
    if item is None:
        return words.MISSING
    change = "not found" if item.change is None else f"{words.number(100 * item.change, 2)} %"
    return f"{change} (n = {item.comparisons})"


def shown(result: NullResult) -> Table:
    """The table of null comparisons that would show a change, by metric."""
    groups: dict[tuple[str, str, bool], list[Detectable]] = {}
    for element in sorted(result.detectable, key=lambda item: not item.is_primary):
        groups.setdefault((element.workload, element.metric, element.is_primary), []).append(element)
    ordered = [group for _, group in sorted(groups.items(), key=lambda item: item[0][0])]
    columns: list[ColumnOf[tuple[Detectable, Share]]] = [
        words_column("workload", lambda row: WORKLOAD_TITLES[row[0].workload]),
        words_column("metric", lambda row: _metric(row[0])),
        number_column("of", lambda row: str(row[1].of)),
        number_column("found", lambda row: str(row[1].number)),
        number_column("%, 95 % CI", lambda row: _share_cell(row[1])),
    ]
    rows = [(group[0], summed(item.at_change for item in group)) for group in ordered]
    return table_in(f"Null comparisons that would show a change of {100 * CHANGE:g} %", columns, rows)


def _metric(item: MetricShare | Detectable) -> str:
    """The metric, with a mark if it is its workload's primary one."""
    return words.metric_label(item.metric) + (" *" if item.is_primary else "")


def tables(result: NullResult) -> list[Table]:
    """The tables that have rows."""
    return [
        *([false_differences(result)] if result.judged else []),
        *([found_differences(result)] if result.changed else []),
        *([shown(result), detectable(result)] if result.detectable else []),
    ]


def _share_cell(share: Share) -> str:
    if share.interval is None:
        return words.MISSING
    low, high = (100 * end for end in share.interval)
    return f"{_percent(100 * share.number / share.of)} ({_percent(low)} to {_percent(high)})"


def _percent(percent: float) -> str:
    return f"{percent:.1f}".removesuffix(".0")
