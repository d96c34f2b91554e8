"""Tables that are the same in the terminal, Markdown and LaTeX: columns and cells, without any markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..model.aligned import Align
from ..model.finding import ClaimResult, ComparedTable, Finding, PublishedComparison
from . import rows, words
from .agreeing import value_texts
from .rows import Group
from .validity import Trials

_WIDE = 1000
"""Values whose largest is so many times the smallest do not share a unit."""


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
    """A table of texts; every row has a cell a column."""

    title: str
    columns: list[Column]
    rows: list[list[str]]


@dataclass(frozen=True, kw_only=True)
class Cells:
    """The findings of one metric of one workload without units in the cells.

    Attributes:
        unit: of values; empty where each cell carries its own.
        change_unit: of change, interval, noise and theory.
        level_columns: columns of the levels that vary within the workload.
    """

    group: Group
    unit: str
    change_unit: str
    level_columns: list[str]
    rows: list[list[str]]


HEADINGS = ("value", "baseline", "change", "interval", "verdict", "n", "A/A", "theory", "invalid")


def cells(group: Group, level_columns: list[str]) -> Cells:
    """Cells: the levels, the path, and what `HEADINGS` names, in that order."""
    findings = [row.finding for row in group.rows]
    unit, values = _values(findings)
    change_unit = _change_unit(group)
    names = []
    for index, row in enumerate(group.rows):
        finding = row.finding
        names.append(
            [
                *(words.level(column, finding.levels.get(column)) for column in level_columns),
                finding.path,
                *values[index],
                _without(row.change, change_unit),
                row.interval,
                row.verdict,
                str(finding.n),
                _without(row.noise, change_unit),
                _without(row.theory, change_unit),
                str(finding.invalid) if finding.invalid else "",
            ]
        )
    return Cells(group=group, unit=unit, change_unit=change_unit, level_columns=level_columns, rows=names)


def finding_tables(findings: Iterable[Finding], confidence: float) -> list[Table]:
    """One table a workload and metric; columns that would be empty are left out."""
    tables = []
    for of_workload in rows.by_workload(findings).values():
        level_columns = rows.varying(of_workload)
        for group in rows.grouped(of_workload):
            result = cells(group, level_columns)
            baselines = list(dict.fromkeys(row.finding.baseline for row in group.rows))
            unit = f" ({result.unit})" if result.unit else ""
            change_unit = f" ({result.change_unit})" if result.change_unit else ""
            columns = [
                *right(*(words.factor(column) for column in level_columns)),
                *left("path"),
                *right(
                    f"value{unit}",
                    f"{baselines[0] if len(baselines) == 1 else 'baseline'}{unit}",
                    f"change{change_unit}",
                    f"{100 * confidence:g} % CI",
                ),
                *left("verdict"),
                *right("n", f"A/A{change_unit}", f"theory{change_unit}", "invalid"),
            ]
            tables.append(without_empty(Table(title=title(group), columns=columns, rows=result.rows)))
    return tables


def title(group: Group) -> str:
    """Workload, metric, constant levels and the better direction: `TCP bulk transfer: Goodput (higher is better)`."""
    at = words.levels(rows.constant(row.finding for row in group.rows))
    direction = words.better(group.metric)
    return (
        f"{words.workload_title(group.workload)}: {words.metric_label(group.metric)}"
        + (f", {at}" if at and len(group.rows) > 1 else "")
        + (f" ({direction})" if direction else "")
    )


def claims_table(claims: list[ClaimResult]) -> Table:
    """A paper's claims and what became of them."""
    return Table(
        title="Claims of the paper",
        columns=[Column(name=name) for name in ("claim", "source", "verdict", "reason")],
        rows=[[claim.text, claim.source, claim.verdict, claim.reason] for claim in claims],
    )


def published_table(published: list[PublishedComparison], confidence: float) -> Table:
    """A paper's numbers beside ours."""
    names = [
        [
            item.what,
            words.quantity(item.published, item.unit),
            words.quantity(item.ours, item.unit),
            _range(item.ours_low, item.ours_high, item.unit),
            against_published(item),
            item.source,
            item.note,
        ]
        for item in published
    ]
    columns = [
        *left("what"),
        *right("published", "ours", f"{100 * confidence:g} % CI", "ours vs published"),
        *left("source", "note"),
    ]
    return without_empty(Table(title="Published values beside ours", columns=columns, rows=names))


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
        own = [
            (words.MISSING if cell is None else f"{cell:.{places}f}".replace("-", words.MINUS))
            if column.is_compared
            else ""
            for cell, places, column in zip(ours, decimals, table.columns, strict=True)
        ]
        if paired:
            names += [["paper", *theirs], ["ours", *own]]
            continue
        cells = []
        for index, column in enumerate(table.columns):
            cells += [theirs[index], own[index]] if column.is_compared else [theirs[index]]
        names.append(cells)
    return Table(title=f"{table.name}: {table.title}", columns=columns, rows=names)


def _printed(value: float) -> str:
    return f"{value:.10g}".replace("-", words.MINUS)


def _decimals(value: float | None) -> int:
    return 0 if value is None else len(_printed(value).partition(".")[2])


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


def reasons_table(trials: Trials) -> Table:
    """Invalid and failed trials by reason."""
    return Table(
        title="Trials that do not count",
        columns=[*left("status"), *right("trials"), *left("paths", "reason")],
        rows=[[reason.status, str(reason.count), ", ".join(reason.paths), reason.text] for reason in trials.reasons],
    )


def _values(findings: Sequence[Finding]) -> tuple[str, list[tuple[str, str]]]:
    """The unit of all values, and those of each finding in it; an empty unit where each value has its own."""
    values = [known for finding in findings for value in finding.values if (known := words.finite(value)) is not None]
    sizes, unit = list(map(abs, values)), findings[0].unit
    if not sizes:
        return "", [(words.MISSING, words.MISSING)] * len(findings)
    if unit != "1" and max(sizes) > _WIDE * min(sizes):
        return "", [value_texts(finding) for finding in findings]
    divisor, name = words.common_scale(values, unit)
    return name, [value_texts(finding, divisor) for finding in findings]


def _change_unit(group: Group) -> str:
    units = {row.change.split()[-1] for row in group.rows if row.change != words.MISSING}
    return units.pop() if len(units) == 1 else ""


def _without(text: str, unit: str) -> str:
    return text.removesuffix(f" {unit}") if unit else text


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
    return Table(title=table.title, columns=columns, rows=rows), [
        f"{number}: {text}" for text, number in numbers.items()
    ]


def table_of(title: str, columns: list[Column], rows: list[list[str]]) -> Table | None:
    """A table without columns that say nothing; None where it has no rows."""
    return without_empty(Table(title=title, columns=columns, rows=rows)) if rows else None


def without_empty(table: Table) -> Table:
    """The table without columns that say nothing in any row."""
    kept = [
        index for index in range(len(table.columns)) if any(row[index] not in ("", words.MISSING) for row in table.rows)
    ]
    return Table(
        title=table.title,
        columns=[table.columns[index] for index in kept],
        rows=[[row[index] for index in kept] for row in table.rows],
    )
