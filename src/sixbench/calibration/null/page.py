"""The result as a page, and as text for a terminal."""

from __future__ import annotations

import textwrap

from ...model.aligned import aligned
from ...report import page, run_description
from ...store import Run
from . import table
from .figure import drawing
from .judge import NullResult

TITLE = "False alarms and power"
_LEAD = (
    "sixbench compared paths that are the same many times, and paths of which one has a slower link. This page shows "
    "the numbers of false differences declared and of real ones found."
)

_TEXT_WIDTH = 100
"""About the width of the tables."""


def section(result: NullResult) -> page.PageSection:
    """The section of the result."""
    return page.PageSection(
        title=TITLE,
        sentences=table.sentences(result),
        warnings=table.warnings(result),
        tables=table.tables(result),
        drawing=drawing(result),
    )


def html(result: NullResult, run: Run) -> str:
    """The result as a page of its own.

    Args:
        run: any of the comparisons, for what the machine is.
    """
    return page.render(TITLE, _LEAD, run_description.environment_properties(run), [section(result)])


def text(result: NullResult) -> str:
    """The result as sentences and tables."""
    names = [*table.sentences(result), *(f"! {warning}" for warning in table.warnings(result))]
    parts = [textwrap.fill(sentence, _TEXT_WIDTH) for sentence in names]
    for table_ in table.tables(result):
        heads = [column.name for column in table_.columns]
        parts.append(f"\n{table_.title}\n{aligned([heads, *table_.rows], [column.align for column in table_.columns])}")
    return "\n".join(parts) + "\n"
