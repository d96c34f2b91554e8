"""`sixbench calibrate`."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..model.exit_codes import Exit
from ..plan.loading import default_directory
from . import completions
from .bugs import keeping_trials
from .common import note, say_document, say_lines
from .event_logs import event_log, observers
from .options import CALIBRATION_OUT, EVENTS, QUIET, RESULTS_AS_JSON, WAIT
from .progress import ProgressDisplay
from .run_requests import RunOutput
from .running import agent_hub, begin_run, first_manifest, resumed_run, run_here, tell

if TYPE_CHECKING:
    from ..agent import AgentHub
    from ..bench.open_run import OpenRun
    from ..store import EventLog

SEED = 1


def calibrate(
    quick: bool = typer.Option(False, "--quick", help="Measure fewer known values, in fewer trials: under 5 minutes."),
    blocks: int | None = typer.Option(
        None, "--blocks", metavar="N", min=1, max=999, help="Number of trials for each known value over each path."
    ),
    only: list[str] = typer.Option(
        [],
        "--only",
        metavar="NAME",
        help="Measure only this quantity; may be repeated.",
        autocompletion=completions.calibrated,
    ),
    seed: int = typer.Option(
        SEED, "--seed", metavar="N", min=0, help="Seed of the random order, and of what links do at random."
    ),
    out: Path | None = CALIBRATION_OUT,
    null: bool = typer.Option(
        False,
        "--null",
        help="Instead, compare paths that are the same, and paths of which one has a slower link, many times.",
    ),
    comparisons: int | None = typer.Option(
        None,
        "--comparisons",
        metavar="N",
        min=1,
        max=100_000,
        help="With --null: number of comparisons; default 200, with --quick 32. A quarter more have a slower link.",
    ),
    json: bool = RESULTS_AS_JSON,
    quiet: bool = QUIET,
    wait: bool = WAIT,
    events: Path | None = EVENTS,
) -> int:
    """Learn how far to trust this machine's numbers.

    It measures links whose true values are known, and compares.
    """
    from ..model.errors import UsageError

    if null:
        from .null_calibration import NullCalibrationRequest, calibrate_null

        if only or blocks is not None or seed != SEED or events is not None:
            raise UsageError("--only, --blocks, --seed and --events have no meaning with --null; leave them out")
        output = RunOutput(as_json=json, quiet=quiet)
        return calibrate_null(
            NullCalibrationRequest(out=out, quick=quick, comparisons=comparisons, wait=wait, output=output)
        )
    if comparisons is not None:
        raise UsageError("--comparisons needs --null; give both, or neither")
    request = CalibrationRequest(
        quick=quick,
        blocks=blocks,
        only=tuple(only),
        seed=seed,
        out=out,
        wait=wait,
        output=RunOutput(as_json=json, quiet=quiet, events=events),
    )
    return _calibrate(request)


@dataclass(frozen=True, kw_only=True)
class CalibrationRequest:
    """A calibration of this machine.

    Attributes:
        quick: whether fewer known values are measured, in fewer trials.
        blocks: trials for each known value over each path; None: as many as the design has.
        only: the names of the quantities; empty: all.
        seed: of the random order, and of what links do at random.
        out: its directory, in which an interrupted one is finished; None: a new one in `runs`.
        wait: whether it begins only when no other run measures on this machine.
    """

    quick: bool
    blocks: int | None
    only: tuple[str, ...]
    seed: int
    out: Path | None
    wait: bool
    output: RunOutput


def _calibrate(request: CalibrationRequest) -> int:
    """Begins a calibration or finishes it, and presents it."""
    from ..bench.other_runs import measuring
    from ..bench.probing import probe_machine
    from ..calibration.design import NAME, design
    from ..calibration.metrics import chosen
    from ..lab.privileges import enter_namespace_if_needed
    from ..store import holds_run

    metrics = chosen(request.only)
    out = request.out
    directory = out or default_directory(NAME)
    enter_namespace_if_needed(sys.argv[1:])
    with event_log(request.output.events) as log, agent_hub() as hub:
        if out is not None and holds_run(out):
            return _go_on(request, out, hub, log)
        planned = design(metrics, quick=request.quick, blocks=request.blocks, seed=request.seed)
        experiment, environment = probe_machine(hub, planned)
        manifest = first_manifest(directory, experiment, environment, quick=request.quick)
        with (
            measuring(experiment.name, wait=request.wait, report=tell) as presence,
            begin_run(directory, manifest, is_named=out is not None) as writer,
        ):
            return _measure(run_here(experiment, writer, hub, presence), request.output, log)


def _go_on(request: CalibrationRequest, directory: Path, hub: AgentHub, log: EventLog | None) -> int:
    """Runs what a calibration that was interrupted lacks, if anything, and presents all of it."""
    from ..calibration.design import is_calibration
    from ..model.errors import UsageError
    from ..store import open_run as open_directory

    writer, so_far = open_directory(directory)
    with writer:
        if not is_calibration(so_far.manifest.experiment):
            raise UsageError(f"{writer.directory} holds a run that is not a calibration; give another --out")
        if so_far.manifest.state == "complete":
            present(writer.directory, request.output.as_json, is_new=False)
            return Exit.DONE
        with resumed_run(hub, writer, so_far, wait=request.wait) as open_run:
            return _measure(open_run, request.output, log)


def _measure(open_run: OpenRun, output: RunOutput, log: EventLog | None) -> int:
    """Runs what is not yet done, then presents the whole calibration."""
    from ..bench.scheduler import run_experiment
    from ..model.errors import Interrupted

    directory = open_run.writer.directory
    again = f"sixbench calibrate --out {directory}"
    with keeping_trials(directory, again):
        try:
            with ProgressDisplay(output.quiet, open_run.done) as progress:
                end = run_experiment(open_run, observers(progress, log))
        except Interrupted as stop:
            note(f"sixbench: stopped; continue with: {again}")
            return stop.exit_code
        present(directory, output.as_json, is_new=True)
        return Exit.DONE if end.state == "complete" else Exit.PARTLY


def present(directory: Path, json: bool, *, is_new: bool) -> None:
    """Assesses a calibration, writes what follows from it into its directory, and prints it.

    Args:
        is_new: whether it was made just now on this machine, so that later runs should use it.
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
    assessments = assess(readings(run, METRICS))
    calibration = calibration_of(run.manifest, assessments)
    with contextlib.suppress(StoreError):
        known = read_calibration(calibration.machine, calibration.kernel)
        calibration = replace(calibration, false_alarms=None if known is None else known.false_alarms)
    document = calibration_to_json(calibration, results_of(assessments))
    written = write_derived(run, {"calibration.json": document, "report.html": html(assessments, run)})
    say_document(document) if json else say_lines(render(assessments))
    note(f"report: {written['report.html']}")
    if is_new:
        kept = keep_calibration(document, calibration.machine, calibration.kernel)
        note(f"kept for later runs: {kept}")
