"""All trials of a run as one table, one row each: `trials.parquet`, for pandas and DuckDB."""

from __future__ import annotations

import io
from typing import Any

from ..model.trial import TrialRecord

_FIXED = ("key", "sequence", "block", "combination", "path", "mechanism", "engine", "workload", "status", "limited_by")
_TIMES = ("started_realtime_ns", "elapsed_ns")


def trials_parquet(trials: list[TrialRecord]) -> bytes:
    """The table as a Parquet file.

    Columns: what a trial was, its parameters and levels (`param_`, `level_`, with their units), its metrics by column
    name, theory (`theory_`), and `reasons` as text. What a trial does not have is null.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [_row(trial) for trial in trials]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: pa.array(_one_type([row.get(name) for row in rows])) for name in names}
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, compression="zstd")
    return buffer.getvalue()


def _row(trial: TrialRecord) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(trial, name) for name in (*_FIXED, *_TIMES)}
    row["reasons"] = "; ".join(trial.reasons) or None
    row |= {f"param_{name}": value for name, value in trial.params.items()}
    row |= {f"level_{name}": value for name, value in trial.levels.items()}
    row |= {name: float(value) for name, value in trial.metrics.items()}
    row |= {f"theory_{name}": float(value) for name, value in trial.theory.items()}
    return row


def _one_type(values: list[Any]) -> list[Any]:
    """A column has one type: where levels of several kinds meet, text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and len(kinds) > 1:
        return [None if value is None else float(value) for value in values]
    return values if len(kinds) <= 1 else [None if value is None else str(value) for value in values]
