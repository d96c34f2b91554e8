"""The columns of findings, declared once for all formats: their headings, how they are aligned, and their cells.

A format chooses columns, their order and what it says around them. It finds a column by the column itself, never by its
place, and a cell by its column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..model.aligned import Align
from ..model.finding import Finding
from . import marks, rows, words
from .rows import FindingRow, Group
from .typed_cells import NumberCell, TypedCell, WordsCell, is_empty


@dataclass(frozen=True, kw_only=True, eq=False)
class FindingColumn:
    """A column of findings.

    Attributes:
        name: its heading, where a format has no better one.
        cell: the cell of a row.
        unit_of: which unit of a metric its numbers share, and need not repeat: that of values, or that of changes.
    """

    name: str
    align: Align
    cell: Callable[[FindingRow], TypedCell]
    unit_of: Literal["nothing", "values", "changes"] = "nothing"


def _words(text: Callable[[FindingRow], str]) -> Callable[[FindingRow], TypedCell]:
    return lambda row: WordsCell(text=text(row))


WORKLOAD = FindingColumn(name="workload", align="left", cell=_words(lambda row: row.finding.workload))
METRIC = FindingColumn(name="metric", align="left", cell=_words(lambda row: words.metric_label(row.finding.metric)))
LEVELS = FindingColumn(name="levels", align="left", cell=_words(lambda row: row.levels))
PATH = FindingColumn(name="path", align="left", cell=_words(lambda row: row.finding.path))
PATH_AND_BASELINE = FindingColumn(
    name="path", align="left", cell=_words(lambda row: f"{row.finding.path} vs {row.finding.baseline}")
)
VALUE = FindingColumn(name="value", align="right", cell=lambda row: row.cells.value, unit_of="values")
BASELINE = FindingColumn(name="baseline", align="right", cell=lambda row: row.cells.baseline, unit_of="values")
CHANGE = FindingColumn(name="change", align="right", cell=lambda row: row.cells.change, unit_of="changes")
SIGN = FindingColumn(name="", align="left", cell=_words(lambda row: marks.sign(row.finding)))
INTERVAL = FindingColumn(name="interval", align="right", cell=lambda row: row.cells.interval)
VERDICT = FindingColumn(name="verdict", align="left", cell=_words(lambda row: row.verdict))
PAIRS = FindingColumn(name="n", align="right", cell=lambda row: NumberCell(value=row.finding.n, decimals=0))
NOISE = FindingColumn(name="A/A", align="right", cell=lambda row: row.cells.noise, unit_of="changes")
THEORY = FindingColumn(name="theory", align="right", cell=lambda row: row.cells.theory, unit_of="changes")
INVALID = FindingColumn(
    name="invalid", align="right", cell=_words(lambda row: str(row.finding.invalid) if row.finding.invalid else "")
)
BLOCKS = FindingColumn(name="blocks", align="left", cell=_words(lambda row: marks.blocks(row.finding)))

TABLE = (PATH, VALUE, BASELINE, CHANGE, INTERVAL, VERDICT, PAIRS, NOISE, THEORY, INVALID)
"""The columns of a table of one metric, after those of levels."""


def level_columns(findings: Sequence[Finding]) -> dict[str, FindingColumn]:
    """A column for each level that varies among findings, by the level's own column."""
    return {column: _level_column(column) for column in rows.varying(findings)}


def _level_column(column: str) -> FindingColumn:
    return FindingColumn(
        name=words.factor(column),
        align="right",
        cell=_words(lambda row: words.level(column, row.finding.levels.get(column))),
    )


@dataclass(frozen=True, kw_only=True)
class FindingTable:
    """The findings of one metric of one workload in columns.

    Attributes:
        unit: of values; empty where each cell carries its own.
        change_unit: of change, noise and theory; likewise.
        rows: a cell for each column.
    """

    group: Group
    unit: str
    change_unit: str
    columns: Sequence[FindingColumn]
    rows: Sequence[Mapping[FindingColumn, TypedCell]]

    @classmethod
    def of(cls, group: Group, columns: Sequence[FindingColumn]) -> FindingTable:
        """The rows of a group in these columns."""
        return cls(
            group=group,
            unit="" if group.scale is None else group.scale[1],
            change_unit=_shared_unit(row.cells.change for row in group.rows),
            columns=columns,
            rows=[{column: column.cell(row) for column in columns} for row in group.rows],
        )

    def unit_in(self, column: FindingColumn) -> str:
        """The unit that a column's cells share; empty where they share none."""
        return {"nothing": "", "values": self.unit, "changes": self.change_unit}[column.unit_of]

    def texts(self) -> list[dict[FindingColumn, str]]:
        """The cells as text, without the unit that they share."""
        return [{column: cell.within(self.unit_in(column)) for column, cell in row.items()} for row in self.rows]


def filled_columns(tables: Sequence[FindingTable]) -> list[FindingColumn]:
    """The columns that say something in any row of these tables, which have the same columns."""
    return [
        column
        for column in tables[0].columns
        if any(not is_empty(row[column]) for table in tables for row in table.rows)
    ]


def _shared_unit(cells: Iterable[TypedCell]) -> str:
    """The unit of all cells that are numbers; empty where there are several, or none."""
    units = {cell.unit for cell in cells if isinstance(cell, NumberCell)}
    return units.pop() if len(units) == 1 else ""
