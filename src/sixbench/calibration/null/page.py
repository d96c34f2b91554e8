"""The result as a page, and as text for a terminal."""

from __future__ import annotations

import textwrap

from ...report import facts, page
from ...report.aligned import aligned
from ...store import Run
from . import table
from .figure import drawing
from .judge import NullResult

TITLE = "False alarms and power"
_LEAD = (
    "Paths that are the same were compared over and over, and paths of which one has a slower link: how many "
    "differences are false, and how many are found?"
)

_TEXT_WIDTH = 100
"""About that of the tables."""


def section(result: NullResult) -> page.Section:
    """What was found."""
    return page.Section(
        title=TITLE,
        sentences=table.sentences(result),
        warnings=table.warnings(result),
        tables=table.tables(result),
        drawing=drawing(result),
    )


def html(result: NullResult, run: Run) -> str:
    """A page of its own.

    Args:
        run: any of the comparisons, for what it says of the machine.
    """
    return page.render(TITLE, _LEAD, facts.environment_facts(run), [section(result)])


def text(result: NullResult) -> str:
    """Sentences and tables."""
    said = [*table.sentences(result), *(f"! {warning}" for warning in table.warnings(result))]
    parts = [textwrap.fill(sentence, _TEXT_WIDTH) for sentence in said]
    for made in table.tables(result):
        heads = [column.name for column in made.columns]
        parts.append(f"\n{made.title}\n{aligned([heads, *made.rows], 2)}")
    return "\n".join(parts) + "\n"
