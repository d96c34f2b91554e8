"""The report as LaTeX or Markdown, for a paper, or as CSV, for a spreadsheet: what `sixbench report` writes. Of an
experiment that reproduces a paper, each of the paper's tables by itself, with ours beside it, as well."""

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
    """The paper's tables by name and title. Raises as `text` does."""
    _refuse_before_the_end(run)
    paper = load_paper(run.manifest.paper)
    tables = () if paper is None else paper.tables
    return {"tables": [{"name": one.name, "title": one.title} for one in tables if one.columns]}


def text(run: Run, form: str, name: str | None = None) -> dict[str, Any]:
    """The report in one of `FORMS`; with `name` that table of the paper alone. Raises `UsageError` where there is no
    such form or table, or where the run is not at its planned end: it has no verdicts yet."""
    if form not in FORMS:
        raise UsageError(f"there are {listed(FORMS)}")
    _refuse_before_the_end(run)
    analysis = analyse(run, load_paper(run.manifest.paper))
    if name is None:
        return {"text": FORMATS[form].render(run, analysis), "suffix": FORMATS[form].suffix}
    found = next((one for one in analysis.tables if one.name == name), None)
    if found is None:
        has = listed([one.name for one in analysis.tables]) if analysis.tables else "none"
        raise UsageError(f"the paper has no {printable(name)}; of its tables there are {has}")
    from ..report import paper_tables  # matplotlib, which takes long, comes with it

    return {"text": paper_tables.render(run, found, form), "suffix": paper_tables.suffix(found, form)}


def _refuse_before_the_end(run: Run) -> None:
    if state_of(run) in BEFORE_THE_END:
        raise UsageError("the run is not at its planned end, so there are no results to copy yet")
