"""Runs that the page starts: one at a time, the others wait in a queue. Each is a separate `sixbench run`.

A run has its own session and writes into files, so that it continues when the page ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from ..lab.own_program import own_command
from ..model.errors import StoreError, UsageError
from ..store import Folder
from . import two_machines
from .check import CheckedExperiment
from .commands import Commands
from .events import LOG_SUFFIX

State = Literal["waiting", "running", "ended"]
MOST_WAITING = 20
EXPERIMENT_SUFFIX = ".yaml"
"""The experiment of run NAME, written on the page, is NAME.yaml, beside its directory."""
SIXBENCH = tuple(own_command())
LAST_WORDS_BYTES = 4000


@dataclass(kw_only=True)
class RequestedRun:
    """A run that was requested.

    Attributes:
        name: of its directory.
        words: the last lines of the command where it did not succeed.
        key: the descriptor of the file with the key of a measurement. It is closed at the end of the job.
    """

    name: str
    command: list[str]
    title: str
    state: State = "waiting"
    exit_code: int | None = None
    words: str = ""
    key: int | None = field(default=None, repr=False)
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def end(self) -> None:
        """Marks the job as ended, and closes the file with the key, if there is one."""
        self.state = "ended"
        if self.key is not None:
            os.close(self.key)
            self.key = None

    def summary(self) -> dict[str, Any]:
        return {
            "run": self.name,
            "title": self.title,
            "state": self.state,
            "exit_code": self.exit_code,
            "words": self.words,
        }


class Jobs:
    """The runs of the page, in the order in which they were requested."""

    def __init__(self, directory: Path, commands: Commands) -> None:
        self._directory = directory
        self._commands = commands
        self._jobs: dict[str, RequestedRun] = {}

    def summaries(self) -> list[dict[str, Any]]:
        return [job.summary() for job in self._jobs.values()]

    def is_under_way(self, name: str) -> bool:
        """True if the page started a run of that name that has not ended."""
        return name in self._jobs and self._jobs[name].state != "ended"

    def start(self, checked: CheckedExperiment) -> RequestedRun:
        """Queues a run of a checked experiment. Raises `UsageError` where too many wait,
        `WriteError` or `StoreError` where nothing can be written."""
        self._refuse_too_many()
        self._make_directory()
        name = self._free_name(f"{checked.experiment.name}-{time.strftime('%Y%m%d-%H%M%S')}")
        experiment = checked.name
        if experiment is None:
            file = f"{name}{EXPERIMENT_SUFFIX}"
            Folder.open(self._directory).write(file, checked.text)
            experiment = str(self._directory.resolve() / file)
        command = [*SIXBENCH, "run", experiment, *checked.options]
        command += ["--out", str(self._directory.resolve() / name), "--events", str(self._log(name)), "--wait"]
        return self._queue(
            RequestedRun(name=name, command=command, title=checked.experiment.title or checked.experiment.name)
        )

    def measure(self, measurement: two_machines.MeasurementOfPage) -> RequestedRun:
        """Queues a measurement to another machine. Raises as `start` does."""
        self._refuse_too_many()
        self._make_directory()
        name = self._free_name(f"measure-{time.strftime('%Y%m%d-%H%M%S')}")
        command = [*SIXBENCH, "measure", *measurement.words]
        key = None
        if measurement.key is not None:
            key = two_machines.held_key(measurement.key)
            command += ["--key", f"/proc/{os.getpid()}/fd/{key}"]
        command += ["--out", str(self._directory.resolve() / name), "--events", str(self._log(name))]
        return self._queue(RequestedRun(name=name, command=command, title=measurement.title, key=key))

    def resume(self, name: str, run_directory: Path, title: str) -> RequestedRun:
        """Queues the rest of an interrupted run, and continues its log if this directory has one. Raises `UsageError`
        where too many wait."""
        self._refuse_too_many()
        place = self._directory.resolve()
        place = place if run_directory == self._directory else place / run_directory.name
        command = [*SIXBENCH, "resume", str(place), "--wait"]
        if self._has_log(name):
            command += ["--events", str(self._log(name))]
        return self._queue(RequestedRun(name=name, command=command, title=title))

    def stop(self, name: str) -> None:
        """Ends a run that has started as Ctrl-C does, or removes it from the queue.

        It sends SIGTERM, because a run inherits an ignored SIGINT, such as from a script that starts it with `&`.
        """
        job = self._jobs[name]
        if job.process is None:
            job.words = "removed from the queue"
            job.end()
        else:
            with contextlib.suppress(ProcessLookupError):
                job.process.send_signal(signal.SIGTERM)

    def _make_directory(self) -> None:
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"making {self._directory}: {error.strerror}") from error

    def _refuse_too_many(self) -> None:
        if sum(job.state == "waiting" for job in self._jobs.values()) >= MOST_WAITING:
            raise UsageError(f"{MOST_WAITING} runs are waiting already; remove one of them first")

    def _queue(self, job: RequestedRun) -> RequestedRun:
        self._jobs[job.name] = job
        self._begin_next()
        return job

    def _log(self, name: str) -> Path:
        return self._directory.resolve() / f"{name}{LOG_SUFFIX}"

    def _has_log(self, name: str) -> bool:
        try:
            return Folder.open(self._directory).has_file(f"{name}{LOG_SUFFIX}")
        except OSError:
            return False

    def _begin_next(self) -> None:
        """Begins the first run that waits, if none is running."""
        jobs = self._jobs.values()
        job = next((job for job in jobs if job.state == "waiting"), None)
        if job is None or any(job.state == "running" for job in jobs):
            return
        job.state = "running"
        job.process = self._commands.begin(
            job.command, lambda code, output: self._ended(job, code, output), heard="stderr"
        )

    def _ended(self, job: RequestedRun, code: int, output: IO[bytes]) -> None:
        job.exit_code = code
        if code != 0:
            job.words = _end_of(output)
        job.end()
        self._begin_next()

    def _free_name(self, wanted: str) -> str:
        folder = Folder.open(self._directory)
        number = 1
        while True:
            name = wanted if number == 1 else f"{wanted}-{number}"
            taken = any(folder.has(f"{name}{suffix}") for suffix in ("", LOG_SUFFIX, EXPERIMENT_SUFFIX))
            if name not in self._jobs and not taken:
                return name
            number += 1


def _end_of(file: IO[bytes]) -> str:
    """The last lines of a command's output."""
    size = file.seek(0, 2)
    file.seek(max(0, size - LAST_WORDS_BYTES))
    lines = file.read().decode(errors="replace").splitlines()
    return "\n".join(line for line in lines if line.startswith("sixbench:") or ": " in line)[-LAST_WORDS_BYTES:]
