"""The machines that measured the blocks of a run, and what each of them says."""

from __future__ import annotations

from datetime import UTC, datetime

from ..model.change_words import printed_change
from ..model.finding import CellEffect, CellValue
from ..store import Cell, Run
from . import rows, words
from .tables import Table, left, right

LEAST_P = 0.001


def machines_table(run: Run) -> Table | None:
    """A row for each cell; None for a run on one machine."""
    cells = run.manifest.cells
    if not cells:
        return None
    columns = [*left("cell", "system", "kernel", "CPU", "processors", "calibrated"), *right("blocks", "trials")]
    names = []
    for name, cell in cells.items():
        records = [trial for trial in run.trials if trial.cell == name]
        names.append(
            [
                name,
                cell.environment.distribution,
                cell.environment.kernel,
                f"{cell.environment.cpu}, {words.count(cell.environment.cores, 'core')}",
                _processors(cell),
                _calibrated(cell),
                str(len({trial.block for trial in records})),
                str(len(records)),
            ]
        )
    return Table(title="Cells", columns=columns, rows=names)


def effects_table(effects: list[CellEffect], confidence: float) -> Table | None:
    """A row for each comparison, with what each cell says of it; None where there is nothing to compare."""
    if not effects:
        return None
    names = list(dict.fromkeys(value.cell for effect in effects for value in effect.cells))
    levels = rows.varying(effects)
    columns = [
        *left("metric"),
        *right(*(words.factor(column) for column in levels)),
        *left("path"),
        *right(*names, "alike"),
    ]
    texts = []
    for effect in effects:
        by_name = {value.cell: value for value in effect.cells}
        texts.append(
            [
                f"{words.workload_title(effect.workload)}: {words.metric_label(effect.metric)}",
                *(words.level(column, effect.levels.get(column)) for column in levels),
                effect.path,
                *(_change(by_name.get(name), effect.unit) for name in names),
                _p_value(effect.p_value),
            ]
        )
    title = f"Change by cell, with {words.percent(confidence)} intervals, and the p-value of cells that are alike"
    return Table(title=title, columns=columns, rows=texts)


def _change(value: CellValue | None, unit: str) -> str:
    if value is None:
        return words.MISSING
    change = printed_change(value.ratio, value.difference, (value.ci_low, value.ci_high), unit)
    return words.MISSING if change is None else change.with_interval


def _p_value(value: float | None) -> str:
    if value is None:
        return words.MISSING
    return f"under {LEAST_P:g}" if value < LEAST_P else f"{value:.3f}"


def _processors(cell: Cell) -> str:
    use = cell.environment.processors
    if use is None:
        return words.MISSING
    awake = "kept awake" if use.kept_awake else "might sleep"
    return f"{words.count(len(use.usable), 'processor')} usable, {awake}"


def _calibrated(cell: Cell) -> str:
    known = cell.calibration
    if known is None:
        return "no"
    return datetime.fromtimestamp(known.realtime_ns // 10**9, UTC).strftime("%Y-%m-%d")
