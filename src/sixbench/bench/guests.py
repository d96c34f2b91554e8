"""An experiment in emulated machines. Each kernel has a guest, in which sixbench itself runs the experiment as it would
here.

The run directory is made as for any run and goes into the guest with no trial in it yet; the guest resumes it. The
result is a run directory with its trials. The trials of all guests are taken over into one directory.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

from ..guest import JOB, GuestKernel, GuestResult, GuestTask, boot, find_kernel, find_qemu
from ..model.errors import TRACEBACK_FILE, Bug, CapabilityError, ExperimentError, Problem
from ..model.exit_codes import Exit
from ..model.experiment import Experiment
from ..model.kernels import COLUMN
from ..model.path import Path as NetworkPath
from ..model.workloads import WORKLOADS
from ..store import Clock, Manifest, Run, RunState, RunWriter, adopt_trials, create_run, nowhere, read_run
from .parts import trial_expected_ns
from .session import limit_ns

START_S = 120
"""The time that a guest has on its own clock for everything but trials: a start takes some 5 s, a network 1 s."""

DOCTOR_S = 600
"""Longest time that examining a kernel may take on its guest's clock; it takes some 20 s."""

BETWEEN_NS = 2 * 10**9
"""Longest time that a trial may take on the guest's clock beyond its measuring; it takes 0.5 s."""

REAL_PER_VIRTUAL = 40
"""A virtual second costs 3 real ones here, and many times that on a machine that others use."""

QUIET_S = 15
"""Interval at which a guest reports its progress on its clock, between two trials."""

FILE = "experiment.yaml"
"""A guest's name for the experiment's file, whatever it is called here."""

_PROBLEM = re.compile(rf"{re.escape(FILE)}:(?P<line>[0-9]{{1,9}}): (?P<key>topology\S*): (?P<message>.+)")
"""The guest's message about a setting that its kernel refuses."""

GuestReport = Callable[[str, str], None]
"""A function that gets a kernel, and a line that the run on it printed."""


def run_on_kernels(
    experiment: Experiment, writer: RunWriter, agent: Path, clock: Clock, report: GuestReport
) -> RunState:
    """Runs an experiment on each of its kernels and keeps the trials; kernels whose trials are there are passed over.

    On the virtual clock the guests run side by side, one a core: it makes no difference to what they measure.

    Raises:
        CapabilityError: a guest cannot be started, or a run in it is refused, for the reason given. Others are stopped.
        ExperimentError: the guest's kernel refuses a setting of a node, told at its place in the file; likewise.
        KeyboardInterrupt: likewise.
    """
    todo = [name for name in experiment.kernels if name not in writer.manifest.guests]
    kernels = [find_kernel(name) for name in todo]  # before QEMU: a mistyped name is the user's to mend first
    find_qemu()
    stop = threading.Event()
    lock = threading.Lock()

    def run_kernel(kernel: GuestKernel) -> RunState:
        command = _command(writer.manifest, kernel.name, agent, clock)
        result = boot(kernel, command, lambda line: report(kernel.name, line), stop)
        if result.pace is not None:
            report(kernel.name, str(result.pace))
        with lock:
            return _take_over(writer, kernel.name, result)

    at_once = min(len(kernels), os.cpu_count() or 1) if clock == "virtual" else 1
    with ThreadPoolExecutor(max(1, at_once)) as pool:
        try:
            ends = [pool.submit(run_kernel, kernel) for kernel in kernels]
            done, _ = wait(ends, return_when=FIRST_EXCEPTION)
            states = [end.result() for end in done]
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return "complete" if all(state == "complete" for state in states) else "partial"


def examine_kernel(name: str, agent: Path, json: bool) -> GuestResult:
    """The result of `sixbench doctor` in a guest with that kernel. Raises `CapabilityError`."""
    arguments = ("doctor", "--json") if json else ("doctor",)
    command = GuestTask(arguments=arguments, agent=agent, limit_s=DOCTOR_S)
    return boot(find_kernel(name), command, lambda line: None)


def on_kernel(experiment: Experiment, kernel: str) -> Experiment:
    """The part of an experiment that runs on one of its kernels."""
    combinations = tuple(c for c in experiment.combinations if c.levels.get(COLUMN, kernel) == kernel)
    return replace(experiment, combinations=combinations, kernels=())


def limit_s(experiment: Experiment) -> int:
    """Longest time that an experiment may take in a guest on its clock."""
    return START_S + (1 + experiment.repeats) * sum(_longest_ns(experiment)) * experiment.blocks.maximum // 10**9


def silence_s(experiment: Experiment) -> float:
    """Longest silence of a guest, by this machine's clock."""
    return REAL_PER_VIRTUAL * (QUIET_S + max(_longest_ns(experiment), default=0) / 1e9)


