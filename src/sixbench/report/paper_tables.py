"""One table of the paper that an experiment reproduces, with ours beside it: for a paper, a wiki or a spreadsheet."""

from __future__ import annotations

from ..model.finding import ComparedTable
from ..store import Run
from . import csv, latex, markdown
from .figures.drawing import slug
from .formats import FORMATS
from .tables import paper_table


def render(run: Run, table: ComparedTable, form: str) -> str:
    """The table as text, as it stands in the report. CSV has it in numbers, without the words that a report has for
    them.

    Args:
        form: `latex`, `md` or `csv`.
    """
    if form == FORMATS["csv"].name:
        return csv.render_paper_table(table)
    paired = paper_table(table, paired=True)
    return latex.render_table(run, paired) if form == FORMATS["latex"].name else markdown.render_table(paired)


def suffix(table: ComparedTable, form: str) -> str:
    """The end of a file's name, after that of the run: `-table-1.csv`."""
    return f"-{slug(table.name)}{FORMATS[form].suffix}"
