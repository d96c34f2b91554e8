"""`sixbench runs`: the runs that there are, each with its answer."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..model.aligned import aligned_lines, left_first
from . import completions
from .common import note, print_json, say
from .options import JSON

if TYPE_CHECKING:
    from ..report.listed_runs import ListedRun

DEFAULT_DIRECTORY = Path("runs")


def runs(
    directory: Path = typer.Argument(
        DEFAULT_DIRECTORY,
        metavar="[DIR]",
        help="A directory that holds run directories.",
        autocompletion=completions.directories,
    ),
    json: bool = JSON,
) -> None:
    """List the runs that there are, each with its answer.

    The newest stands last. The answer is that of the last report; a run that has ended without one is analysed now.
    """
    from ..report.listed_runs import listed_run
    from ..store import run_directories

    is_default = directory == DEFAULT_DIRECTORY
    directories = [] if is_default and not directory.exists() else run_directories(directory)
    listed = sorted(map(listed_run, directories), key=lambda run: (run.started_realtime_ns or 0, run.run))
    if json:
        print_json({"schema": "sixbench.runs/1", "directory": str(directory), "runs": [asdict(run) for run in listed]})
    elif not listed:
        note(f"There are no runs in {directory}. Make one with: sixbench run quickstart")
    else:
        _print(listed)


def _print(listed: list[ListedRun]) -> None:
    from ..model.quoting import printable

    rows = [
        [
            _date(run.started_realtime_ns),
            printable(run.directory),
            printable(run.experiment or ""),
            (run.state or "unreadable") + (", quick" if run.is_quick else ""),
            *("" if count is None else str(count) for count in (run.ok_trials, run.invalid_trials, run.failed_trials)),
        ]
        for run in listed
    ]
    heads = ["started", "run", "experiment", "state", "ok", "invalid", "failed"]
    first, *lines = aligned_lines([heads, *rows], left_first(4, len(heads)))
    say(first)
    for run, line in zip(listed, lines, strict=True):
        say(line)
        say(f"  {run.problem or run.answer or 'no answer yet'}")


def _date(realtime_ns: int | None) -> str:
    """In the time of this machine, to the minute."""
    if realtime_ns is None:
        return "–"
    return datetime.fromtimestamp(realtime_ns / 1e9).astimezone().strftime("%Y-%m-%d %H:%M")
