"""A paper's tables in its own columns, with our values in the same places."""

from __future__ import annotations

from dataclasses import replace

from ..model.finding import ComparedColumn, ComparedTable
from ..model.paper import OurMeasurement, Paper, PublishedTable, TableColumn, TableRow, own_unit, unit_factor
from .claim_results import Results
from .published_values import measured, share_of


def compare_tables(paper: Paper, results: Results) -> list[ComparedTable]:
    """The tables that are given in columns and rows, in order."""
    return [_compare(table, results) for table in paper.tables if table.columns]


def _compare(table: PublishedTable, results: Results) -> ComparedTable:
    return ComparedTable(
        name=table.name,
        title=table.title,
        note=table.note,
        columns=[
            ComparedColumn(
                heading=column.heading,
                unit=column.unit,
                role="level" if column.level is not None else "repetition" if column.is_block else "result",
                is_compared=column.ours is not None,
            )
            for column in table.columns
        ],
        rows=[list(row.cells) for row in table.rows],
        ours=[[_ours(column, row, results) for column in table.columns] for row in table.rows],
    )


def _ours(column: TableColumn, row: TableRow, results: Results) -> float | None:
    """Our value in the column's unit: the mean over blocks, or one block's value where the rows are repetitions."""
    if column.ours is None:
        return None
    selector = column.ours.selector
    levels = {name: (value,) for name, value in row.levels.items()}
    ours = replace(column.ours, selector=replace(selector, levels={**levels, **selector.levels}))
    value = measured(ours, results)[0][0] if row.block is None else _in_block(ours, row.block, results)
    factor = unit_factor(column.unit, own_unit(ours))
    return None if value is None or factor is None else value / factor


def _in_block(ours: OurMeasurement, block: int, results: Results) -> float | None:
    """The value of the one trial that is meant; None where there is no such trial, or more than one."""
    metric = ours.selector.metric
    values = [
        values[block]
        for combination in results.combinations(ours.selector)
        for path in ours.selector.paths
        if block in (values := results.by_block(combination, path, metric))
    ]
    return values[0] * share_of(ours, results) if len(values) == 1 and ours.formula == "value" else None
