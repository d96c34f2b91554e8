"""Comparisons over a factor as tables: a row for each level, then the mean of all and the level to come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..model.change_words import PrintedChange
from ..model.comparison_group import ComparisonGroup, Outcome
from ..model.finding import Analysis, Finding
from . import finding_columns, group_words, rows, tables, words
from .finding_columns import BASELINE, CHANGE, INTERVAL, INVALID, NOISE, PAIRS, VALUE, VERDICT, FindingColumn
from .tables import Table
from .typed_cells import NOTHING, NumberCell, WordsCell

_COLUMNS = (VALUE, BASELINE, CHANGE, INTERVAL, VERDICT, PAIRS, NOISE, INVALID)
_NARROW = (CHANGE, INTERVAL, VERDICT, PAIRS)


def group_tables(analysis: Analysis, confidence: float, *, is_narrow: bool = False) -> list[Table]:
    """A table for each group, with its sentences as a note. A narrow one has changes alone."""
    findings = group_words.by_place(analysis.findings)
    return [
        _table(group, group_words.findings_of(group, findings), confidence, is_narrow=is_narrow)
        for group in analysis.groups
    ]


_FIRST: tuple[Outcome, ...] = ("higher", "lower", "mixed", "undecided", "not compared", "within")
"""The outcomes of which a short table tells, the most important first."""


def first_rows(group: ComparisonGroup, table: Table, most: int) -> list[list[str]]:
    """At most so many rows of members of its table, in their order, and all rows behind them."""
    places = sorted(range(len(group.members)), key=lambda place: _FIRST.index(group.members[place].outcome))
    kept = sorted(places[:most])
    return [*(table.rows[place] for place in kept), *table.rows[len(group.members) :]]


def title(group: ComparisonGroup) -> str:
    """The metric, the paths and the levels, without the workload."""
    others = words.levels(group.levels)
    text = f"{words.metric_label(group.metric)}, {group.path} against {group.baseline}, {group_words.size(group)}"
    return f"{text}, {others}" if others else text


def _table(group: ComparisonGroup, findings: Sequence[Finding], confidence: float, *, is_narrow: bool) -> Table:
    level = _level_column(group)
    columns = [level, *_NARROW] if is_narrow else [level, *_COLUMNS, _weight_column(group)]
    [of_metric] = rows.grouped(findings)
    table = finding_columns.FindingTable.of(of_metric, columns)
    kept = finding_columns.filled_columns([table])
    heads = [tables.Column(name=tables.heading(table, column, confidence), align=column.align) for column in kept]
    texts = [[cells[column] for column in kept] for cells in table.texts()]
    texts += [[cells.get(column, "") for column in kept] for cells in _last_rows(group, level, table.change_unit)]
    named = Table.of(words.workload_title(group.workload), title(group), heads, texts)
    return replace(named, note=group_words.sentences(group, confidence))


def _level_column(group: ComparisonGroup) -> FindingColumn:
    return FindingColumn(
        name=words.factor(group.factor),
        align="left",
        cell=lambda row: WordsCell(text=words.level(group.factor, row.finding.levels.get(group.factor))),
    )


def _weight_column(group: ComparisonGroup) -> FindingColumn:
    weights = {member.combination: member.weight for member in group.members}

    def cell(row: rows.FindingRow) -> NumberCell | WordsCell:
        weight = weights.get(row.finding.combination)
        return NOTHING if weight is None else NumberCell(value=100 * weight, decimals=1, unit="%")

    return FindingColumn(name="weight", align="right", cell=cell)


def _last_rows(group: ComparisonGroup, level: FindingColumn, unit: str) -> list[dict[FindingColumn, str]]:
    """The mean, and the interval at one more level, in the columns of the findings."""
    mean, predicted = group_words.mean_change(group), group_words.predicted_change(group)
    if group.pooled is None or mean is None:
        return []
    noun, many = group_words.nouns(group)
    result = [
        {
            level: f"mean of {group.pooled.groups} {many}",
            CHANGE: _change_text(mean, unit),
            INTERVAL: mean.interval,
            VERDICT: group_words.mean_word(group),
        }
    ]
    if predicted is not None:
        result.append({level: f"one more {noun}", INTERVAL: predicted.interval})
    return result


def _change_text(change: PrintedChange, unit: str) -> str:
    cell = NumberCell(value=change.change, decimals=change.decimals, unit=change.unit, sign="both")
    return cell.within(unit)
