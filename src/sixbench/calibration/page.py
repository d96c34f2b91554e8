"""A calibration as a page: a section for each quantity, with its figure and its tables."""

from __future__ import annotations

from collections.abc import Sequence

from ..report import facts, page
from ..store import Run
from . import table
from .figure import drawing
from .metrics import BY_NAME
from .results import OverPath

TITLE = "Calibration"
_LEAD = (
    "Links whose truth is known were measured with the ordinary workloads, over both families and a tunnel: how "
    "far may this machine's numbers be trusted?"
)


def sections(found: Sequence[OverPath]) -> list[page.Section]:
    """One for each quantity."""
    return [
        page.Section(
            title=BY_NAME[name].label,
            sentences=[f"{BY_NAME[name].workload}; {BY_NAME[name].note}."],
            warnings=table.remarks(paths),
            tables=[table.summary_table(name, paths), table.truths_table(name, paths)],
            drawing=drawing(BY_NAME[name], paths),
        )
        for name, paths in table.by_metric(found).items()
    ]


def html(found: Sequence[OverPath], run: Run) -> str:
    """The page."""
    return page.render(TITLE, _LEAD, [*facts.run_facts(run), *facts.environment_facts(run)], sections(found))
