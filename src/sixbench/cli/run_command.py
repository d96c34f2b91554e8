"""`sixbench run` and `sixbench resume`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .common import default_directory, load_experiment, note, paper_name
from .guest_runs import check_clock, chosen_kernels, resume_in_guests, run_in_guests
from .presenting import present
from .progress import Progress
from .running import agent_hub, known_calibration, probe_machine

if TYPE_CHECKING:
    from ..agent import AgentHub
    from ..model.experiment import Experiment
    from ..model.trial import TrialRecord
    from ..store import RunWriter


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("run")(run)
    app.command("resume")(resume)


def run(
    experiment: str = typer.Argument(help="An experiment file, or the name of a shipped one (see: sixbench papers)."),
    set_: list[str] = typer.Option(
        [], "--set", metavar="A.B=C", help="Change a value of the experiment; may be repeated."
    ),
    quick: bool = typer.Option(
        False, "--quick", help="A run of a few minutes: fewer blocks, shorter trials, wider intervals."
    ),
    blocks: int | None = typer.Option(None, "--blocks", metavar="N", help="Exactly so many blocks."),
    seed: int | None = typer.Option(None, "--seed", metavar="N", help="Seed of the random order."),
    out: Path | None = typer.Option(
        None, "--out", metavar="DIR", help="The run directory; default: runs/NAME-DATE-TIME."
    ),
    capture: bool = typer.Option(
        False, "--capture", help="Keep a pcapng of every link that a trial crosses: its first 4096 packets, whole."
    ),
    json: bool = typer.Option(False, "--json", help="Print the findings as JSON."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress."),
    kernel: str | None = typer.Option(
        None,
        "--kernel",
        metavar="NAME",
        help="Run it in an emulated machine with this kernel; see: sixbench kernels list.",
    ),
    kernels: str | None = typer.Option(
        None, "--kernels", metavar="A,B", help="Run it on each of these kernels, and compare them."
    ),
    clock: str | None = typer.Option(
        None,
        "--clock",
        metavar="virtual|real",
        help="Of an emulated machine: virtual counts instructions, the same on every machine; real is this one's.",
    ),
) -> int:
    """Run an experiment: build its network, measure, and report."""
    from ..lab.privileges import enter_namespace_if_needed

    chosen = chosen_kernels(kernel, kernels)
    loaded = load_experiment(experiment, set_, quick, blocks, seed, chosen, clock)
    directory = out or default_directory(loaded.name)
    guest_clock = check_clock(clock, loaded)
    if loaded.kernels:
        return run_in_guests(loaded, directory, paper_name(experiment), quick, capture, guest_clock, json, quiet)
    enter_namespace_if_needed(sys.argv[1:])
    with agent_hub() as hub:
        loaded, environment = probe_machine(hub, loaded)
        from ..store import Manifest, create_run

        manifest = Manifest(
            run=directory.resolve().name,
            experiment=loaded,
            environment=environment,
            state="running",
            started_realtime_ns=time.time_ns(),
            paper=paper_name(experiment),
            quick=quick,
            capture=capture,
            calibration=known_calibration(environment.kernel),
            command=["sixbench", *sys.argv[1:]],
        )
        writer = create_run(directory, manifest)
        return _measure(loaded, writer, [], hub, json, quiet)


def resume(
    directory: Path = typer.Argument(help="The directory of an interrupted run."),
    json: bool = typer.Option(False, "--json", help="Print the findings as JSON."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress."),
    report: bool = typer.Option(True, "--report/--no-report", help="Whether the findings are made and printed."),
) -> int:
    """Finish an interrupted run; no trial is run twice."""
    from ..lab.privileges import enter_namespace_if_needed
    from ..model.errors import UsageError
    from ..store import open_run

    writer, run_so_far = open_run(directory)
    if not run_so_far.manifest.experiment.topologies:
        raise UsageError(
            f"{directory} is a measurement between two machines, which cannot be resumed; "
            "measure again with another --out"
        )
    if run_so_far.manifest.experiment.kernels:
        return resume_in_guests(writer, json, quiet)
    enter_namespace_if_needed(sys.argv[1:])
    with agent_hub() as hub:
        experiment, environment = probe_machine(hub, run_so_far.manifest.experiment)
        # A run without a trial takes place where it is resumed.
        here = {} if run_so_far.trials else {"experiment": experiment, "environment": environment}
        writer.save_manifest(state="running", **here)
        return _measure(experiment, writer, run_so_far.trials, hub, json, quiet, report)


def _measure(
    experiment: Experiment,
    writer: RunWriter,
    done: list[TrialRecord],
    hub: AgentHub,
    json: bool,
    quiet: bool,
    report: bool = True,
) -> int:
    from ..model.errors import Interrupted
    from ..run.scheduler import run_experiment
    from ..theory import expected_amid_changes

    try:
        with Progress(quiet) as progress:
            end = run_experiment(experiment, writer, done, hub, expected_amid_changes, progress)
    except Interrupted as stop:
        note(f"sixbench: {stop}")
        if report:
            present(writer.directory, json)
        return stop.exit_code
    if report:
        present(writer.directory, json)
    return 0 if end.state == "complete" else 4
