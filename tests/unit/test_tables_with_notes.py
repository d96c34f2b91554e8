"""Tables that are too wide for a terminal have their remarks below them, and lose no digit."""

from __future__ import annotations

import pytest

from sixbench.report import tables
from sixbench.report.tables import Column, Table

pytestmark = pytest.mark.computes

COLUMNS = [Column(name="path"), Column(name="rate", align="right"), Column(name="remark")]
ROWS = [["ipv4", "10", "as fast as the tester"], ["ipv6", "20", ""], ["nat64", "30", "as fast as the tester"]]


def test_a_table_that_fits_is_as_it_was() -> None:
    table = Table(title="t", columns=COLUMNS, rows=ROWS)
    assert tables.with_notes(table, 5 + 2 + 4 + 2 + 21) == (table, [])


def test_equal_remarks_of_a_table_that_does_not_fit_are_one_note() -> None:
    table, notes = tables.with_notes(Table(title="t", columns=COLUMNS, rows=ROWS), 33)
    assert [column.name for column in table.columns] == ["path", "rate", "note"]
    assert [row[2] for row in table.rows] == ["1", "", "1"]
    assert notes == ["1: as fast as the tester"]


def test_a_table_without_remarks_has_no_notes() -> None:
    table = Table(title="t", columns=COLUMNS[:2], rows=[row[:2] for row in ROWS])
    assert tables.with_notes(table, 5) == (table, [])
