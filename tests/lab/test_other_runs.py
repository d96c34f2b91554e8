"""Several runs at once on one machine: each has its own directory, says that others measure, and can wait for them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_for

from sixbench.bench.other_runs import running

EXPERIMENT = """
experiment: {name}
topology: {{nodes: {{h1: host, h2: host}}, links: [{{endpoints: [h1, h2]}}]}}
paths: {{ipv4: native4}}
workloads: [ping: {{interval: 10ms, duration: {duration}, warmup: 0s}}]
blocks: {blocks}
"""
OURS = f"tested{os.getpid()}-"


class Runs:
    """Runs in the background, from one directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.begun: list[subprocess.Popen[str]] = []

    def begin(self, name: str, *options: str, blocks: int = 2, duration: str = "300ms") -> subprocess.Popen[str]:
        """Starts a run, which makes its directory itself."""
        file = self.directory / f"{name}.yaml"
        file.write_text(EXPERIMENT.format(name=name, blocks=blocks, duration=duration))
        command = [sys.executable, "-m", "sixbench", "run", file.name, "--quiet", *options]
        process = subprocess.Popen(
            command, cwd=self.directory, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.begun.append(process)
        return process

    def records(self, name: str) -> dict[str, list[dict[str, Any]]]:
        """The records of each run of that name so far."""
        return {
            run.name: [
                json.loads(file.read_text())
                for file in sorted(run.glob("trials/*/trial.json"))
                if file.parent.suffix != ".partial"
            ]
            for run in (self.directory / "runs").glob(f"{name}-*")
        }

    def until(self, name: str, trials: list[int]) -> list[list[dict[str, Any]]]:
        """The records of the runs of that name, once there are so many. Nobody waits for reports."""
        wait_for(lambda: sorted(map(len, self.records(name).values())) == trials or self._ended_badly())
        return list(self.records(name).values())

    def _ended_badly(self) -> bool:
        bad = [process for process in self.begun if process.poll() not in (None, 0, -signal.SIGKILL)]
        assert not bad, [process.communicate() for process in bad]
        return False


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    runs = Runs(tmp_path)
    yield runs
    for process in runs.begun:
        process.kill()
        process.communicate()


def measures(name: str) -> bool:
    return any(other.name == name for other in running() or ())


def test_three_runs_that_start_at_once_all_work(runs: Runs) -> None:
    name = f"{OURS}three"
    for _ in range(3):
        runs.begin(name)
    assert [len(item) for item in runs.until(name, [2, 2, 2])] == [2, 2, 2]


def test_each_trial_says_that_another_run_measured_during_it(runs: Runs) -> None:
    long, short = f"{OURS}long", f"{OURS}short"
    first = runs.begin(long, blocks=400)
    wait_for(lambda: measures(long))
    second = runs.begin(short)
    assert second.stderr is not None
    assert f"{long} (process {first.pid})" in second.stderr.readline()
    [records] = runs.until(short, [2])
    assert all(long in record["other_runs"] for record in records)
    # The trial of the long run that was under way then is recorded when it ends.
    wait_for(lambda: any(short in record["other_runs"] for beside in runs.records(long).values() for record in beside))


def test_a_run_waits_for_another_even_if_that_is_killed(runs: Runs) -> None:
    long, waiting = f"{OURS}long", f"{OURS}waiting"
    first = runs.begin(long, blocks=400)
    wait_for(lambda: measures(long))
    second = runs.begin(waiting, "--wait")
    assert second.stderr is not None
    assert second.stderr.readline().startswith("sixbench: waiting for ")
    assert (measures(waiting), runs.records(waiting)) == (False, {})
    first.kill()
    first.communicate()
    [records] = runs.until(waiting, [2])
    assert not any(long in record["other_runs"] for record in records)
