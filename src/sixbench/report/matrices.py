"""Tables for a factor whose levels are names, such as access networks: one for each headline metric.

They have a column for each path. Where there is one path, they have a column for each level of another such factor.
`kernel_tables` has those of several kernels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..model.finding import Analysis, Estimate
from ..model.workloads import WORKLOADS
from . import rows, words
from .intervals import half_interval, of_confidence
from .kernel_tables import is_on_several, kernel_tables
from .tables import Table, left, right
from .typed_cells import quantity_cell

PATH = None
"""Stands for the paths, where no factor is across."""


@dataclass(frozen=True, kw_only=True)
class _Axes:
    """The factor whose levels are the rows, and what stands across: another factor or the paths."""

    down: str
    across: str | None

    def row(self, estimate: Estimate) -> str:
        return words.level(self.down, estimate.levels.get(self.down))

    def column(self, estimate: Estimate) -> str:
        if self.across is PATH:
            return estimate.path
        return words.level(self.across, estimate.levels.get(self.across))

    def others(self, estimate: Estimate) -> str:
        """The levels that are in neither axis."""
        chosen = [name for name in estimate.levels if name not in (self.down, self.across)]
        return words.levels(estimate.levels, chosen)


def matrices(analysis: Analysis, confidence: float) -> list[Table]:
    """The tables. Empty where no factor's levels are names, or where nothing can stand across."""
    tables = []
    for workload, of_workload in rows.by_workload(analysis.estimates).items():
        if is_on_several(of_workload):
            tables += kernel_tables(workload, of_workload, confidence)
            continue
        axes = _axes(of_workload)
        headline = WORKLOADS[workload].headline if workload in WORKLOADS else ()
        if axes is None:
            continue
        for metric, of_metric in rows.by_metric(of_workload).items():
            if metric in headline:
                tables += [
                    _matrix(estimates, axes, analysis.estimates, confidence)
                    for estimates in _by_others(of_metric, axes)
                ]
    return tables


def _axes(estimates: Sequence[Estimate]) -> _Axes | None:
    named: dict[str, set[str]] = {}
    for estimate in estimates:
        for column, value in estimate.levels.items():
            if isinstance(value, str):
                named.setdefault(column, set()).add(value)
    swept = sorted((column for column in named if len(named[column]) > 1), key=lambda column: -len(named[column]))
    if not swept:
        return None
    if len({estimate.path for estimate in estimates}) > 1:
        return _Axes(down=swept[0], across=PATH)
    return _Axes(down=swept[0], across=swept[1]) if len(swept) > 1 else None


def _by_others(estimates: Iterable[Estimate], axes: _Axes) -> list[list[Estimate]]:
    groups: dict[str, list[Estimate]] = {}
    for estimate in estimates:
        groups.setdefault(axes.others(estimate), []).append(estimate)
    return list(groups.values())


def _matrix(estimates: Sequence[Estimate], axes: _Axes, order: Sequence[Estimate], confidence: float) -> Table:
    """The table of one metric; rows and columns are in the order in which the run has them."""
    first = estimates[0]
    cells = {(axes.row(estimate), axes.column(estimate)): _cell(estimate) for estimate in estimates}
    seen_down, seen_across = ({cell[axis] for cell in cells} for axis in (0, 1))
    down = [row for row in dict.fromkeys(map(axes.row, order)) if row in seen_down]
    across = [column for column in dict.fromkeys(map(axes.column, order)) if column in seen_across]
    by = words.factor(axes.down) + (f" and {words.factor(axes.across)}" if axes.across is not PATH else "")
    others = axes.others(first)
    return Table.of(
        words.workload_title(first.workload),
        f"{words.metric_label(first.metric)} by {by}"
        + (f", {others}" if others else "")
        + of_confidence(estimates, confidence),
        columns=[*left(words.factor(axes.down)), *right(*across)],
        rows=[[level, *(cells.get((level, name), words.MISSING) for name in across)] for level in down],
    )


def _cell(estimate: Estimate) -> str:
    """The value, and half of its interval."""
    cell = quantity_cell(estimate.value, estimate.unit)
    divisor, name = words.common_scale([estimate.value], estimate.unit)
    half = half_interval(estimate, divisor)
    return f"{cell.within(name)}{half} {name}" if half else cell.text
