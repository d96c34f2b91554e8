"""`sixbench run` and `sixbench resume`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..model.exit_codes import Exit
from . import completions
from .bugs import keeping_trials
from .changes import changes_of
from .common import note
from .consent import (
    refuse_programs_in_guests,
    require_consent_to_hosts,
    require_consent_to_pace,
    require_consent_to_run,
)
from .event_logs import event_log, observers, refuse_in_guests
from .guest_runs import check_clock, resume_in_guests, run_in_guests
from .options import (
    ALLOW_HOSTS,
    ALLOW_PROGRAMS,
    EVENTS,
    FINDINGS_AS_JSON,
    HOSTS,
    MEAN_IT,
    MINE,
    OUT,
    QUIET,
    SEED,
    SET,
    WAIT,
)
from .presenting import present
from .progress import ProgressDisplay
from .run_requests import ResumeRequest, RunOutput, RunRequest, WorkersRequest
from .running import agent_hub, known_calibration, resumed_run, run_here, tell
from .worker_command import KEY
from .worker_runs import WORKERS, refuse_key_alone, resume_on_workers, run_on_workers

if TYPE_CHECKING:
    from ..bench.open_run import OpenRun
    from ..model.experiment import Experiment
    from ..store import EventLog, Run, RunWriter


def run(
    experiment: str = typer.Argument(
        help="An experiment file, or the name of a shipped one (see: sixbench papers).",
        autocompletion=completions.experiments,
    ),
    set_: list[str] = SET,
    quick: bool = typer.Option(
        False, "--quick", help="Run for a few minutes only: fewer blocks, shorter trials, wider intervals."
    ),
    blocks: int | None = typer.Option(None, "--blocks", metavar="N", help="Run exactly this many blocks."),
    seed: int | None = SEED,
    out: Path | None = OUT,
    capture: bool = typer.Option(
        False,
        "--capture",
        help="Keep a pcapng file for every link that a trial crosses, with its first 4096 packets in full, and the "
        "keys of the TLS in them.",
    ),
    json: bool = FINDINGS_AS_JSON,
    quiet: bool = QUIET,
    wait: bool = WAIT,
    allow_programs: bool = ALLOW_PROGRAMS,
    i_mean_it: bool = MEAN_IT,
    mine: bool = MINE,
    events: Path | None = EVENTS,
    kernel: str | None = typer.Option(
        None,
        "--kernel",
        metavar="NAME",
        help="Run it in an emulated machine with this kernel; see: sixbench kernels list.",
        autocompletion=completions.kernels,
    ),
    kernels: str | None = typer.Option(
        None,
        "--kernels",
        metavar="A,B",
        help="Run it on each of these kernels, and compare them.",
        autocompletion=completions.kernel_list,
    ),
    clock: str | None = typer.Option(
        None,
        "--clock",
        metavar="virtual|real",
        help="The clock of an emulated machine: virtual (it counts instructions, the same everywhere) or real.",
    ),
    hosts: Path | None = HOSTS,
    workers: str | None = WORKERS,
    key: Path | None = KEY,
) -> int:
    """Run an experiment: build its network, measure, and report."""
    changes = changes_of(
        set_, quick=quick, blocks=blocks, seed=seed, hosts=hosts, kernel=kernel, kernels=kernels, clock=clock
    )
    request = RunRequest(
        experiment=experiment,
        changes=changes,
        out=out,
        capture=capture,
        workers=None if workers is None else WorkersRequest(scheduler=workers, key=key),
        wait=wait,
        allows_programs=allow_programs,
        means_it=i_mean_it,
        output=RunOutput(as_json=json, quiet=quiet, events=events),
    )
    loaded = request.load()
    guest_clock = check_clock(clock, loaded)
    require_consent_to_run(loaded, allowed=allow_programs, chose_kernels=bool(changes.kernels))
    require_consent_to_pace(loaded, allowed=mine)
    if out is not None:
        from ..store import check_free

        check_free(out, loaded.text)
    refuse_key_alone(workers, key)
    if request.workers is not None:
        return run_on_workers(request, request.workers, loaded)
    return run_in_guests(request, loaded, guest_clock) if loaded.kernels else _run_here(request, loaded)


def run_to_servers(request: RunRequest) -> int:
    """Runs an experiment with servers, and presents it."""
    loaded = request.load()
    if request.out is not None:
        from ..store import check_free

        check_free(request.out, loaded.text)
    return _run_here(request, loaded)


def _run_here(request: RunRequest, loaded: Experiment) -> int:
    """Runs an experiment on this machine, and presents it."""
    from ..bench.other_runs import measuring
    from ..bench.probing import probe_machine
    from ..lab.privileges import enter_namespace_if_needed
    from ..model.errors import UsageError

    if not loaded.servers:
        enter_namespace_if_needed(sys.argv[1:])
    elif request.capture:
        raise UsageError("--capture keeps the packets of a network of sixbench, and servers are in none; leave it out")
    with event_log(request.output.events) as log, agent_hub() as hub:
        experiment, environment = probe_machine(hub, loaded, request.source, means_it=request.means_it)
        with measuring(experiment.name, wait=request.wait, report=tell) as presence:
            directory = request.directory(experiment)
            calibration = known_calibration(environment.kernel)
            manifest = request.first_manifest(directory, experiment, environment, calibration=calibration)
            with request.begin(directory, manifest) as writer:
                return measure_and_present(run_here(experiment, writer, hub, presence), request.output, log)


def resume(
    directory: Path = typer.Argument(
        help="The directory of an interrupted run.", autocompletion=completions.run_directories
    ),
    json: bool = FINDINGS_AS_JSON,
    quiet: bool = QUIET,
    wait: bool = WAIT,
    allow_programs: bool = ALLOW_PROGRAMS,
    allow_hosts: bool = ALLOW_HOSTS,
    i_mean_it: bool = MEAN_IT,
    mine: bool = MINE,
    events: Path | None = EVENTS,
    report: bool = typer.Option(
        True, "--report/--no-report", help="Compute and print the findings, or leave them out."
    ),
    workers: str | None = WORKERS,
    key: Path | None = KEY,
) -> int:
    """Finish an interrupted run. No trial is run twice."""
    from ..store import open_run

    refuse_key_alone(workers, key)
    request = ResumeRequest(
        directory=directory,
        workers=None if workers is None else WorkersRequest(scheduler=workers, key=key),
        wait=wait,
        allows_programs=allow_programs,
        allows_hosts=allow_hosts,
        means_it=i_mean_it,
        output=RunOutput(as_json=json, quiet=quiet, events=events, report=report),
    )
    writer, run_so_far = open_run(directory)
    with writer:
        if request.workers is not None:
            return resume_on_workers(request, request.workers, writer, run_so_far)
        planned = run_so_far.manifest.experiment
        require_consent_to_run(planned, allowed=allow_programs)
        require_consent_to_hosts(planned, allowed=allow_hosts)
        require_consent_to_pace(planned, run_so_far.manifest.environment.all_surveys.values(), allowed=mine)
        return _go_on(request, writer, run_so_far)


def _go_on(request: ResumeRequest, writer: RunWriter, run_so_far: Run) -> int:
    """Runs what an interrupted run lacks on this machine, and presents all of it."""
    from ..bench.other_runs import measuring
    from ..lab.privileges import enter_namespace_if_needed
    from ..model.errors import UsageError

    manifest, output = run_so_far.manifest, request.output
    if not manifest.experiment.topologies and not manifest.experiment.servers:
        raise UsageError(
            f"{writer.directory} is a measurement between two machines, which cannot be resumed; "
            "measure again with another --out"
        )
    if manifest.workers:
        raise UsageError(f"{writer.directory} was begun by workers, which have to finish it; give --workers ADDRESS")
    if manifest.experiment.kernels:
        refuse_in_guests(output.events)
        refuse_programs_in_guests(manifest.experiment.paths, manifest.experiment.combinations)
        with measuring(manifest.experiment.name, wait=request.wait, report=tell):
            return resume_in_guests(writer, output)
    if not manifest.experiment.servers:
        enter_namespace_if_needed(sys.argv[1:])
    with (
        event_log(output.events) as log,
        agent_hub() as hub,
        resumed_run(hub, writer, run_so_far, wait=request.wait, means_it=request.means_it) as open_run,
    ):
        return measure_and_present(open_run, output, log)


def measure_and_present(open_run: OpenRun, output: RunOutput, log: EventLog | None) -> int:
    """Runs what a run lacks, by its procedure if it has one, and presents all of it."""
    from ..bench.procedure import run_procedure
    from ..bench.scheduler import run_experiment
    from ..model.errors import Interrupted

    writer = open_run.writer
    run_all = run_experiment if writer.manifest.procedure is None else run_procedure
    with keeping_trials(writer.directory, f"sixbench resume {writer.directory}"):
        try:
            with ProgressDisplay(output.quiet, open_run.done) as progress:
                end = run_all(open_run, observers(progress, log))
        except Interrupted as stop:
            note(f"sixbench: {stop}")
            if output.report:
                present(writer.directory, output.as_json, log)
            return stop.exit_code
        if output.report:
            present(writer.directory, output.as_json, log)
        return Exit.DONE if end.state == "complete" else Exit.PARTLY
