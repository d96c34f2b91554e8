"""`sixbench report`."""

from __future__ import annotations

from pathlib import Path

import typer

from .common import load_paper, note
from .presenting import terminal_report


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("report")(report)


def report(
    directory: Path = typer.Argument(help="A run directory."),
    format: str = typer.Option("terminal", "--format", "-f", help="terminal, html, md, latex, csv or json."),
    out: Path | None = typer.Option(None, "--out", "-o", metavar="FILE", help="Write there instead of printing."),
    figures: Path | None = typer.Option(
        None, "--figures", metavar="DIR", help="Write every figure there as SVG, PDF and PNG."
    ),
    json: bool = typer.Option(False, "--json", help="The same as --format json."),
) -> None:
    """Print or write the report of a run; needs no root and no network."""
    from ..analysis import analyse
    from ..model.errors import UsageError
    from ..report import FORMATS, write_figures
    from ..store import read_run
    from ..store.atomic import write_file

    name = "json" if json else format
    if name not in FORMATS:
        raise UsageError(f"--format {name}: there are {', '.join(FORMATS)}")
    run = read_run(directory)
    analysis = analyse(run, load_paper(run.manifest.paper))
    text = terminal_report(run, analysis) if name == "terminal" and out is None else FORMATS[name].render(run, analysis)
    if out is None:
        typer.echo(text, nl=not text.endswith("\n"))
    else:
        write_file(out, text)
        note(f"written: {out}")
    if figures is not None:
        for path in write_figures(run, analysis, figures):
            note(f"written: {path}")
