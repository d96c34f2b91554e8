"""Runs as lists show them: each with its state and its answer in one line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ..analysis import analyse
from ..model.errors import StoreError
from ..plan.loading import load_paper
from ..store import Run, is_being_run, read_findings, read_run
from .run_answer import analysis_of, answer_line


@dataclass(frozen=True, kw_only=True)
class ListedRun:
    """Entry of a list of runs.

    Attributes:
        state: as the manifest has it, but `interrupted` where it says `running` and no process runs it.
        ok_trials, invalid_trials, failed_trials: trials that have ended.
        answer: in one line; None where there is none yet, as while the run goes on: looks before the planned end would
            invite to stop at the right moment.
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


def listed_run(directory: Path) -> ListedRun:
    """Entry of the list for the run in that directory."""
    try:
        return listed(read_run(directory))
    except StoreError as error:
        return ListedRun(run=directory.name, directory=str(directory), problem=str(error))


def listed(run: Run) -> ListedRun:
    """Entry of the list for a run. Raises `StoreError`."""
    state = state_of(run)
    answer = None if state == "running" else _answer(run)
    manifest, counts = run.manifest, Counter(trial.status for trial in run.trials)
    return ListedRun(
        run=manifest.run,
        directory=str(run.directory),
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


def state_of(run: Run) -> str:
    """As the manifest has it, but `interrupted` where it says `running` and no process runs it. Raises `StoreError`."""
    state = run.manifest.state
    return "interrupted" if state == "running" and not is_being_run(run.opened()) else state


def _answer(run: Run) -> str | None:
    document = read_findings(run.opened())
    if document is not None:
        return answer_line(analysis_of(document, str(run.directory)))
    return answer_line(analyse(run, load_paper(run.manifest.paper))) if run.trials else None
