"""`sixbench report`."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from ..plan.loading import load_paper
from . import completions
from .common import note, say_coloured, say_document, tell_problems
from .presenting import terminal_report

LEAST_WIDTH_IN, MOST_WIDTH_IN = 2.5, 20.0
"""Narrower figures have no room for their axes beside text of 8 points."""


def report(
    directory: Path = typer.Argument(help="A run directory.", autocompletion=completions.run_directories),
    format: str = typer.Option(
        "terminal", "--format", "-f", help="terminal, html, md, latex, csv or json.", autocompletion=completions.formats
    ),
    out: Path | None = typer.Option(
        None, "--out", "-o", metavar="FILE", help="Write to this file instead of printing."
    ),
    figures: Path | None = typer.Option(
        None, "--figures", metavar="DIR", help="Write every figure into this folder, as SVG, PDF and PNG."
    ),
    width: str | None = typer.Option(
        None,
        "--width",
        metavar="LENGTH",
        help="Width of a column of your paper, such as 3.33in, 84mm or 241pt: figures have text of 8 points at it.",
    ),
    workload: list[str] = typer.Option(
        [], "--workload", metavar="NAME", help="Only the results of this workload; may be repeated."
    ),
    metric: list[str] = typer.Option(
        [], "--metric", metavar="NAME", help="Only the results of this metric, such as goodput; may be repeated."
    ),
    json: bool = typer.Option(False, "--json", help="The same as --format json."),
) -> int:
    """Print or write the report of a run.

    It needs no root, no network and no Linux. With --workload or --metric, LaTeX has their tables and figures alone.
    """
    from ..analysis import analyse
    from ..model.errors import UsageError
    from ..model.quoting import visible
    from ..report import FORMATS, Selection, find_format, latex_for_paper, write_figures
    from ..store import read_run
    from ..store.atomic import make_parent, write_file

    chosen = find_format("json" if json else format)
    if chosen is None:
        raise UsageError(f"--format {visible(format)}: there are {', '.join(FORMATS)}")
    width_in = _width(width, figures, chosen.name)
    run = read_run(directory)
    analysis = analyse(run, load_paper(run.manifest.paper))
    selection = Selection(workloads=tuple(workload), metrics=tuple(metric))
    if selection:
        analysis = selection.of(analysis)
    if chosen.name == "latex":
        folder = None if figures is None else _seen_from(out, figures)
        text = latex_for_paper(run, analysis, figures=folder, width_in=width_in, only_results=bool(selection))
    elif chosen.name == "terminal" and out is None:
        text = terminal_report(run, analysis)
    else:
        text = chosen.render(run, analysis)
    if out is None:
        say_coloured(text) if chosen.name == "terminal" else say_document(text)
    else:
        make_parent(out)
        write_file(out, text)
        note(f"written: {out}")
    if figures is not None:
        for path in write_figures(run, analysis, figures, width_in):
            note(f"written: {path}")
    return tell_problems(run)


def _seen_from(out: Path | None, figures: Path) -> str:
    """The folder of the figures as a paper in the folder of `out` names it."""
    return figures.as_posix() if out is None else Path(os.path.relpath(figures, out.parent)).as_posix()


def _width(text: str | None, figures: Path | None, name: str) -> float | None:
    """Inches. Raises `UsageError` where it is no length, is too narrow to draw in, or nothing has a width."""
    from ..model.errors import UsageError
    from ..model.units import parse_length

    if text is None:
        return None
    if figures is None and name != "latex":
        raise UsageError(
            f"--width {text}: this is the width of the figures; say where to write them with --figures DIR"
        )
    try:
        width_in = parse_length(text)
    except ValueError as error:
        raise UsageError(f"--width {text}: {error}") from error
    if not LEAST_WIDTH_IN <= width_in <= MOST_WIDTH_IN:
        raise UsageError(
            f"--width {text}: figures can be {LEAST_WIDTH_IN:g}in to {MOST_WIDTH_IN:g}in wide; a column of a paper is "
            "about 3.33in"
        )
    return width_in
