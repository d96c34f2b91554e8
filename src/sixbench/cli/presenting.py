"""The end of a run: its findings, its report, and what is printed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..plan.loading import load_paper
from .colours import has_colour
from .common import say_coloured, say_document

if TYPE_CHECKING:
    from ..model.finding import Analysis
    from ..model.observer import Observer
    from ..store import Run


def present(directory: Path, json: bool, observer: Observer | None = None) -> None:
    """Analyses a run, writes what is derived from it into its directory, and prints the findings."""
    from ..analysis import analyse
    from ..report import FORMATS
    from ..store import read_run, write_derived

    finished = read_run(directory)
    analysis = analyse(finished, load_paper(finished.manifest.paper))
    as_json = FORMATS["json"].render(finished, analysis)
    as_html = FORMATS["html"].render(finished, analysis)
    written = write_derived(finished, {"report.html": as_html, "findings.json": as_json})
    if observer is not None:
        observer.report_written(str(written["report.html"]))
    if json:
        say_document(as_json)
    else:
        say_coloured(terminal_report(finished, analysis, written["report.html"]))


def terminal_report(run: Run, analysis: Analysis, report_path: Path | None = None) -> str:
    """The report for standard output: as wide as the terminal and in the colours that it may have, or 80 columns of
    plain text where there is no terminal."""
    import shutil

    from ..report import terminal

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
    return terminal.render(
        run,
        analysis,
        width=max(60, min(width, 160)),
        colour=has_colour(sys.stdout),
        report_path=None if report_path is None else str(report_path),
        ascii_only=_has_ascii_only(sys.stdout.encoding),
    )


def _has_ascii_only(encoding: str | None) -> bool:
    """True if a terminal of this encoding lacks the characters that bars are drawn with."""
    from ..report import bars

    try:
        "".join(vars(bars.BLOCKS).values()).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False