def _longest_ns(experiment: Experiment) -> list[int]:
    """Longest time of each trial of a block, in ns on the guest's clock."""
    workloads = [combination.workload for combination, _ in experiment.path_combinations]
    times = [trial_expected_ns(WORKLOADS[workload.kind], workload.params) for workload in workloads]
    return [BETWEEN_NS + limit_ns(time_ns, workload.params) for time_ns, workload in zip(times, workloads, strict=True)]


def _command(manifest: Manifest, kernel: str, agent: Path, clock: Clock) -> GuestTask:
    experiment = on_kernel(manifest.experiment, kernel)
    with tempfile.TemporaryDirectory(prefix="sixbench-") as scratch:
        job = Path(scratch) / "job"
        create_run(job, _the_same_everywhere(replace(manifest, experiment=experiment))).close()
        files = {path.name: path.read_bytes() for path in job.iterdir() if path.is_file()}
    return GuestTask(
        arguments=("resume", JOB, "--no-report"),
        files=files,
        agent=agent,
        clock=clock,
        seed=experiment.seed,
        limit_s=limit_s(experiment),
        silence_s=silence_s(experiment),
    )


def _the_same_everywhere(manifest: Manifest) -> Manifest:
    """The manifest without what differs between two runs of an experiment, because the guest would read that. The guest
    fills in where it runs."""
    experiment = replace(manifest.experiment, file=FILE)
    return Manifest(
        run="guest",
        experiment=experiment,
        environment=nowhere(manifest.environment.clock),
        state="running",
        started_realtime_ns=0,
        quick=manifest.quick,
        capture=manifest.capture,
    )


def _take_over(writer: RunWriter, kernel: str, result: GuestResult) -> RunState:
    with tempfile.TemporaryDirectory(prefix="sixbench-") as scratch:
        try:
            _write(Path(scratch), result.files)
        except (OSError, ValueError) as error:  # a guest may give any names: `a` and `a/b`, or one with a zero byte
            raise CapabilityError(f"on {kernel}: writing its results into {scratch}: {error}") from error
        if result.exit == Exit.BUG:
            text = result.files.get(TRACEBACK_FILE, b"").decode(errors="replace")
            raise Bug(directory=writer.directory, resume=f"sixbench resume {writer.directory}", traceback=text or None)
        if result.exit == Exit.USAGE and (refused := _refused(kernel, result, writer.manifest.experiment.file)):
            raise ExperimentError(refused)
        run = read_run(Path(scratch)) if result.files else None
        if run is not None and run.problems:
            raise CapabilityError(f"on {kernel}: {run.problems[0]}")
        if run is None or not run.trials or result.exit not in (0, 4):
            raise CapabilityError(f"on {kernel}: {_last_words(result)}")
        adopt_trials(writer, run, _sequence_before(writer.manifest.experiment, kernel))
        _note(writer, kernel, run)
    return run.manifest.state


def _write(directory: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _refused(kernel: str, result: GuestResult, file: str) -> list[Problem]:
    """The guest's messages about settings that its kernel refuses; `file` is the experiment's here."""
    return [
        Problem(
            file=file,
            line=int(match["line"]),
            key=match["key"],
            message=f"with the kernel {kernel}: {match['message']}",
        )
        for match in filter(None, map(_PROBLEM.fullmatch, result.stderr_lines))
    ]


def _last_words(result: GuestResult) -> str:
    names = [line for line in result.stderr_lines if line.strip()]
    return names[-1].removeprefix("sixbench: ") if names else f"the run in the guest ended with {result.exit}"


def _sequence_before(experiment: Experiment, kernel: str) -> int:
    """The sequence number before a kernel's first trial. It leaves room for all trials of the kernels before it, with
    all repeats that they may have, so that the order in which guests end makes no difference."""
    on_this_kernel = on_kernel(experiment, kernel)
    return (
        experiment.kernels.index(kernel)
        * len(on_this_kernel.path_combinations)
        * on_this_kernel.blocks.maximum
        * (1 + on_this_kernel.repeats)
    )


def _note(writer: RunWriter, kernel: str, run: Run) -> None:
    before, there = writer.manifest, run.manifest
    guests = before.guests | {kernel: there.environment}
    first = next(name for name in before.experiment.kernels if name in guests)
    writer.save_manifest(
        environment=guests[first],
        guests={name: guests[name] for name in before.experiment.kernels if name in guests},
        experiment=replace(before.experiment, paths=_engines(before, there)),
        bypass=before.bypass + there.bypass,
        lab_build_ns=[*before.lab_build_ns, *there.lab_build_ns],
        install_ns=before.install_ns
        | {path: [*before.install_ns.get(path, []), *times] for path, times in there.install_ns.items()},
    )


def _engines(before: Manifest, there: Manifest) -> tuple[NetworkPath, ...]:
    """The paths with the engines that the guest chose; with none where another kernel chose another one."""
    if not before.guests:
        return there.experiment.paths
    pairs = zip(before.experiment.paths, there.experiment.paths, strict=True)
    return tuple(old if old.engine == new.engine else replace(old, engine=None) for old, new in pairs)
