"""Whatever of a run on workers is killed in its midst: no trial is lost, none is there twice, and no block is half."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.worker_machines import Machines, machines
from waiting import PATIENCE_S, wait_for

from sixbench.agent import AgentHub, find_agent
from sixbench.plan.schedule import all_trials
from sixbench.store import read_run, verify_run

EXPERIMENT = """
experiment: killed
topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2]}]}
paths: {ipv4: native4, ipv6: native6}
workloads:
  - ping: {interval: 10ms, count: 10, warmup: 0s}
  - udp-rr: {duration: 300ms, warmup: 0s}
blocks: 40
"""


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Machines]:
    with AgentHub(find_agent()) as hub, machines(hub, tmp_path) as actual_machines:
        yield actual_machines


def blocks(directory: Path) -> int:
    """Number of blocks that have a trial that was recorded."""
    return len({trial.name.partition("-")[0] for trial in directory.glob("trials/b*-*")})


def test_kills(pair: Machines, tmp_path: Path) -> None:
    dice = random.Random(19)
    (tmp_path / "killed.yaml").write_text(EXPERIMENT)
    directory = tmp_path / "out"
    scheduler = pair.scheduler()
    workers = pair.workers("lab1", "lab2")
    run = pair.run("run", tmp_path / "killed.yaml", "--out", directory)
    for victim in ("worker", "scheduler", "run", "worker", "run"):
        there = blocks(directory)
        after = min(there + dice.randint(2, 4), 38)
        wait_for(lambda: run.poll() is not None or blocks(directory) >= after)  # noqa: B023, called at once
        assert run.poll() is None, pair.output_of("head", "run") + pair.output_of("head", "resume")
        if victim == "worker":
            name = dice.choice(sorted(workers))
            pair.kill(workers[name])
            workers[name] = pair.begin_worker(name)
        elif victim == "scheduler":
            pair.kill(scheduler)
            scheduler = pair.scheduler()
        else:
            pair.kill(run)
            run = pair.run("resume", directory)
    assert run.wait(PATIENCE_S) == 0, pair.output_of("head", "run") + pair.output_of("head", "resume")
    actual_run = read_run(directory)
    assert actual_run.problems == ()
    assert verify_run(actual_run) == []
    planned = [trial.key for trial in all_trials(actual_run.manifest.experiment)]
    first = [trial for trial in actual_run.trials if trial.repeat is None]
    assert sorted(trial.key for trial in first) == sorted(planned)
    # There is room for the repeats of each trial.
    assert [trial.sequence for trial in first] == [3 * position + 1 for position in range(len(planned))]
    measured_by: dict[int, set[tuple[str | None, int | None]]] = {}
    for trial in actual_run.trials:
        measured_by.setdefault(trial.block, set()).add((trial.worker, trial.attempt))
    assert all(len(item) == 1 for item in measured_by.values()), measured_by
    assert list((directory / "arrived").iterdir()) == []
