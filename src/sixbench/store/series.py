"""Interval series as Parquet, one long table: source, t_ns, quantity, value."""

from __future__ import annotations

import io
import math

import pyarrow as pa
import pyarrow.parquet as pq

from ..model.errors import StoreError
from ..model.quoting import printable

_SCHEMA = pa.schema([("source", pa.string()), ("t_ns", pa.int64()), ("quantity", pa.string()), ("value", pa.float64())])


def series_parquet(series: dict[str, dict[str, list[float]]]) -> bytes:
    """Series by source as a Parquet file; each has `t_ns` and other lists of the same length. Missing values are left
    out."""
    sources: list[str] = []
    times: list[int] = []
    quantities: list[str] = []
    values: list[float] = []
    for source, columns in series.items():
        t_ns = columns.get("t_ns", [])
        for quantity, column in columns.items():
            if quantity == "t_ns":
                continue
            for t, value in zip(t_ns, column, strict=True):
                if value is not None:
                    sources.append(source)
                    times.append(int(t))
                    quantities.append(quantity)
                    values.append(float(value))
    buffer = io.BytesIO()
    pq.write_table(pa.table([sources, times, quantities, values], schema=_SCHEMA), buffer, compression="zstd")
    return buffer.getvalue()


def read_series(content: bytes, where: str, most_values: int | None = None) -> dict[str, dict[str, list[float]]]:
    """Reads them back: source, then quantity, to lists; every quantity has its own `quantity:t_ns` list beside it.

    Args:
        where: names the file.
        most_values: so many are read; None: as many as there are.

    Raises:
        StoreError: it is not such a file, or it has more values.
    """
    series: dict[str, dict[str, list[float]]] = {}
    try:
        values = pq.read_metadata(io.BytesIO(content)).num_rows
        if most_values is not None and values > most_values:
            raise StoreError(f"{where}: it has {values} values, and at most {most_values} are read here")
        table = pq.read_table(io.BytesIO(content), columns=_SCHEMA.names).cast(_SCHEMA)
        rows = [table[name].to_pylist() for name in _SCHEMA.names]  # raises for text that is not UTF-8
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        reason = printable(str(error).partition("\n")[0])
        raise StoreError(f"{where}: damaged interval series: {reason}") from error
    for source, t, quantity, value in zip(*rows, strict=True):
        if None in (source, t, quantity, value) or not math.isfinite(value):
            raise StoreError(f"{where}: damaged interval series: a value, its time or its name is missing")
        columns = series.setdefault(source, {})
        columns.setdefault(f"{quantity}:t_ns", []).append(t)
        columns.setdefault(quantity, []).append(value)
    return series
