"""`sixbench run` and `sixbench resume`."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .common import default_directory, load_experiment, load_paper, note, paper_name
from .progress import Progress
from .running import agent_hub, probe_machine

if TYPE_CHECKING:
    from ..agent import AgentHub
    from ..model.experiment import Experiment
    from ..model.finding import Analysis
    from ..model.trial import TrialRecord
    from ..store import Run, RunWriter


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
) -> int:
    """Run an experiment: build its network, measure, and report."""
    from ..lab.privileges import enter_namespace_if_needed

    loaded = load_experiment(experiment, set_, quick, blocks, seed)
    directory = out or default_directory(loaded.name)
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
            command=["sixbench", *sys.argv[1:]],
        )
        writer = create_run(directory, manifest)
        return _measure(loaded, writer, [], hub, json, quiet)


def resume(
    directory: Path = typer.Argument(help="The directory of an interrupted run."),
    json: bool = typer.Option(False, "--json", help="Print the findings as JSON."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress."),
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
    enter_namespace_if_needed(sys.argv[1:])
    with agent_hub() as hub:
        experiment, _ = probe_machine(hub, run_so_far.manifest.experiment)
        writer.save_manifest(state="running")
        return _measure(experiment, writer, run_so_far.trials, hub, json, quiet)


def _measure(
    experiment: Experiment, writer: RunWriter, done: list[TrialRecord], hub: AgentHub, json: bool, quiet: bool
) -> int:
    from ..model.errors import Interrupted
    from ..run.scheduler import run_experiment
    from ..theory import expected

    try:
        with Progress(quiet) as progress:
            end = run_experiment(experiment, writer, done, hub, expected, progress)
    except Interrupted as stop:
        note(f"sixbench: {stop}")
        present(writer.directory, json)
        return stop.exit_code
    present(writer.directory, json)
    return 0 if end.state == "complete" else 4


def present(directory: Path, json: bool) -> None:
    """Analyses a run, writes what is derived from it into its directory, and prints the findings."""
    from ..analysis import analyse
    from ..report import FORMATS
    from ..store import read_run, write_derived

    finished = read_run(directory)
    analysis = analyse(finished, load_paper(finished.manifest.paper))
    as_json = FORMATS["json"].render(finished, analysis)
    as_html = FORMATS["html"].render(finished, analysis)
    written = write_derived(finished, {"report.html": as_html, "findings.json": as_json})
    if json:
        typer.echo(as_json, nl=not as_json.endswith("\n"))
    else:
        typer.echo(terminal_report(finished, analysis, written["report.html"]), nl=False)


def terminal_report(run: Run, analysis: Analysis, report_path: Path | None = None) -> str:
    """The report for a terminal: as wide as it is and in colour where there is one, else 80 columns of plain text."""
    import shutil

    from ..report import terminal

    colour = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if colour else 80
    return terminal.render(
        run,
        analysis,
        width=max(60, min(width, 160)),
        colour=colour,
        report_path=None if report_path is None else str(report_path),
    )
