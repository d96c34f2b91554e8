"""The machines that measured the blocks of a run, and what each of them says."""

from __future__ import annotations

from datetime import UTC, datetime

from ..model.change_words import printed_change
from ..model.finding import WorkerEffect, WorkerValue
from ..store import Run, WorkerMachine
from . import rows, words
from .tables import ColumnOf, Table, number_column, table_in, words_column

LEAST_P = 0.001


def machines_table(run: Run) -> Table | None:
    """A row for each worker; None for a run on one machine."""
    workers = run.manifest.workers
    if not workers:
        return None
    blocks = {name: [trial.block for trial in run.trials if trial.worker == name] for name in workers}
    columns: list[ColumnOf[tuple[str, WorkerMachine]]] = [
        words_column("worker", lambda item: item[0]),
        words_column("system", lambda item: item[1].environment.distribution),
        words_column("kernel", lambda item: item[1].environment.kernel),
        words_column(
            "CPU", lambda item: f"{item[1].environment.cpu}, {words.count(item[1].environment.cores, 'core')}"
        ),
        words_column("processors", lambda item: _processors(item[1])),
        words_column("calibrated", lambda item: _calibrated(item[1])),
        number_column("blocks", lambda item: str(len(set(blocks[item[0]])))),
        number_column("trials", lambda item: str(len(blocks[item[0]]))),
    ]
    return table_in("Workers", columns, workers.items())


def effects_table(effects: list[WorkerEffect], confidence: float) -> Table | None:
    """A row for each comparison, with what each worker says of it; None where there is nothing to compare."""
    if not effects:
        return None
    names = list(dict.fromkeys(value.worker for effect in effects for value in effect.workers))
    columns: list[ColumnOf[WorkerEffect]] = [
        words_column(
            "metric", lambda effect: f"{words.workload_title(effect.workload)}: {words.metric_label(effect.metric)}"
        ),
        *map(_level_column, rows.varying(effects)),
        words_column("path", lambda effect: effect.path),
        *map(_worker_column, names),
        number_column("alike", lambda effect: _p_value(effect.p_value)),
    ]
    title = f"Change by worker, with {words.percent(confidence)} intervals, and the p-value of workers that are alike"
    return table_in(title, columns, effects)


def _level_column(column: str) -> ColumnOf[WorkerEffect]:
    return number_column(words.factor(column), lambda effect: words.level(column, effect.levels.get(column)))


def _worker_column(name: str) -> ColumnOf[WorkerEffect]:
    """A column with what one worker says."""

    def text(effect: WorkerEffect) -> str:
        return _change(next((value for value in effect.workers if value.worker == name), None), effect.unit)

    return number_column(name, text)


def _change(value: WorkerValue | None, unit: str) -> str:
    if value is None:
        return words.MISSING
    change = printed_change(value.ratio, value.difference, (value.ci_low, value.ci_high), unit)
    return words.MISSING if change is None else change.with_interval


def _p_value(value: float | None) -> str:
    if value is None:
        return words.MISSING
    return f"under {LEAST_P:g}" if value < LEAST_P else f"{value:.3f}"


def _processors(worker: WorkerMachine) -> str:
    use = worker.environment.processors
    if use is None:
        return words.MISSING
    awake = "kept awake" if use.kept_awake else "might sleep"
    return f"{words.count(len(use.usable), 'processor')} usable, {awake}"


def _calibrated(worker: WorkerMachine) -> str:
    known = worker.calibration
    if known is None:
        return "no"
    return datetime.fromtimestamp(known.realtime_ns // 10**9, UTC).strftime("%Y-%m-%d")
