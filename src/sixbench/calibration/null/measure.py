"""Runs comparisons, each into a run directory of its own, on networks that outlast them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from ...agent import AgentHub
from ...bench.laboratory import Laboratories
from ...bench.open_run import OpenRun
from ...bench.other_runs import Presence
from ...bench.scheduler import run_experiment
from ...model.bypass import Bypass
from ...model.errors import Interrupted
from ...model.experiment import Combination, Experiment, PlannedTrial
from ...model.observer import Observer
from ...model.trial import TrialRecord
from ...plan.schedule import trial_counts
from ...store import Environment, Manifest, Run, RunWriter, create_run, holds_run, open_run, read_run
from ...theory import expected_amid_changes
from .design import PlannedComparison


def measure(
    planned: Sequence[PlannedComparison],
    directory: Path,
    hub: AgentHub,
    environment: Environment,
    observer: Observer,
    command: Sequence[str],
    presence: Presence | None = None,
) -> list[Run]:
    """Makes the comparisons that the directory does not have yet, and returns the runs of all of them, in order.

    Args:
        environment: of this machine, for the manifests.
        observer: is told of progress over all comparisons.
        command: the command line, for the manifests.
        presence: this run among others of the machine; None: nobody knows of others.

    Raises:
        Interrupted: on `KeyboardInterrupt`. What is done is kept, and another call goes on.
        LabError, CapabilityError: a network cannot be built.
        StoreError, UsageError, WriteError: the directory cannot be used.
    """
    overall = _Overall(observer, sum(comparison.trials for comparison in planned))
    # The first topology of a changed comparison is that of all comparisons.
    widest = max((comparison.experiment for comparison in planned), key=lambda experiment: len(experiment.topologies))
    laboratories = Laboratories(hub, widest)
    known: dict[str, Bypass] = {}
    runs = []
    try:
        for planned_comparison in planned:
            writer, done = _opened(
                planned_comparison, directory / planned_comparison.name, environment, command, tuple(known.values())
            )
            with writer:
                if writer.manifest.state not in ("complete", "partial"):
                    run = OpenRun(
                        experiment=planned_comparison.experiment,
                        writer=writer,
                        done=done,
                        hub=hub,
                        theory=expected_amid_changes,
                        presence=presence,
                        kept=laboratories,
                    )
                    run_experiment(run, overall)
                known |= {repr(bypass): bypass for bypass in writer.manifest.bypass}
            runs.append(read_run(writer.directory))
            overall.compared(planned_comparison, runs[-1])
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted(
            f"stopped after {len(runs)} of {len(planned)} comparisons, which are kept in {directory}; "
            "to go on, give the same command with this --out"
        ) from None
    finally:
        laboratories.close()
    return runs


def _opened(
    planned_comparison: PlannedComparison,
    directory: Path,
    environment: Environment,
    command: Sequence[str],
    bypass: tuple[Bypass, ...],
) -> tuple[RunWriter, list[TrialRecord]]:
    """The run directory of a comparison, and the trials that it holds."""
    if holds_run(directory):
        writer, so_far = open_run(directory)
        return writer, so_far.trials
    manifest = Manifest(
        run=planned_comparison.name,
        experiment=planned_comparison.experiment,
        environment=environment,
        state="running",
        started_realtime_ns=time.time_ns(),
        command=list(command),
        bypass=bypass,
    )
    return create_run(directory, manifest), []


class _Overall(Observer):
    """Turns the progress of single runs into that of all."""

    def __init__(self, observer: Observer, trials: int) -> None:
        self._observer = observer
        self._planned = trials
        self._of_this = 0
        self._before = 0
        self._measured = 0
        self._started_ns = time.monotonic_ns()

    def compared(self, planned_comparison: PlannedComparison, run: Run) -> None:
        """All of its trials are there, with their repeats."""
        self._planned -= planned_comparison.trials
        self._before += len(run.trials)

    def planned(self, experiment: Experiment, directory: str, done: int) -> None:
        """One comparison begins."""
        _, self._of_this = trial_counts(experiment)

    def progress(self, done: int, expected: int, remaining_ns: int, decided: int | None = None) -> None:
        """Tells that so many trials of one comparison are done."""
        total = self._before + done
        left = self._planned - self._of_this + expected - done
        measured = max(1, self._measured)
        each_ns = (time.monotonic_ns() - self._started_ns) / measured
        self._observer.progress(total, total + left, int(each_ns * left))

    def trial_begins(self, experiment: Experiment, combination: Combination, planned: PlannedTrial) -> None:
        self._observer.trial_begins(experiment, combination, planned)

    def trial_ended(self, record: TrialRecord) -> None:
        self._measured += 1
        self._observer.trial_ended(record)
