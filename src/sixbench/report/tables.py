"""Tables that are the same in the terminal, Markdown and LaTeX: columns and cells, without any markup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Generic, TypeVar

from ..model.aligned import Align
from ..model.finding import ClaimResult, ComparedTable, Finding, PublishedComparison
from . import finding_columns, rows, words
from .finding_columns import FindingColumn, FindingTable
from .rows import Group
from .validity import CountedReason, Trials


@dataclass(frozen=True, kw_only=True)
class Column:
    """A heading and how its cells are aligned."""

    name: str
    align: Align = "left"


def left(*names: str) -> list[Column]:
    """Columns of text."""
    return [Column(name=name) for name in names]


def right(*names: str) -> list[Column]:
    """Columns of numbers."""
    return [Column(name=name, align="right") for name in names]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of texts; every row has a cell a column.

    Attributes:
        title: all of its title.
        subject, detail: the parts of a title such as `TCP bulk transfer: Goodput by profile`, for formats in which
            several tables of one subject stand together; empty where it has none.
        note: sentences on what it shows, below its title; empty: none.
    """

    title: str
    columns: list[Column]
    rows: list[list[str]]
    subject: str = ""
    detail: str = ""
    note: str = ""

    @classmethod
    def of(cls, subject: str, detail: str, columns: list[Column], rows: list[list[str]]) -> Table:
        """A table whose title has both parts."""
        return cls(title=f"{subject}: {detail}", columns=columns, rows=rows, subject=subject, detail=detail)


def finding_tables(findings: Iterable[Finding], confidence: float) -> list[Table]:
    """One table a workload and metric; columns that would be empty are left out."""
    tables = []
    for of_workload in rows.by_workload(findings).values():
        columns = [*finding_columns.level_columns(of_workload).values(), *finding_columns.TABLE]
        for group in rows.grouped(of_workload):
            table = FindingTable.of(group, columns)
            kept = finding_columns.filled_columns([table])
            tables.append(
                Table.of(
                    *title(group),
                    columns=[Column(name=heading(table, column, confidence), align=column.align) for column in kept],
                    rows=[[texts[column] for column in kept] for texts in table.texts()],
                )
            )
    return tables


def heading(table: FindingTable, column: FindingColumn, confidence: float) -> str:
    """The heading of a column, with the unit of its cells."""
    baselines = list(dict.fromkeys(row.finding.baseline for row in table.group.rows))
    name = column.name
    if column is finding_columns.BASELINE and len(baselines) == 1:
        name = baselines[0]
    if column is finding_columns.INTERVAL:
        name = f"{100 * confidence:g} % CI"
    unit = table.unit_in(column)
    return f"{name} ({unit})" if unit else name


def title(group: Group) -> tuple[str, str]:
    """The parts of a title: the workload; and the metric, constant levels and the better direction, such as `Goodput
    (higher is better)`."""
    at = words.levels(rows.constant(row.finding for row in group.rows))
    direction = words.better(group.metric)
    detail = (
        words.metric_label(group.metric)
        + (f", {at}" if at and len(group.rows) > 1 else "")
        + (f" ({direction})" if direction else "")
    )
    return words.workload_title(group.workload), detail


Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnOf(Generic[Item]):
    """A column with the text that each item has in it."""

    name: str
    align: Align
    text: Callable[[Item], str]


def words_column(name: str, text: Callable[[Item], str]) -> ColumnOf[Item]:
    """A column of words."""
    return ColumnOf(name=name, align="left", text=text)


def number_column(name: str, text: Callable[[Item], str]) -> ColumnOf[Item]:
    """A column of numbers."""
    return ColumnOf(name=name, align="right", text=text)


def table_in(title: str, columns: Sequence[ColumnOf[Item]], items: Iterable[Item]) -> Table:
    """A table with a row for each item."""
    return Table(
        title=title,
        columns=[Column(name=column.name, align=column.align) for column in columns],
        rows=[[column.text(item) for column in columns] for item in items],
    )


def claims_table(claims: list[ClaimResult]) -> Table:
    """A paper's claims and what became of them."""
    columns: list[ColumnOf[ClaimResult]] = [
        words_column("claim", lambda claim: claim.text),
        words_column("source", lambda claim: claim.source),
        words_column("verdict", lambda claim: claim.verdict),
        words_column("reason", lambda claim: claim.reason),
    ]
    return table_in("Claims of the paper", columns, claims)


def against_published(item: PublishedComparison) -> str:
    """Distance of our value from the paper's: in percent of it, or in percentage points where both are shares."""
    ours, base = words.finite(item.ours), words.finite(item.published)
    if ours is None or base is None:
        return words.MISSING
    if item.unit == "1":
        points = 100 * (ours - base)
        return f"{words.signed(points, words.percent_decimals(points))} pp"
    if base == 0:
        return words.MISSING
    change = words.as_percent(ours / base)
    return f"{words.signed(change, words.percent_decimals(change))} %"


