"""The report as LaTeX or Markdown, for a paper, or as CSV, for a spreadsheet, as `sixbench report` writes it. Also each
table of a reproduced paper, with the values of the run beside those of the paper."""

from __future__ import annotations

from typing import Any

from ..analysis import analyse
from ..model.errors import UsageError
from ..model.quoting import listed, printable
from ..plan.loading import load_paper
from ..report import FORMATS
from ..report.listed_runs import state_of
from ..store import Run
from .compare import BEFORE_THE_END

FORMS = ("latex", "md", "csv")


def titles(run: Run) -> dict[str, Any]:
    """The tables of the paper, by name and title. Raises as `text` does."""
    _refuse_before_the_end(run)
    paper = load_paper(run.manifest.paper)
    tables = () if paper is None else paper.tables
    return {"tables": [{"name": table.name, "title": table.title} for table in tables if table.columns]}


def text(run: Run, form: str, name: str | None = None) -> dict[str, Any]:
    """The report in one of `FORMS`; with `name` only that table of the paper. Raises `UsageError` where there is no
    such form or table, or where the run is not at its planned end, because it has no verdicts before."""
    if form not in FORMS:
        raise UsageError(f"there is no such form of tables; there are {listed(FORMS)}")
    _refuse_before_the_end(run)
    analysis = analyse(run, load_paper(run.manifest.paper))
    if name is None:
        return {"text": FORMATS[form].render(run, analysis), "suffix": FORMATS[form].suffix}
    table = next((table for table in analysis.tables if table.name == name), None)
    if table is None:
        available = listed([table.name for table in analysis.tables]) if analysis.tables else "none"
        raise UsageError(f"the paper has no table {printable(name)}; its tables here: {available}")
    from ..report import paper_tables  # imports matplotlib, which takes long

    return {"text": paper_tables.render(run, table, form), "suffix": paper_tables.suffix(table, form)}


def _refuse_before_the_end(run: Run) -> None:
    if state_of(run) in BEFORE_THE_END:
        raise UsageError("the run is not at its planned end, so there are no results to copy yet")
