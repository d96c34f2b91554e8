"""The trials of many runs as one Parquet data set: a directory of files with the same columns, one file a run.

pandas, pyarrow, polars and DuckDB take the columns of such a directory from its first file. So the first file by name
has all columns that any of them has, and no row.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from ..model.errors import StoreError
from ..model.quoting import printable
from .folder import Folder
from .manifest import Manifest
from .table import trials_parquet

if TYPE_CHECKING:
    from ..model.trial import TrialRecord

COLUMNS = "000000.parquet"


def file_of(number: int) -> str:
    """The name of the file with the trials of that occurrence."""
    return f"{number:06d}.parquet"


def add_to_data_set(
    folder: Folder, number: int, started_realtime_ns: int, trials: list[TrialRecord], manifest: Manifest
) -> None:
    """Writes the trials of a run into a data set: the columns of `trials.parquet`, and `occurrence`, its number,
    `occurrence_started_realtime_ns`, and `run`.

    Raises:
        StoreError: the file of all columns is damaged, or a column is of another kind there.
        WriteError: it cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(trials_parquet(trials, manifest)))
    metadata = table.schema.metadata
    added = {"occurrence": number, "occurrence_started_realtime_ns": started_realtime_ns}
    for name, value in added.items():
        table = table.append_column(pa.field(name, pa.int64()), pa.array([value] * len(trials), pa.int64()))
    table = table.append_column(pa.field("run", pa.string()), pa.array([manifest.run] * len(trials), pa.string()))
    place = printable(str(folder.path / COLUMNS))
    plain_schema = table.schema.remove_metadata()
    try:
        known = (
            pq.read_schema(io.BytesIO(folder.read(COLUMNS))).remove_metadata() if folder.has(COLUMNS) else plain_schema
        )
        columns = pa.unify_schemas([known, plain_schema], promote_options="permissive")
        whole = pa.Table.from_arrays(
            [
                table[field.name].cast(field.type)
                if field.name in table.column_names
                else pa.nulls(len(trials), field.type)
                for field in columns
            ],
            schema=columns.with_metadata(metadata),
        )
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        reason = printable(str(error).partition("\n")[0])
        raise StoreError(f"{place}: the trials of the run do not fit its columns: {reason}") from error
    if not (folder.has(COLUMNS) and columns.equals(known, check_metadata=True)):
        folder.write(COLUMNS, _bytes(columns.empty_table()))
    folder.write(file_of(number), _bytes(whole))


def _bytes(table: object) -> bytes:
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()
