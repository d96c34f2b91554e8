"""All trials of a run as one table, one row each: `trials.parquet`, for pandas and DuckDB."""

from __future__ import annotations

import io
from typing import Any

from ..model.metric import COLUMNS
from ..model.reason import sentences
from ..model.trial import TrialRecord
from ..model.units import TIMED_UNITS, VIRTUAL
from .manifest import Clock, Manifest

TRIALS_SCHEMA = "sixbench.trials/2"
"""The version of columns and metadata. Metrics are added without a new version."""

_SUFFIXES = {"_bytes": "B", "_bps": "bit/s", "_ns": "ns", "_pps": "packets/s", "_per_s": "1/s", "_ratio": "1"}
"""Units by the end of a column's name."""

_FIXED = ("key", "sequence", "block", "combination", "path", "mechanism", "engine", "workload", "status", "limited_by")
_TIMES = ("started_realtime_ns", "elapsed_ns")
_TIME_OF_DAY = "time_of_day_ns"
_DAY_NS = 86_400 * 10**9
_KINDS = (
    dict.fromkeys((*_FIXED, *_TIMES, _TIME_OF_DAY, "reasons", "reason_kinds", "other_runs", "worker"), "string")
    | dict.fromkeys(("sequence", "block", *_TIMES, _TIME_OF_DAY, "repeat"), "int64")
    | dict.fromkeys(("watched", "kept_awake"), "bool")
)
"""Columns that every table has, and their kinds, which hold even for a column without any value."""


def trials_parquet(trials: list[TrialRecord], manifest: Manifest) -> bytes:
    """The table as a Parquet file.

    Columns: what a trial was, its parameters and levels (`param_`, `level_`, with their units), its metrics by column
    name, theory (`theory_`), `reasons` as text and `reason_kinds` as words. `time_of_day_ns` is the time since midnight
    UTC when it began, by which networks that others use differ. `worker` is the machine that measured it,
    of several. `repeat` says which repeat of its trial it is. `other_runs` has the experiments that other runs of
    sixbench measured meanwhile, as words: empty where there were none. `watched` says whether a page of `sixbench ui`
        looked at
    the run, `kept_awake` whether the processors were kept awake throughout the trial. What a trial does not have is
    null.

    The file's metadata say what it is: `sixbench.schema`, `sixbench.version`, `sixbench.run`, `sixbench.experiment`,
    `sixbench.seed`, `sixbench.started_realtime_ns` and `sixbench.clock`. Those of a column have its `unit`, where it
    has one (`1` for shares).
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    values = _by_column(trials)
    names = list(values)
    columns = [pa.array(_one_type(values.pop(name)), type=_KINDS.get(name)) for name in names]
    clock = manifest.environment.clock
    fields = [
        pa.field(name, column.type, metadata={"unit": unit} if (unit := unit_of(name, clock)) else None)
        for name, column in zip(names, columns, strict=True)
    ]
    schema = pa.schema(fields, metadata=_about(manifest))
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), buffer, compression="zstd")
    return buffer.getvalue()


def unit_of(column: str, clock: Clock = "real") -> str | None:
    """The unit of a column; None where it has none, such as names and counts."""
    name = column.removeprefix("theory_")
    if name in COLUMNS:
        unit = COLUMNS[name].unit
        return f"{VIRTUAL}{unit}" if clock == "virtual" and unit in TIMED_UNITS else unit
    text = next((unit for suffix, unit in _SUFFIXES.items() if column.endswith(suffix)), None)
    is_measured = column == "elapsed_ns"
    return f"{VIRTUAL}{text}" if text and is_measured and clock == "virtual" else text


def _about(manifest: Manifest) -> dict[str, str]:
    about = {
        "schema": TRIALS_SCHEMA,
        "version": manifest.environment.versions.get("sixbench", ""),
        "run": manifest.run,
        "experiment": manifest.experiment.name,
        "seed": str(manifest.experiment.seed),
        "started_realtime_ns": str(manifest.started_realtime_ns),
        "clock": manifest.environment.clock,
    }
    return {f"sixbench.{name}": value for name, value in about.items() if value}


def _by_column(trials: list[TrialRecord]) -> dict[str, list[Any]]:
    """The values of each column. Those of a trial are there once, however many columns and trials there are."""
    columns: dict[str, list[Any]] = {name: [] for name in _KINDS}
    for number, trial in enumerate(trials):
        for name, value in _row(trial).items():
            column = columns.setdefault(name, [])
            column.extend([None] * (number - len(column)))
            column.append(value)
    for column in columns.values():
        column.extend([None] * (len(trials) - len(column)))
    return columns


def _row(trial: TrialRecord) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(trial, name) for name in (*_FIXED, *_TIMES)}
    row[_TIME_OF_DAY] = trial.started_realtime_ns % _DAY_NS
    row["reasons"] = sentences(trial.reasons) or None
    row["reason_kinds"] = " ".join(dict.fromkeys(reason.kind.value for reason in trial.reasons)) or None
    row["worker"] = trial.worker
    row["repeat"] = trial.repeat
    row["watched"] = trial.watched
    row["kept_awake"] = trial.kept_awake
    row["other_runs"] = None if trial.other_runs is None else " ".join(trial.other_runs)
    row |= {f"param_{name}": value for name, value in trial.params.items()}
    row |= {f"level_{name}": value for name, value in trial.levels.items()}
    row |= {name: float(value) for name, value in trial.metrics.items()}
    row |= {f"theory_{name}": float(value) for name, value in trial.theory.items()}
    return row


def _one_type(values: list[Any]) -> list[Any]:
    """The values of a column, which has one type. It is text where levels of several kinds meet."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and len(kinds) > 1:
        return [None if value is None else float(value) for value in values]
    return values if len(kinds) <= 1 else [None if value is None else str(value) for value in values]
