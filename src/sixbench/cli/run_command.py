"""`sixbench run` and `sixbench resume`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..model.exit_codes import Exit
from ..plan.loading import default_directory, experiment_source, load_experiment, paper_name
from . import completions
from .bugs import keeping_trials
from .cell_command import KEY
from .cell_runs import CELLS, refuse_key_alone, resume_on_cells, run_on_cells
from .common import note
from .consent import refuse_programs_in_guests, require_consent, require_consent_to_hosts
from .event_logs import event_log, observers, refuse_in_guests
from .guest_runs import check_clock, chosen_kernels, resume_in_guests, run_in_guests
from .options import ALLOW_HOSTS, ALLOW_PROGRAMS, EVENTS, FINDINGS_AS_JSON, HOSTS, MEAN_IT, OUT, QUIET, SEED, SET, WAIT
from .presenting import present
from .progress import Progress
from .running import agent_hub, begin_run, first_manifest, known_calibration, tell

if TYPE_CHECKING:
    from ..agent import AgentHub
    from ..model.experiment import Experiment
    from ..model.trial import TrialRecord
    from ..run.other_runs import Presence
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
        help="Keep a pcapng file for every link that a trial crosses, with its first 4096 packets in full.",
    ),
    json: bool = FINDINGS_AS_JSON,
    quiet: bool = QUIET,
    wait: bool = WAIT,
    allow_programs: bool = ALLOW_PROGRAMS,
    i_mean_it: bool = MEAN_IT,
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
    cells: str | None = CELLS,
    key: Path | None = KEY,
) -> int:
    """Run an experiment: build its network, measure, and report."""
    from ..lab.privileges import enter_namespace_if_needed
    from ..run.other_runs import measuring
    from ..run.probing import probe_machine

    chosen = chosen_kernels(kernel, kernels)
    changes = (set_, quick, blocks, seed, chosen, clock, hosts)
    loaded = load_experiment(experiment, *changes)
    guest_clock = check_clock(clock, loaded)
    require_consent(loaded.paths, () if chosen else loaded.kernels, allowed=allow_programs)
    from ..store import check_free

    if out is not None:
        check_free(out, loaded.text)
    refuse_key_alone(cells, key)
    if cells is not None:
        directory, paper = out or default_directory(loaded.name), paper_name(experiment)
        return run_on_cells(
            loaded, directory, out is None, paper, quick, capture, cells, key, wait, json, quiet, events
        )
    if loaded.kernels:
        refuse_in_guests(events)
        refuse_programs_in_guests(loaded.paths)
        with measuring(loaded.name, wait=wait, told=tell):
            directory, paper = out or default_directory(loaded.name), paper_name(experiment)
            return run_in_guests(loaded, directory, out is None, paper, quick, capture, guest_clock, json, quiet)
    enter_namespace_if_needed(sys.argv[1:])
    with event_log(events) as log, agent_hub() as hub:
        loaded, environment = probe_machine(
            hub, loaded, lambda: experiment_source(experiment, *changes), means_it=i_mean_it
        )
        with measuring(loaded.name, wait=wait, told=tell) as presence:
            directory = out or default_directory(loaded.name)
            manifest = first_manifest(
                directory,
                loaded,
                environment,
                paper=paper_name(experiment),
                quick=quick,
                capture=capture,
                calibration=known_calibration(environment.kernel),
            )
            with begin_run(directory, manifest, is_named=out is not None) as writer:
                return measure_and_present(loaded, writer, [], hub, presence, json, quiet, log)


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
    events: Path | None = EVENTS,
    report: bool = typer.Option(
        True, "--report/--no-report", help="Compute and print the findings, or leave them out."
    ),
    cells: str | None = CELLS,
    key: Path | None = KEY,
) -> int:
    """Finish an interrupted run. No trial is run twice."""
    from ..store import open_run

    refuse_key_alone(cells, key)
    writer, run_so_far = open_run(directory)
    with writer:
        if cells is not None:
            return resume_on_cells(writer, run_so_far, cells, key, wait, json, quiet, report, events)
        planned = run_so_far.manifest.experiment
        require_consent(planned.paths, planned.kernels, allowed=allow_programs)
        require_consent_to_hosts(planned.topologies, allowed=allow_hosts)
        return _go_on(writer, run_so_far, json, quiet, wait, report, events, i_mean_it)


def _go_on(
    writer: RunWriter,
    run_so_far: Run,
    json: bool,
    quiet: bool,
    wait: bool,
    report: bool,
    events: Path | None,
    means_it: bool,
) -> int:
    """Runs what an interrupted run lacks, and presents all of it."""
    from ..lab.privileges import enter_namespace_if_needed
    from ..model.errors import UsageError
    from ..run.other_runs import measuring
    from ..run.probing import probe_machine

    if not run_so_far.manifest.experiment.topologies:
        raise UsageError(
            f"{writer.directory} is a measurement between two machines, which cannot be resumed; "
            "measure again with another --out"
        )
    if run_so_far.manifest.cells:
        raise UsageError(f"{writer.directory} was begun by cells, which have to finish it; give --cells ADDRESS")
    if run_so_far.manifest.experiment.kernels:
        refuse_in_guests(events)
        refuse_programs_in_guests(run_so_far.manifest.experiment.paths)
        with measuring(run_so_far.manifest.experiment.name, wait=wait, told=tell):
            return resume_in_guests(writer, json, quiet)
    enter_namespace_if_needed(sys.argv[1:])
    with event_log(events) as log, agent_hub() as hub:
        experiment, environment = probe_machine(hub, run_so_far.manifest.experiment, means_it=means_it)
        # A run without trials is as if started where it is resumed.
        here = {} if run_so_far.trials else {"experiment": experiment, "environment": environment}
        with measuring(experiment.name, wait=wait, told=tell) as presence:
            writer.save_manifest(state="running", **here)
            return measure_and_present(experiment, writer, run_so_far.trials, hub, presence, json, quiet, log, report)


def measure_and_present(
    experiment: Experiment,
    writer: RunWriter,
    done: list[TrialRecord],
    hub: AgentHub,
    presence: Presence,
    json: bool,
    quiet: bool,
    log: EventLog | None,
    report: bool = True,
) -> int:
    """Runs what a run lacks, by its procedure if it has one, and presents all of it."""
    from ..model.errors import Interrupted
    from ..run.procedure import run_procedure
    from ..run.scheduler import run_experiment
    from ..theory import expected_amid_changes

    run_all = run_experiment if writer.manifest.procedure is None else run_procedure
    with keeping_trials(writer.directory, f"sixbench resume {writer.directory}"):
        try:
            with Progress(quiet, done) as progress:
                observer = observers(progress, log)
                end = run_all(experiment, writer, done, hub, expected_amid_changes, observer, presence=presence)
        except Interrupted as stop:
            note(f"sixbench: {stop}")
            if report:
                present(writer.directory, json, log)
            return stop.exit_code
        if report:
            present(writer.directory, json, log)
        return Exit.DONE if end.state == "complete" else Exit.PARTLY