PUBLISHED: ColumnOf[PublishedComparison] = ColumnOf(
    name="published", align="right", text=lambda item: words.quantity(item.published, item.unit)
)
OURS: ColumnOf[PublishedComparison] = ColumnOf(
    name="ours", align="right", text=lambda item: words.quantity(item.ours, item.unit)
)
OURS_BETWEEN: ColumnOf[PublishedComparison] = ColumnOf(
    name="interval", align="right", text=lambda item: _range(item.ours_low, item.ours_high, item.unit)
)
OURS_AGAINST: ColumnOf[PublishedComparison] = ColumnOf(name="ours vs published", align="right", text=against_published)
PUBLISHED_TITLE = "Published values beside ours"
_PUBLISHED_COLUMNS: tuple[ColumnOf[PublishedComparison], ...] = (
    ColumnOf(name="what", align="left", text=lambda item: item.what),
    PUBLISHED,
    OURS,
    OURS_BETWEEN,
    OURS_AGAINST,
    ColumnOf(name="source", align="left", text=lambda item: item.source),
    ColumnOf(name="note", align="left", text=lambda item: item.note),
)


def published_table(published: list[PublishedComparison], confidence: float) -> Table:
    """A paper's numbers beside ours."""
    columns = [
        Column(
            name=f"{100 * confidence:g} % CI" if column is OURS_BETWEEN else column.name,
            align=column.align,
        )
        for column in _PUBLISHED_COLUMNS
    ]
    names = [[column.text(item) for column in _PUBLISHED_COLUMNS] for item in published]
    return without_empty(Table(title=PUBLISHED_TITLE, columns=columns, rows=names))


def paper_table(table: ComparedTable, *, paired: bool = False) -> Table:
    """A paper's table in its own columns; beside each of them that compares, ours in the same unit.

    `paired`: ours in the row below the paper's instead, for pages that are not so wide.
    """
    decimals = [
        max((_decimals(row[index]) for row in table.rows), default=0) if column.is_compared else 0
        for index, column in enumerate(table.columns)
    ]
    headings = [f"{c.heading} ({c.unit})" if c.unit and c.unit not in c.heading else c.heading for c in table.columns]
    columns, names = [], []
    if paired:
        columns = [*left("of"), *right(*headings)]
    else:
        for heading, column in zip(headings, table.columns, strict=True):
            columns += [Column(name=heading, align="right")]
            columns += [Column(name="ours", align="right")] * column.is_compared
    for row, ours in zip(table.rows, table.ours, strict=True):
        theirs = [words.MISSING if cell is None else _printed(cell) for cell in row]
        number_cells = [
            (words.MISSING if cell is None else f"{cell:.{places}f}".replace("-", words.MINUS))
            if column.is_compared
            else ""
            for cell, places, column in zip(ours, decimals, table.columns, strict=True)
        ]
        if paired:
            names += [["paper", *theirs], ["ours", *number_cells]]
            continue
        cells = []
        for index, column in enumerate(table.columns):
            cells += [theirs[index], number_cells[index]] if column.is_compared else [theirs[index]]
        names.append(cells)
    return Table.of(table.name, table.title, columns, names)


def _printed(value: float) -> str:
    return f"{value:.10g}".replace("-", words.MINUS)


def _decimals(value: float | None) -> int:
    """Number of decimals with which a paper's number is printed."""
    return 0 if value is None else max(0, -int(Decimal(f"{value:.10g}").as_tuple().exponent))


def reasons_table(trials: Trials) -> Table:
    """Invalid and failed trials by reason."""
    columns: list[ColumnOf[CountedReason]] = [
        words_column("status", lambda reason: reason.status),
        number_column("trials", lambda reason: str(reason.count)),
        words_column("paths", lambda reason: ", ".join(reason.paths)),
        words_column("reason", lambda reason: reason.text),
    ]
    return table_in("Trials that do not count", columns, trials.reasons)


def _range(low: float | None, high: float | None, unit: str) -> str:
    low, high = words.finite(low), words.finite(high)
    if low is None or high is None:
        return words.MISSING
    divisor, name = words.common_scale([low, high], unit)
    return f"{words.number(low / divisor)} to {words.number(high / divisor)} {name}"


REMARK = "remark"
_BETWEEN = 2
"""Spaces between the columns of a table in a terminal."""


def with_notes(table: Table, width: int) -> tuple[Table, list[str]]:
    """The table with numbers in the place of its remarks, and these by number; as it is if it has none, or if it fits
    into so many characters without one cell on two lines."""
    at = next((index for index, column in enumerate(table.columns) if column.name == REMARK), None)
    lines = [[column.name for column in table.columns], *table.rows]
    wide = sum(max(len(line[index]) for line in lines) + _BETWEEN for index in range(len(table.columns))) - _BETWEEN
    if at is None or wide <= width:
        return table, []
    numbers = {
        text: str(number) for number, text in enumerate(dict.fromkeys(row[at] for row in table.rows if row[at]), 1)
    }
    columns = [
        Column(name="note", align="right") if index == at else column for index, column in enumerate(table.columns)
    ]
    rows = [[numbers.get(cell, "") if index == at else cell for index, cell in enumerate(row)] for row in table.rows]
    return replace(table, columns=columns, rows=rows), [f"{number}: {text}" for text, number in numbers.items()]


def table_of(title: str, columns: Sequence[ColumnOf[Item]], items: Sequence[Item]) -> Table | None:
    """A table with a row for each item, without columns that say nothing; None where there is no item."""
    return without_empty(table_in(title, columns, items)) if items else None


def without_empty(table: Table) -> Table:
    """The table without columns that say nothing in any row."""
    kept = [
        index for index in range(len(table.columns)) if any(row[index] not in ("", words.MISSING) for row in table.rows)
    ]
    return replace(
        table,
        columns=[table.columns[index] for index in kept],
        rows=[[row[index] for index in kept] for row in table.rows],
    )
