"""`sixbench calibrate`."""

from __future__ import annotations

import contextlib
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .common import default_directory, note
from .progress import Progress
from .running import agent_hub, probe_machine

if TYPE_CHECKING:
    from ..agent import AgentHub
    from ..store import Run, RunWriter

SEED = 1


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("calibrate")(calibrate)


def calibrate(
    quick: bool = typer.Option(False, "--quick", help="Fewer truths and trials: under 5 minutes."),
    blocks: int | None = typer.Option(
        None, "--blocks", metavar="N", min=1, max=999, help="Trials of each truth over each path."
    ),
    only: list[str] = typer.Option([], "--only", metavar="NAME", help="Only this quantity; may be repeated."),
    seed: int = typer.Option(SEED, "--seed", metavar="N", min=0, help="Seed of the order, and of what links do."),
    out: Path | None = typer.Option(
        None,
        "--out",
        metavar="DIR",
        help="The run directory; default: runs/calibrate-DATE-TIME. One that was interrupted is finished.",
    ),
    null: bool = typer.Option(
        False,
        "--null",
        help="Instead: compare paths that are the same, and paths of which one has a slower link, over and over.",
    ),
    comparisons: int | None = typer.Option(
        None,
        "--comparisons",
        metavar="N",
        min=1,
        max=100_000,
        help="With --null: so many; default 200, with --quick 32; and a quarter as many with a slower link.",
    ),
    json: bool = typer.Option(False, "--json", help="Print the results as JSON."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress."),
) -> int:
    """Measure links whose truth is known: how far may this machine's numbers be trusted?"""
    from ..model.errors import UsageError

    if null:
        from .null_calibration import calibrate_null

        if only or blocks is not None or seed != SEED:
            raise UsageError("--only, --blocks and --seed say nothing to --null; leave them out")
        return calibrate_null(out, quick=quick, comparisons=comparisons, as_json=json, quiet=quiet)
    if comparisons is not None:
        raise UsageError("--comparisons says how many there are with --null; give both, or neither")
    from ..calibration.design import NAME, design
    from ..calibration.metrics import chosen
    from ..lab.privileges import enter_namespace_if_needed
    from ..store import Manifest, create_run, holds_run, open_run

    metrics = chosen(only)
    directory = out or default_directory(NAME)
    enter_namespace_if_needed(sys.argv[1:])
    with agent_hub() as hub:
        if out is not None and holds_run(out):
            writer, so_far = open_run(out)
            return _finish(hub, writer, so_far, json, quiet)
        experiment, environment = probe_machine(hub, design(metrics, quick=quick, blocks=blocks, seed=seed))
        manifest = Manifest(
            run=directory.resolve().name,
            experiment=experiment,
            environment=environment,
            state="running",
            started_realtime_ns=time.time_ns(),
            quick=quick,
            command=["sixbench", *sys.argv[1:]],
        )
        writer = create_run(directory, manifest)
        return _finish(hub, writer, None, json, quiet)


def _finish(hub: AgentHub, writer: RunWriter, so_far: Run | None, json: bool, quiet: bool) -> int:
    """Runs what is not yet done, and presents the whole."""
    from ..calibration.design import is_calibration
    from ..model.errors import Interrupted, UsageError
    from ..run.scheduler import run_experiment
    from ..theory import expected_amid_changes

    if so_far is not None and not is_calibration(so_far.manifest.experiment):
        raise UsageError(f"{writer.directory} holds a run that is no calibration; give another --out")
    if so_far is not None and so_far.manifest.state == "complete":
        present(writer.directory, json, is_new=False)
        return 0
    experiment = writer.manifest.experiment
    if so_far is not None:
        experiment, _ = probe_machine(hub, experiment)
        writer.save_manifest(state="running")
    try:
        with Progress(quiet) as progress:
            done = [] if so_far is None else so_far.trials
            end = run_experiment(experiment, writer, done, hub, expected_amid_changes, progress)
    except Interrupted as stop:
        note(f"sixbench: stopped; continue with: sixbench calibrate --out {writer.directory}")
        return stop.exit_code
    present(writer.directory, json, is_new=True)
    return 0 if end.state == "complete" else 4


def present(directory: Path, json: bool, *, is_new: bool) -> None:
    """Assesses a calibration, writes what follows from it into its directory, and prints it.

    Args:
        is_new: whether it was made here and now, so that later runs are to find it.
    """
    from ..calibration.assessment import assess
    from ..calibration.document import calibration_of, results_of
    from ..calibration.metrics import METRICS
    from ..calibration.page import html
    from ..calibration.readings import readings
    from ..calibration.text import render
    from ..model.errors import StoreError
    from ..store import calibration_to_json, keep_calibration, read_calibration, read_run, write_derived

    run = read_run(directory)
    found = assess(readings(run, METRICS))
    calibration = calibration_of(run.manifest, found)
    with contextlib.suppress(StoreError):
        known = read_calibration(calibration.machine, calibration.kernel)
        calibration = replace(calibration, false_alarms=None if known is None else known.false_alarms)
    document = calibration_to_json(calibration, results_of(found))
    written = write_derived(run, {"calibration.json": document, "report.html": html(found, run)})
    typer.echo(document if json else render(found), nl=json)
    note(f"report: {written['report.html']}")
    if is_new:
        kept = keep_calibration(document, calibration.machine, calibration.kernel)
        note(f"kept for later runs: {kept}")
