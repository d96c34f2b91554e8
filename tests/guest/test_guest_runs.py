"""An experiment in emulated machines, on a clock of instructions."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from sixbench.store import Run, read_run

KERNEL = "debian-6.1"

EXPERIMENT = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links:
    - {endpoints: [h1, r1]}
    - {endpoints: [r1, r2]}
    - {endpoints: [r2, h2]}
paths: {ipv4: native4, ipv6: native6, tunnel: {6in4: {nodes: [r1, r2], engine: kernel}}}
workloads:
  - tcp-stream: {duration: 100ms, warmup: 50ms}
  - ping: {count: 10, interval: 1ms}
blocks: 1
"""


def sixbench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "sixbench", *arguments], capture_output=True, text=True, check=False)


@dataclass(frozen=True, kw_only=True)
class Guests:
    """Results of emulated machines with the kernel, two at a time."""

    runs: list[Run]
    doctor: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Guests:
    """The same experiment three times beside `sixbench doctor` and each other, so that each has other company."""
    directory = tmp_path_factory.mktemp("runs")
    (directory / "experiment.yaml").write_text(EXPERIMENT)
    assert sixbench("kernels", "list").returncode == 0

    def run(name: str) -> Run:
        done = sixbench("run", directory / "experiment.yaml", "--kernel", KERNEL, "--out", directory / name)
        assert done.returncode == 0, done.stderr
        return read_run(directory / name)

    with ThreadPoolExecutor(2) as pool:
        doctor = pool.submit(sixbench, "doctor", "--kernel", KERNEL, "--json")
        runs = list(pool.map(run, ("first", "second", "third")))
        return Guests(runs=runs, doctor=doctor.result())


@pytest.fixture(scope="module")
def runs(guests: Guests) -> list[Run]:
    return guests.runs


def test_the_kernel_of_the_guest_makes_the_tunnel(runs: list[Run]) -> None:
    assert {trial.status for trial in runs[0].trials} == {"ok"}
    assert {trial.engine for trial in runs[0].trials if trial.path == "tunnel"} == {"kernel"}
    assert len(runs[0].trials) == 6


def test_the_manifest_says_which_clock_and_kernel_it_was(runs: list[Run]) -> None:
    environment = runs[0].manifest.environment
    assert environment.clock == "virtual"
    assert environment.kernel.startswith("6.1.")
    assert environment.guest is not None
    assert (environment.guest.kernel, environment.guest.instruction_ns) == (KERNEL, 1)
    assert environment.guest.emulator.startswith("qemu ")
    assert list(runs[0].manifest.guests) == [KERNEL]


def test_runs_agree_to_the_last_bit_whatever_else_the_machine_does(runs: list[Run]) -> None:
    first, *others = [{trial.key: trial.metrics for trial in run.trials} for run in runs]
    for other in others:
        different = [key for key in first if other[key] != first[key]]
        assert not different, [(first[key], other[key]) for key in different[:2]]


def test_doctor_says_what_the_kernel_can_do(guests: Guests) -> None:
    answers = json.loads(guests.doctor.stdout)["mechanisms"]
    kernel = {answer["mechanism"]: answer["answer"] for answer in answers if answer["engine"] == "kernel"}
    assert kernel["6in4"] == kernel["4in6"] == kernel["gre"] == "yes"
