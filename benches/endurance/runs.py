"""Small runs to do harm to, and what must hold of their directories afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sixbench.model.errors import SixbenchError
from sixbench.model.experiment import PlannedTrial
from sixbench.model.repeats import next_attempt
from sixbench.store import Run, read_run, verify_run

EXPERIMENT = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2], delay: 200us}, {endpoints: [r2, h2]}]
between: [h1, h2]
paths: {ipv4: native4, ipv6: native6, tunnel: {6in4: [r1, r2]}}
baseline: ipv4
workloads: [{ping: {count: 3, interval: 1ms}}, {tcp-rr: {duration: 60ms, warmup: 0s}}]
blocks: 3
"""
"""Trials of some 100 ms, over both families, a tunnel (so BPF programs) and a link of our emulator."""

GUEST_EXPERIMENT = """
topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2]}]}
paths: {ipv4: native4, ipv6: native6}
workloads: [{ping: {count: 3, interval: 1ms}}]
blocks: 2
"""

_POLL_S = 0.002
PATIENCE_S = 300.0
"""The most time that a run may take to end. A run that takes longer hangs."""

TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True, kw_only=True)
class Ended:
    """End of a command: its code (the negative number of the signal that killed it) and its output. The code is None
    where it had to be killed because it hung."""

    code: int | None
    output: str


class Running:
    """A command of sixbench that goes on, in a session of its own."""

    def __init__(
        self,
        *arguments: str,
        scratch: Path,
        environment: dict[str, str] | None = None,
        prefix: tuple[str, ...] = (),
    ) -> None:
        self._output = scratch / "output.txt"
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [*prefix, sys.executable, "-P", "-m", "sixbench", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "TMPDIR": str(created(scratch / "tmp")), **(environment or {})},
            )
        self.started_s = time.monotonic()

    def wait_until(self, moment_s: float) -> bool:
        """Waits until so long after the start; whether the command was still going on then."""
        return self.wait_for(self.started_s + moment_s - time.monotonic())

    def wait_for(self, seconds: float) -> bool:
        """Waits for so long; whether the command was still going on then."""
        try:
            self.process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return True
        return False

    def wait_for_trials(self, directory: Path, count: int) -> bool:
        """Waits until the run has recorded so many trials; whether the command was still going on then."""
        while recorded(directory) < count:
            if not self.wait_for(_POLL_S):
                return False
        return self.process.poll() is None

    def end(self, patience_s: float = PATIENCE_S) -> Ended:
        """Waits until it ends."""
        try:
            code: int | None = self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            code = None
        return Ended(code=code, output=self._output.read_text(errors="replace"))


def sixbench(*arguments: str, scratch: Path, environment: dict[str, str] | None = None) -> Ended:
    """Runs a command to its end."""
    return Running(*arguments, scratch=scratch, environment=environment).end()


def created(folder: Path) -> Path:
    """The folder, made where it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def acknowledged(directory: Path) -> dict[str, str]:
    """The trials that the run has recorded by now: key to the hash of the record's file. A line of the journal is
    written before anyone is told of the trial."""
    known: dict[str, str] = {}
    for trial in sorted((directory / "trials").glob("*/trial.json")):
        if not trial.parent.name.endswith(".partial"):
            known[trial.parent.name] = sha256(trial.read_bytes()).hexdigest()
    return known


def recorded(directory: Path) -> int:
    """Number of trials that the run has recorded by now."""
    try:
        return sum(not entry.name.endswith(".partial") for entry in os.scandir(directory / "trials"))
    except FileNotFoundError:
        return 0


def is_begun(directory: Path) -> bool:
    """True if there is a run that can be resumed."""
    return (directory / "manifest.json").exists()


def has_ended(directory: Path) -> bool:
    """True if the run's manifest says that it has ended."""
    return is_begun(directory) and '"state": "running"' not in (directory / "manifest.json").read_text(encoding="utf-8")


def unfinished(experiment: Path, directory: Path, scratch: Path, *options: str) -> None:
    """Makes a run directory without any trial, which `resume` then runs."""
    running = Running("run", str(experiment), "--out", str(directory), "--quiet", *options, scratch=scratch)
    running.wait_for_trials(directory, 1)  # a run that is stopped before its first trial leaves no directory
    running.process.send_signal(signal.SIGTERM)
    running.end()
    for trial in (directory / "trials").iterdir():
        shutil.rmtree(trial)
    (directory / "accepted.jsonl").unlink(missing_ok=True)
    manifest = json.loads((directory / "manifest.json").read_text())
    manifest |= {"state": "running", "accepted": {}}
    (directory / "manifest.json").write_text(json.dumps(manifest))


def planned_keys(directory: Path) -> set[str]:
    """The trials of an undisturbed run, without repeats: which trials are repeated is a matter of chance."""
    return {trial.key for trial in read_run(directory).trials if trial.repeat is None}


def differing_keys(run: Run, planned: set[str]) -> list[str]:
    """Where the trials of a run differ from those that were planned, and the repeats that its rule asks for and that
    are not there."""
    firsts = [trial for trial in run.trials if trial.repeat is None]
    attempts = [
        next_attempt(
            PlannedTrial(block=first.block, combination=first.combination, path=first.path),
            run.by_key,
            run.manifest.experiment.repeats,
        )
        for first in firsts
    ]
    return sorted({first.key for first in firsts} ^ planned | {due.key for due in attempts if due is not None})


def wrong_with(directory: Path, planned: set[str], before: dict[str, str]) -> dict[str, list[str]]:
    """Faults of a run that has been resumed to its end: trials that were acknowledged before and are `lost` or changed,
    what is `half` there, and where the `set` of trials differs from an undisturbed run's."""
    try:
        run = read_run(directory)
    except SixbenchError as error:
        return {"unreadable": [str(error)]}
    now = acknowledged(directory)
    return {
        "lost": [key for key, digest in before.items() if now.get(key) != digest],
        "half": [*verify_run(run), *(str(path) for path in directory.rglob("*.partial"))],
        "set": differing_keys(run, planned),
    }
