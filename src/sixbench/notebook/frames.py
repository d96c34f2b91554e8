"""Tables as DataFrames of pandas or polars, whichever is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..model.errors import CapabilityError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

Frames = Literal["pandas", "polars"]

Frame = Any
"""A `pandas.DataFrame` or a `polars.DataFrame`."""


def check_frames(frames: str) -> None:
    """Raises `UsageError` where there is no such kind, `CapabilityError` where its library is missing."""
    if frames not in get_args(Frames):
        raise UsageError(f"frames={frames!r}: there are {' and '.join(map(repr, get_args(Frames)))}")
    _library(frames)


def to_frame(table: pa.Table, frames: Frames) -> Frame:
    """The table as a DataFrame. Whole numbers stay whole where some are missing; what is missing is `NA` (pandas; of
    floating-point numbers `NaN`) or `null` (polars).

    Raises:
        CapabilityError: the library is missing.
    """
    library = _library(frames)
    if frames == "polars":
        return library.from_arrow(table)
    import pyarrow as pa

    kinds = {
        pa.int32(): library.Int32Dtype(),
        pa.int64(): library.Int64Dtype(),
        pa.bool_(): library.BooleanDtype(),
        pa.string(): library.StringDtype(),
    }
    return table.to_pandas(types_mapper=kinds.get)


def table_of(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, type]) -> pa.Table:
    """Rows as a table. Columns whose kind is given have it also where there are no rows or no values."""
    import pyarrow as pa

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    names = list(dict.fromkeys([*(name for row in rows for name in row), *kinds]))
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        if kinds.get(name) is float or any(_is_floating(value) for value in values):
            # JSON may have whole numbers among the values, which Arrow converts only up to 2^53.
            values = [float(value) if type(value) is int else value for value in values]
        columns[name] = pa.array(values, type=types[kinds[name]] if name in kinds else None)
    return pa.table(columns)


def _is_floating(value: Any) -> bool:
    return isinstance(value, float) or (type(value) is int and not -(2**63) <= value < 2**63)


def _library(frames: str) -> Any:
    try:
        return import_module(frames)
    except ImportError as error:
        other = next(name for name in get_args(Frames) if name != frames)
        raise CapabilityError(
            f"DataFrames of {frames} need {frames}, which is not installed: pip install 'sixbench[{frames}]', "
            f"or ask for those of {other}: sixbench.load(DIRECTORY, frames={other!r})"
        ) from error
