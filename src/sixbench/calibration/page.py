"""A calibration as a page: a section for each quantity, with its figure and its tables."""

from __future__ import annotations

from collections.abc import Sequence

from ..report import page, run_description
from ..store import Run
from . import table
from .figure import drawing
from .metrics import BY_NAME
from .results import OverPath

TITLE = "Calibration"
_LEAD = (
    "sixbench measured links whose properties are known, with its ordinary workloads, over both families and a tunnel. "
    "This page shows how accurate the numbers of this machine are."
)


def sections(over_paths: Sequence[OverPath]) -> list[page.PageSection]:
    """One section for each quantity."""
    return [
        page.PageSection(
            title=BY_NAME[name].label,
            sentences=[f"Measured with {BY_NAME[name].workload}. {BY_NAME[name].note}."],
            warnings=table.remarks(paths),
            tables=[table.summary_table(name, paths), table.truths_table(name, paths)],
            drawing=drawing(BY_NAME[name], paths),
        )
        for name, paths in table.by_metric(over_paths).items()
    ]


def html(over_paths: Sequence[OverPath], run: Run) -> str:
    """The page."""
    return page.render(
        TITLE,
        _LEAD,
        [*run_description.run_properties(run), *run_description.environment_properties(run)],
        sections(over_paths),
    )
