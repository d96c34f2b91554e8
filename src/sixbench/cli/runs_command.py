"""`sixbench runs`: the runs that there are, each with its answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from . import completions
from .command_groups import RESULTS
from .common import load_paper, note, print_json
from .tables import table_lines

if TYPE_CHECKING:
    from ..store import Run

DEFAULT_DIRECTORY = Path("runs")


@dataclass(frozen=True, kw_only=True)
class ListedRun:
    """What the list tells of one run.

    Attributes:
        state: as the manifest has it, but `interrupted` where it says `running` and no process runs it.
        ok, invalid, failed: trials that have ended.
        answer: in one line; None where there is none yet.
        problem: why nothing is known of it, and then everything else is None.
    """

    run: str
    directory: str
    started_realtime_ns: int | None = None
    ended_realtime_ns: int | None = None
    experiment: str | None = None
    title: str | None = None
    paper: str | None = None
    is_quick: bool | None = None
    state: str | None = None
    ok_trials: int | None = None
    invalid_trials: int | None = None
    failed_trials: int | None = None
    answer: str | None = None
    problem: str | None = None


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("runs", rich_help_panel=RESULTS)(runs)


def runs(
    directory: Path = typer.Argument(
        DEFAULT_DIRECTORY,
        metavar="[DIR]",
        help="A directory that holds run directories.",
        autocompletion=completions.directories,
    ),
    json: bool = typer.Option(False, "--json", help="Print as JSON."),
) -> None:
    """List the runs that there are, each with its answer.

    The newest stands last. The answer is that of the last report; a run that has none is analysed now.
    """
    from ..store import run_directories

    is_default = directory == DEFAULT_DIRECTORY
    found = [] if is_default and not directory.exists() else run_directories(directory)
    listed = sorted(map(_listed, found), key=lambda one: (one.started_realtime_ns or 0, one.run))
    if json:
        print_json({"schema": "sixbench.runs/1", "directory": str(directory), "runs": [asdict(one) for one in listed]})
    elif not listed:
        note(f"There are no runs in {directory}. Make one with: sixbench run quickstart")
    else:
        _print(listed)


def _listed(directory: Path) -> ListedRun:
    from ..model.errors import StoreError
    from ..store import is_being_run, read_run

    try:
        run = read_run(directory)
        state = run.manifest.state
        if state == "running" and not is_being_run(directory):
            state = "interrupted"
        answer = _answer(run)
    except StoreError as error:
        return ListedRun(run=directory.name, directory=str(directory), problem=str(error))
    manifest, counts = run.manifest, Counter(trial.status for trial in run.trials)
    return ListedRun(
        run=manifest.run,
        directory=str(directory),
        started_realtime_ns=manifest.started_realtime_ns,
        ended_realtime_ns=manifest.ended_realtime_ns,
        experiment=manifest.experiment.name,
        title=manifest.experiment.title,
        paper=manifest.paper,
        is_quick=manifest.quick,
        state=state,
        ok_trials=counts["ok"],
        invalid_trials=counts["invalid"],
        failed_trials=counts["failed"],
        answer=answer,
    )


def _answer(run: Run) -> str | None:
    from ..report.run_answer import analysis_of, answer_line
    from ..store import read_findings

    document = read_findings(run.directory)
    if document is not None:
        return answer_line(analysis_of(document, str(run.directory)))
    if not run.trials:
        return None
    from ..analysis import analyse

    return answer_line(analyse(run, load_paper(run.manifest.paper)))


def _print(listed: list[ListedRun]) -> None:
    from ..model.wording import printable

    rows = [
        [
            _date(one.started_realtime_ns),
            printable(one.directory),
            printable(one.experiment or ""),
            (one.state or "unreadable") + (", quick" if one.is_quick else ""),
            *("" if count is None else str(count) for count in (one.ok_trials, one.invalid_trials, one.failed_trials)),
        ]
        for one in listed
    ]
    heads = ["started", "run", "experiment", "state", "ok", "invalid", "failed"]
    first, *lines = table_lines(heads, rows, left=4)
    typer.echo(first)
    for one, line in zip(listed, lines, strict=True):
        typer.echo(line)
        typer.echo(f"  {printable(one.problem or one.answer or 'no answer yet')}")


def _date(realtime_ns: int | None) -> str:
    """In the time of this machine, to the minute."""
    if realtime_ns is None:
        return "–"
    return datetime.fromtimestamp(realtime_ns / 1e9).astimezone().strftime("%Y-%m-%d %H:%M")
