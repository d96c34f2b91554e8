"""Workers: a run whose blocks two machines measure, and what is said where that cannot be."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.conftest import SixbenchCommand
from lab.worker_machines import Machines, machines
from waiting import PATIENCE_S, wait_for

from sixbench.agent import AgentHub, find_agent
from sixbench.plan.schedule import all_trials
from sixbench.store import read_run, verify_run

EXPERIMENT = """
experiment: shared
topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2]}]}
paths: {ipv4: native4, ipv6: native6}
workloads:
  - ping: {interval: 10ms, count: 10, warmup: 0s}
  - udp-rr: {message: [64B, 1KiB], duration: 50ms, warmup: 0s}
blocks: 6
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A scheduler with two workers."""
    with AgentHub(find_agent()) as hub, machines(hub, tmp_path_factory.mktemp("machines")) as actual_machines:
        actual_machines.scheduler()
        actual_machines.workers("lab1", "lab2")
        yield actual_machines


@pytest.fixture(scope="module")
def run(pair: Machines, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that they have measured."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "shared.yaml").write_text(EXPERIMENT)
    documented = [folder / "shared.yaml" if word == "quickstart" else word for word in pair.documented("head", "run")]
    process = pair.begin("head", *documented, "--out", folder / "out", "--quiet")
    assert process.wait(PATIENCE_S) == 0, pair.output_of("head", "run")
    return folder / "out"


def test_each_block_is_whole_on_one_worker(run: Path) -> None:
    actual_run = read_run(run)
    assert actual_run.problems == ()
    assert verify_run(actual_run) == []
    planned = list(all_trials(actual_run.manifest.experiment))
    assert {trial.key for trial in actual_run.trials if trial.repeat is None} == {trial.key for trial in planned}
    # There is room for the repeats of each trial.
    first = [trial.sequence for trial in actual_run.trials if trial.repeat is None]
    assert first == [3 * position + 1 for position in range(len(planned))]
    workers = {block: {trial.worker for trial in actual_run.trials if trial.block == block} for block in range(1, 7)}
    assert all(len(names) == 1 for names in workers.values()), workers
    assert set.union(*workers.values()) == {"lab1", "lab2"}
    assert actual_run.manifest.state == "complete"


def test_evidence_and_files_come_with_the_trials(run: Path) -> None:
    actual_run = read_run(run)
    trial = next(trial for trial in actual_run.trials if trial.workload == "ping")
    names = {file.name for file in (run / "trials" / trial.key).iterdir()}
    assert {"trial.json", "h1-h2.pcapng"} <= names
    assert trial.evidence.counters
    assert trial.other_runs == []


def test_the_manifest_says_what_the_workers_are(run: Path) -> None:
    workers = read_run(run).manifest.workers
    assert sorted(workers) == ["lab1", "lab2"]
    for worker in workers.values():
        assert worker.environment.kernel
        assert worker.environment.processors is not None
        assert worker.environment.nodes["h1"]["net.ipv4.tcp_congestion_control"]
        assert {item.workload for item in worker.bypass} >= {"udp-rr"} or worker.bypass == ()


def test_the_report_has_what_each_worker_says(run: Path) -> None:
    workers = json.loads((run / "findings.json").read_text())["workers"]
    assert sorted(machine["name"] for machine in workers["machines"]) == ["lab1", "lab2"]
    assert sum(machine["blocks"] for machine in workers["machines"]) == 6
    assert all(sum(worker["n"] for worker in item["workers"]) == 6 for item in workers["by_worker"])
    assert "Change by worker" in (run / "report.html").read_text()


def refused(pair: Machines, *arguments: str | Path) -> str:
    """The one sentence of a run that is refused."""
    process = pair.run("run", *arguments, log="refused")
    assert process.wait(PATIENCE_S) in (2, 3)
    text = pair.output_of("head", "refused").strip()
    assert len(text.splitlines()) == 1, text
    return text


def test_a_second_run_is_told_of_the_first(pair: Machines, run: Path, tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(EXPERIMENT.replace("blocks: 6", "blocks: 1000"))
    first = pair.run("run", tmp_path / "long.yaml", "--out", tmp_path / "first")
    try:
        wait_until_measured(first, tmp_path / "first")
        message = refused(pair, run.parent / "shared.yaml", "--out", tmp_path / "second")
    finally:
        pair.kill(first)
    assert "another run, shared, has the workers" in message
    assert "--wait" in message
    assert not (tmp_path / "second").exists()


def wait_until_measured(process: subprocess.Popen[bytes], directory: Path) -> None:
    wait_for(lambda: process.poll() is not None or any(directory.glob("trials/b001-*")))
    assert process.poll() is None


def test_a_run_of_workers_goes_on_on_workers_only(run: Path, sixbench: SixbenchCommand) -> None:
    done = sixbench("resume", run)
    assert (done.returncode, done.stdout) == (2, "")
    assert "was begun by workers, which have to finish it" in done.stderr
