"""Tables of a paper in its own columns: `columns` say what the numbers of each row are."""

from __future__ import annotations

from typing import Any

from ..model.paper import PublishedTable, TableColumn, TableRow
from ..model.parameter import Scalar
from ..model.quoting import shown
from .paper_tests import MEASURED_KEYS, check_unit, read_level, read_measured
from .reader import Reader
from .yaml_source import KeyPath

_TABLE_KEYS = ("name", "title", "note", "columns", "rows")
_COLUMN_KEYS = ("heading", "unit", "level", "block", "ours")


def read_tables(reader: Reader, value: Any) -> list[PublishedTable]:
    """Reads the list. What is wrong is noted with its place."""
    return [
        table
        for index, item in enumerate(reader.sequence(("tables",), value, "tables"))
        if (table := _table(reader, ("tables", index), item)) is not None
    ]


def _table(reader: Reader, place: KeyPath, item: Any) -> PublishedTable | None:
    data = reader.mapping(place, item, "a table", _TABLE_KEYS)
    missing = [key for key in ("name", "title") if key not in data]
    if missing:
        reader.problem(place, f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
        return None
    if ("columns" in data) != ("rows" in data):
        reader.problem(place, "columns and rows need each other: give both, or neither")
        return None
    words = {
        key: " ".join((reader.word((*place, key), data[key], key) or "").split())
        for key in ("name", "title", "note")
        if key in data
    }
    columns: list[TableColumn] = []
    for index, column in enumerate(reader.sequence((*place, "columns"), data.get("columns", []), "columns")):
        table_column = _column(reader, (*place, "columns", index), column)
        if table_column is None:
            return None
        columns.append(table_column)
    rows = [
        row
        for index, cells in enumerate(reader.sequence((*place, "rows"), data.get("rows", []), "rows"))
        if (row := _row(reader, (*place, "rows", index), cells, columns)) is not None
    ]
    return PublishedTable(**words, columns=tuple(columns), rows=tuple(rows))


def _column(reader: Reader, place: KeyPath, item: Any) -> TableColumn | None:
    data = reader.mapping(place, item, "a column", _COLUMN_KEYS)
    if "heading" not in data:
        reader.problem(place, "heading is missing")
        return None
    roles = [key for key in ("level", "block", "ours") if key in data]
    if len(roles) > 1:
        reader.problem(place, f"a column is one thing: {' or '.join(roles)}")
        return None
    if data.get("block", True) is not True:
        reader.problem((*place, "block"), "block must be true, or left out")
    unit = reader.word((*place, "unit"), data["unit"], "unit") if "unit" in data else ""
    ours = None
    if "ours" in data:
        own: KeyPath = (*place, "ours")
        ours = read_measured(reader, own, reader.mapping(own, data["ours"], "ours", MEASURED_KEYS))
        if ours is not None:
            check_unit(reader, own, ours, unit or "")
    return TableColumn(
        heading=" ".join((reader.word((*place, "heading"), data["heading"], "heading") or "").split()),
        unit=unit or "",
        level=reader.word((*place, "level"), data["level"], "level") if "level" in data else None,
        is_block="block" in data,
        ours=ours,
    )


def _row(reader: Reader, place: KeyPath, value: Any, columns: list[TableColumn]) -> TableRow | None:
    cells = reader.sequence(place, value, "a row")
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
            block = reader.count(here, cell, column.heading, 1, 10_000)
    return TableRow(cells=tuple(None if cell is None else float(cell) for cell in cells), levels=levels, block=block)
