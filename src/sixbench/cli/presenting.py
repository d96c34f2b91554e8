"""The end of a run: findings, report, what is printed of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .common import load_paper

if TYPE_CHECKING:
    from ..model.finding import Analysis
    from ..store import Run


def present(directory: Path, json: bool) -> None:
    """Analyses a run, writes what is derived from it into its directory, and prints the findings."""
    from ..analysis import analyse
    from ..report import FORMATS
    from ..store import read_run, write_derived

    finished = read_run(directory)
    analysis = analyse(finished, load_paper(finished.manifest.paper))
    as_json = FORMATS["json"].render(finished, analysis)
    as_html = FORMATS["html"].render(finished, analysis)
    written = write_derived(finished, {"report.html": as_html, "findings.json": as_json})
    if json:
        typer.echo(as_json, nl=not as_json.endswith("\n"))
    else:
        typer.echo(terminal_report(finished, analysis, written["report.html"]), nl=False)


def terminal_report(run: Run, analysis: Analysis, report_path: Path | None = None) -> str:
    """The report for a terminal: as wide as it is and in colour where there is one, else 80 columns of plain text."""
    import shutil

    from ..report import terminal

    colour = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if colour else 80
    return terminal.render(
        run,
        analysis,
        width=max(60, min(width, 160)),
        colour=colour,
        report_path=None if report_path is None else str(report_path),
    )
