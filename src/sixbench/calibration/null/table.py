"""Sentences and tables on the results of null and changed comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from ...report import words
from ...report.tables import Column, Table
from .design import CHANGE, WORKLOAD_TITLES
from .judge import Detectable, Judged, MetricShare, NullResult, Share, power_of, summed

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
            f"{words.count(every.different.found, 'false difference')}, {share_words(every.different)}. "
            f"The test alone, without the margin, errs in {every.by_test.found}, {share_words(every.by_test)}."
        )
        names.append(
            "Each headline metric is a test of its own. At least one of them shows a false difference in "
            f"{result.any_metric.found} of {result.any_metric.of} comparisons, {share_words(result.any_metric)}."
        )
    if result.power.of:
        names.append(
            f"A link that is slower by {100 * CHANGE:g} % is found in {result.power.found} of {result.power.of} "
            f"comparisons, {share_words(result.power)}."
        )
    if result.power_at_change.of:
        would = result.power_at_change
        names.append(
            f"If one path's values were larger by {100 * CHANGE:g} %, {would.found} of {would.of} null comparisons "
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
    return f"{_percent(100 * share.found / share.of)} % (95 % CI {_percent(low)} to {_percent(high)} %)"


def false_differences(result: NullResult) -> Table:
    """The table of false differences: a row for each metric, and one for all comparisons."""
    rows = [
        [
            WORKLOAD_TITLES[metric_share.workload],
            words.metric_label(metric_share.metric) + (" *" if metric_share.is_primary else ""),
            *_share_cells(metric_share),
        ]
        for metric_share in result.by_metric
    ]
    rows.append(["in all", "primary metrics (*)", *_share_cells(result.in_all)])
    return Table(
        title="False differences",
        columns=_columns(2, "workload", "metric", "of", "false", "%, 95 % CI", "test alone", "%, 95 % CI"),
        rows=rows,
    )


def found_differences(result: NullResult) -> Table:
    """The table of differences that were found: a row for each workload and family, and one for all."""
    groups: dict[tuple[str, str], list[Judged]] = {}
    for item in result.changed:
        groups.setdefault((WORKLOAD_TITLES[item.planned.kind.workload], item.planned.kind.title), []).append(item)
    rows = [[*key, *_found_cells(own)] for key, own in groups.items()]
    rows.append(["in all", "", *_found_cells(result.changed)])
    return Table(
        title=f"A link slower by {100 * CHANGE:g} %",
        columns=_columns(2, "workload", "paths", "of", "found", "%, 95 % CI", "measured change"),
        rows=rows,
    )


def detectable(result: NullResult) -> Table:
    """The smallest change that would have been found, by metric and number of blocks."""
    numbers = sorted({element.blocks for element in result.detectable})
    by_metric: dict[tuple[str, str], dict[int, str]] = {}
    for item in result.detectable:
        change = "not found" if item.change is None else f"{words.number(100 * item.change, 2)} %"
        by_metric.setdefault((item.workload, item.metric), {})[item.blocks] = f"{change} (n = {item.comparisons})"
    return Table(
        title=f"Smallest change that {100 * POWER:g} % of null comparisons would show",
        columns=_columns(2, "workload", "metric", *(f"{number} blocks" for number in numbers)),
        rows=[
            [WORKLOAD_TITLES[workload], words.metric_label(metric), *(cells.get(n, words.MISSING) for n in numbers)]
            for (workload, metric), cells in by_metric.items()
        ],
    )


def shown(result: NullResult) -> Table:
    """The table of null comparisons that would show a change, by metric."""
    groups: dict[tuple[str, str, bool], list[Detectable]] = {}
    for element in sorted(result.detectable, key=lambda item: not item.is_primary):
        groups.setdefault((element.workload, element.metric, element.is_primary), []).append(element)
    rows = []
    for (workload, metric, is_primary), detectables in sorted(groups.items(), key=lambda item: item[0][0]):
        would = summed(item.at_change for item in detectables)
        label = words.metric_label(metric) + (" *" if is_primary else "")
        rows.append([WORKLOAD_TITLES[workload], label, str(would.of), str(would.found), _share_cell(would)])
    return Table(
        title=f"Null comparisons that would show a change of {100 * CHANGE:g} %",
        columns=_columns(2, "workload", "metric", "of", "found", "%, 95 % CI"),
        rows=rows,
    )


def tables(result: NullResult) -> list[Table]:
    """The tables that have rows."""
    return [
        *([false_differences(result)] if result.judged else []),
        *([found_differences(result)] if result.changed else []),
        *([shown(result), detectable(result)] if result.detectable else []),
    ]


def _share_cells(metric_share: MetricShare) -> list[str]:
    return [
        str(metric_share.different.of),
        *(
            cell
            for share in (metric_share.different, metric_share.by_test)
            for cell in (str(share.found), _share_cell(share))
        ),
    ]


def _share_cell(share: Share) -> str:
    if share.interval is None:
        return words.MISSING
    low, high = (100 * end for end in share.interval)
    return f"{_percent(100 * share.found / share.of)} ({_percent(low)} to {_percent(high)})"


def _found_cells(own: Sequence[Judged]) -> list[str]:
    share = power_of(own)
    ratios = sorted(item.finding.ratio for item in own if item.finding.ratio is not None)
    low, high = (words.signed(words.as_percent(end), 2) for end in (ratios[0], ratios[-1])) if ratios else ("", "")
    return [str(share.of), str(share.found), _share_cell(share), f"{low} to {high} %" if ratios else words.MISSING]


def _columns(left: int, *names: str) -> list[Column]:
    return [Column(name=name, align="left" if index < left else "right") for index, name in enumerate(names)]


def _percent(percent: float) -> str:
    return f"{percent:.1f}".removesuffix(".0")
