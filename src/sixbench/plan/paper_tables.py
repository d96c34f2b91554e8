"""Tables of a paper in its own columns: `columns` say what the numbers of each row are."""

from __future__ import annotations

from typing import Any

from ..model.paper import PublishedTable, TableColumn, TableRow
from ..model.parameter import Scalar
from ..model.quoting import shown
from .key_reader import read_items, read_keys
from .paper_keys import CELLS, COLUMN, COLUMNS, MEASURED, MOST_BLOCKS, ROWS, TABLE, TABLES
from .paper_tests import check_unit, read_level, read_measured, read_needed
from .reader import Reader
from .yaml_source import KeyPath


def read_tables(reader: Reader, value: Any) -> list[PublishedTable]:
    """Reads the list. What is wrong is noted with its place."""
    return [
        table
        for index, item in enumerate(read_items(reader, ("tables",), value, TABLES))
        if (table := _table(reader, ("tables", index), item)) is not None
    ]


def _table(reader: Reader, place: KeyPath, item: Any) -> PublishedTable | None:
    data = read_keys(reader, place, item, TABLE)
    read = read_needed(reader, place, data, TABLE, *TABLE.missing)
    if read is None:
        return None
    if ("columns" in data) != ("rows" in data):
        reader.problem(place, "columns and rows need each other: give both, or neither")
        return None
    columns: list[TableColumn] = []
    for index, column in enumerate(read_items(reader, (*place, "columns"), data.get("columns", []), COLUMNS)):
        table_column = _column(reader, (*place, "columns", index), column)
        if table_column is None:
            return None
        columns.append(table_column)
    rows = [
        row
        for index, cells in enumerate(read_items(reader, (*place, "rows"), data.get("rows", []), ROWS))
        if (row := _row(reader, (*place, "rows", index), cells, columns)) is not None
    ]
    return PublishedTable(**read, columns=tuple(columns), rows=tuple(rows))


def _column(reader: Reader, place: KeyPath, item: Any) -> TableColumn | None:
    data = read_keys(reader, place, item, COLUMN)
    read = read_needed(reader, place, data, COLUMN, *COLUMN.missing)
    if read is None:
        return None
    roles = [key for key in ("level", "block", "ours") if key in data]
    if len(roles) > 1:
        reader.problem(place, f"a column is one thing: {' or '.join(roles)}")
        return None
    ours = None
    if "ours" in data:
        within: KeyPath = (*place, "ours")
        ours = read_measured(reader, within, read_keys(reader, within, data["ours"], MEASURED))
        if ours is not None:
            check_unit(reader, within, ours, read["unit"])
    return TableColumn(
        heading=read["heading"], unit=read["unit"], level=read.get("level"), is_block="block" in data, ours=ours
    )


def _row(reader: Reader, place: KeyPath, value: Any, columns: list[TableColumn]) -> TableRow | None:
    cells = read_items(reader, place, value, CELLS)
    if len(cells) != len(columns):
        reader.problem(
            place, f"{len(cells)} numbers in a table of {len(columns)} columns; write null where one is missing"
        )
        return None
    levels: dict[str, Scalar] = {}
    block = None
    for index, (cell, column) in enumerate(zip(cells, columns, strict=True)):
        here: KeyPath = (*place, index)
        if cell is None and column.level is None and not column.is_block:
            continue
        if isinstance(cell, bool) or not isinstance(cell, (int, float)):
            reader.problem(here, f"{shown(cell)} is not a number")
            return None
        if column.level is not None:
            level = read_level(reader, here, column.level, f"{cell}{column.unit}" if column.unit else cell)
            if level is None:
                return None
            levels[column.level] = level
        elif column.is_block:
            block = reader.count(here, cell, column.heading, 1, MOST_BLOCKS)
    return TableRow(cells=tuple(None if cell is None else float(cell) for cell in cells), levels=levels, block=block)
