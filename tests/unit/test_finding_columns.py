"""Columns of findings: declared once, the same in every format, and cells that know what they hold."""

from __future__ import annotations

import pytest
import synthetic
from synthetic_analysis import plain_analysis

from sixbench.report import finding_columns, rows
from sixbench.report.finding_columns import CHANGE, NOISE, TABLE, THEORY, VALUE, FindingColumn, FindingTable
from sixbench.report.formats import FORMATS
from sixbench.report.typed_cells import IntervalCell, NumberCell, WordsCell

pytestmark = pytest.mark.computes


@pytest.mark.parametrize("form", ["terminal", "md"])
def test_a_column_more_is_one_declaration(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    column = FindingColumn(name="looked", align="left", cell=lambda row: WordsCell(text=f"at_{row.finding.path}"))
    monkeypatch.setattr(finding_columns, "TABLE", (*TABLE, column))
    run = synthetic.small().in_memory()
    text = FORMATS[form].render(run, plain_analysis(run))
    text = text.replace("\\_", "_")
    assert "looked" in text
    assert "at_ipv6" in text


def test_a_unit_is_in_the_heading_or_in_every_cell() -> None:
    run = synthetic.standard().in_memory()
    for group in rows.grouped(plain_analysis(run).findings):
        table = FindingTable.of(group, TABLE)
        for column in (VALUE, CHANGE, NOISE, THEORY):
            unit = table.unit_in(column)
            for row, texts in zip(table.rows, table.texts(), strict=True):
                cell = row[column]
                if isinstance(cell, NumberCell):
                    assert texts[column].endswith(f" {cell.unit}") == (cell.unit != unit)


def test_an_interval_is_written_as_a_format_needs_it() -> None:
    cell = IntervalCell(low=-1.449, high=0.0, decimals=2)
    assert (cell.text, cell.in_brackets, cell.within("%")) == ("−1.45 to 0.00", "[−1.45, 0.00]", "−1.45 to 0.00")


def test_a_number_repeats_no_unit_of_its_column() -> None:
    cell = NumberCell(value=0.04, decimals=2, unit="%", sign="none", prefix="±")
    assert (cell.text, cell.within("%"), cell.within("pp")) == ("±0.04 %", "±0.04", "±0.04 %")
    assert WordsCell(text="too variable").within("%") == "too variable"
