"""The report as LaTeX or Markdown, for a paper, or as CSV, for a spreadsheet: what `sixbench report` writes."""

from __future__ import annotations

from typing import Any

from ..analysis import analyse
from ..model.errors import UsageError
from ..model.quoting import listed
from ..plan.loading import load_paper
from ..report import FORMATS
from ..report.listed_runs import state_of
from ..store import Run
from .compare import BEFORE_THE_END

FORMS = ("latex", "md", "csv")


def text(run: Run, form: str) -> dict[str, Any]:
    """The report in one of `FORMS`. Raises `UsageError` where there is no such form, or where the run is not at its
    planned end: it has no verdicts yet."""
    if form not in FORMS:
        raise UsageError(f"there are {listed(FORMS)}")
    if state_of(run) in BEFORE_THE_END:
        raise UsageError("the run is not at its planned end, so there are no results to copy yet")
    rendered = FORMATS[form].render(run, analyse(run, load_paper(run.manifest.paper)))
    return {"text": rendered, "suffix": FORMATS[form].suffix}
