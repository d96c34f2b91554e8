"""`sixbench run --workers` and `sixbench resume --workers`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..model.errors import Interrupted, SixbenchError, UsageError
from ..model.exit_codes import Exit
from .bugs import keeping_trials
from .common import note
from .event_logs import event_log, observers
from .presenting import present
from .progress import ProgressDisplay
from .run_requests import ResumeRequest, RunOutput, RunRequest, WorkersRequest
from .running import tell
from .worker_command import ready_for_workers

if TYPE_CHECKING:
    from ..model.experiment import Experiment
    from ..store import Run, RunWriter
    from ..workers.dask_client import DaskWorkers

WORKERS: str | None = typer.Option(
    None,
    "--workers",
    metavar="ADDRESS",
    help="Let the workers of this scheduler measure its blocks; see: sixbench worker --help.",
)


def refuse_key_alone(workers: str | None, key: Path | None) -> None:
    """Raises `UsageError` where a key is given and no scheduler."""
    if workers is None and key is not None:
        raise UsageError("--key has a meaning with --workers only; give both, or neither")


def check_for_workers(experiment: Experiment) -> None:
    """Raises `UsageError` where workers cannot measure this experiment."""
    from ..workers.refusals import refuse_foreign

    refuse_foreign(experiment)
    if experiment.kernels:
        raise UsageError(f"{experiment.name} runs in emulated machines, which are not workers; leave out --workers")


def run_on_workers(request: RunRequest, workers_request: WorkersRequest, experiment: Experiment) -> int:
    """Runs an experiment on workers. Returns the exit code."""
    from ..store import manifest_to_text, nowhere
    from ..workers.checking import agreed

    check_for_workers(experiment)
    directory = request.directory(experiment)
    manifest = request.first_manifest(directory, experiment, nowhere())
    with taken_workers(experiment, workers_request, wait=request.wait) as workers:
        chosen = agreed(workers.choose(manifest_to_text(manifest)), experiment)
        manifest = replace(manifest, experiment=chosen.experiment, environment=chosen.environment)
        with request.begin(directory, manifest) as writer:
            return _sweep_and_present(writer, None, workers, workers_request, request.output)


def resume_on_workers(
    request: ResumeRequest, workers_request: WorkersRequest, writer: RunWriter, run_so_far: Run
) -> int:
    """Lets workers measure the blocks that a run lacks. Returns the exit code."""
    manifest = writer.manifest
    check_for_workers(manifest.experiment)
    if manifest.procedure is not None:
        raise UsageError(f"{writer.directory} is a test by an RFC, which has no blocks; resume it without --workers")
    if run_so_far.trials and not manifest.workers:
        raise UsageError(f"{writer.directory} was begun on one machine, which has to finish it; leave out --workers")
    with taken_workers(manifest.experiment, workers_request, wait=request.wait) as workers:
        writer.save_manifest(state="running")
        return _sweep_and_present(writer, run_so_far, workers, workers_request, request.output)


@contextmanager
def taken_workers(experiment: Experiment, request: WorkersRequest, *, wait: bool) -> Iterator[DaskWorkers]:
    """The workers of a scheduler for this experiment, until the context ends. Raises `CapabilityError`."""
    security_of = ready_for_workers()
    from ..workers.address import read_address
    from ..workers.dask_client import DaskWorkers
    from ..workers.key import read_key

    where = read_address(request.scheduler)
    with DaskWorkers(where, security_of(read_key(request.key)), experiment.name, wait=wait, report=tell) as workers:
        yield workers


def _sweep_and_present(
    writer: RunWriter, run_so_far: Run | None, workers: DaskWorkers, request: WorkersRequest, output: RunOutput
) -> int:
    """Lets workers measure what a run lacks, and presents all of it.

    Args:
        run_so_far: None: the run is new.
    """
    from ..workers.sweep import sweep

    done = [] if run_so_far is None else run_so_far.trials
    goes_on = f"sixbench resume {writer.directory} --workers {request.scheduler}"
    with event_log(output.events) as log, keeping_trials(writer.directory, goes_on):
        try:
            with ProgressDisplay(output.quiet, done) as progress:
                end = sweep(writer, done, workers, observers(progress, log), tell, goes_on)
            workers.close()  # a report needs no workers
        except Interrupted as stop:
            note(f"sixbench: {stop}")
            if output.report:
                present(writer.directory, output.as_json, log)
            return stop.exit_code
        except SixbenchError:
            if run_so_far is None and not writer.manifest.workers:
                writer.discard()
            else:
                note(f"sixbench: the trials measured so far are kept in {writer.directory}; continue with: {goes_on}")
            raise
        if output.report:
            present(writer.directory, output.as_json, log)
        return Exit.DONE if end.state == "complete" else Exit.PARTLY
