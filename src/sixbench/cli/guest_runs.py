"""`sixbench run` on kernels of emulated machines."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..model.errors import Bug, Interrupted, SixbenchError, UsageError
from ..model.exit_codes import Exit
from ..model.quoting import listed, printable
from .bugs import keeping_trials
from .common import note, say_lines
from .consent import refuse_programs_in_guests
from .event_logs import refuse_in_guests
from .presenting import present
from .run_requests import RunOutput, RunRequest
from .running import tell

if TYPE_CHECKING:
    from ..model.experiment import Experiment
    from ..store import Clock, RunWriter


def check_clock(clock: str | None, experiment: Experiment) -> Clock:
    """The clock that `--clock` asks for. Raises `UsageError` if there is no such clock, or no kernel that could have
    it."""
    if clock not in (None, "virtual", "real"):
        raise UsageError(f"--clock {printable(clock)}: give virtual or real")
    if clock == "virtual" and not experiment.kernels:
        raise UsageError(
            "--clock virtual: only an emulated machine has this clock; name a kernel too, such as --kernel debian-6.1"
        )
    return "real" if clock == "real" else "virtual"


def run_in_guests(request: RunRequest, experiment: Experiment, clock: Clock) -> int:
    """Runs an experiment on its kernels. Returns the exit code and raises what a run raises. A run directory that has
    no trials then is removed."""
    from ..agent import find_agent
    from ..bench.environment import gather
    from ..bench.other_runs import measuring

    refuse_in_guests(request.output.events)
    refuse_programs_in_guests(experiment.paths, experiment.combinations)
    with measuring(experiment.name, wait=request.wait, report=tell):
        directory = request.directory(experiment)
        environment = replace(gather(find_agent(), {}, in_user_namespace=False), clock=clock)
        manifest = request.first_manifest(directory, experiment, environment)
        with request.begin(directory, manifest) as writer:
            return resume_in_guests(writer, request.output)


def resume_in_guests(writer: RunWriter, output: RunOutput) -> int:
    """Runs what is left: the kernels that have no trials yet. Returns the exit code; raises as `run_in_guests`."""
    from ..agent import find_agent
    from ..bench.guests import run_on_kernels

    def note_line(kernel: str, line: str) -> None:
        if not output.quiet:
            note(f"{kernel}: {line}")

    manifest = writer.manifest
    if not output.quiet:
        note(f"running {manifest.experiment.name} on {listed(manifest.experiment.kernels)}")
    try:
        with keeping_trials(writer.directory, f"sixbench resume {writer.directory}"):
            state = run_on_kernels(manifest.experiment, writer, find_agent(), manifest.environment.clock, note_line)
    except Bug:
        writer.set_state("interrupted", time.time_ns())
        raise
    except (SixbenchError, KeyboardInterrupt) as error:
        guests = list(writer.manifest.guests)
        if guests:
            writer.set_state("interrupted", time.time_ns())
            present(writer.directory, output.as_json)
        else:
            writer.discard()
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(_stopped(guests, writer.directory)) from None
        raise
    writer.set_state(state, time.time_ns())
    present(writer.directory, output.as_json)
    return Exit.DONE if state == "complete" else Exit.PARTLY


def _stopped(guests: list[str], directory: Path) -> str:
    """The trials that are kept of a run that was stopped."""
    if not guests:
        return "stopped; an emulated machine hands over its trials when all of them are done, so none are kept"
    return (
        f"stopped; the trials of {listed(guests)} are kept in {directory}; continue with: sixbench resume {directory}"
    )


def doctor_in_guest(name: str, json: bool) -> int:
    """`sixbench doctor` in a guest with that kernel. Returns its exit code; raises what `boot` raises."""
    from ..agent import find_agent
    from ..bench.guests import examine_kernel

    result = examine_kernel(name, find_agent(), json)
    say_lines(result.stdout)
    for line in result.stderr_lines:
        note(line)
    return result.exit
