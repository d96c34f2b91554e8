"""Jool as the engine of a path in a guest whose kernel has its modules, and Jool in a guest that is the device."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sixbench.guest import add_kernel, find_kernel
from sixbench.store import read_run

KERNEL = "debian-6.1"
EXPERIMENT = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2]}, {endpoints: [r2, h2]}]
between: [h1, h2]
paths:
  six: {siit: {nodes: [r1], engine: jool}}
  over-four: {siit: {nodes: [r1, r2], engine: jool}}
  stateful: {nat64: {nodes: [r1], engine: jool}}
  ours: {siit: {nodes: [r1], engine: ebpf}}
workloads:
  - ping: {count: 10, interval: 1ms}
  - udp-rr: {message: 200B, duration: 50ms, warmup: 0s}
  - tcp-stream: {duration: 50ms, warmup: 20ms}
blocks: 1
"""


def test_jool_carries_siit_and_nat64_with_evidence_beside_ours(tmp_path: Path) -> None:
    if not find_kernel(KERNEL).built:
        add_kernel(KERNEL, with_jool=True)
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT)
    argv = [sys.executable, "-m", "sixbench", "run", "experiment.yaml", "--kernel", KERNEL, "--out", "run"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    trials = read_run(tmp_path / "run").trials
    assert {trial.status for trial in trials} == {"ok"}
    assert {(trial.path, trial.engine) for trial in trials} == {
        ("six", "jool"),
        ("over-four", "jool"),
        ("stateful", "jool"),
        ("ours", "ebpf"),
    }
    assert len(trials) == 12


@pytest.mark.parametrize("device", ["jool", "jool-siit"])
def test_jool_in_a_guest_is_a_device_between_hosts_of_this_machine(device: str, tmp_path: Path) -> None:
    if not find_kernel(KERNEL).built:
        add_kernel(KERNEL, with_jool=True)
    workloads = (
        "[{ping: {count: 10, interval: 2ms}}, {udp-rr: {count: 20}}, {tcp-stream: {duration: 200ms, warmup: 50ms}}, "
        "{connections: {count: 100, transport: tcp}}]"
    )
    (tmp_path / "experiment.yaml").write_text(f"dut: {device}\nworkloads: {workloads}\nblocks: 1\n")
    argv = [sys.executable, "-m", "sixbench", "run", "experiment.yaml", "--out", "run"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    trials = read_run(tmp_path / "run").trials
    assert {trial.status for trial in trials} == {"ok"}, [trial.reasons for trial in trials]
    assert {(trial.path, trial.engine) for trial in trials} == {(device, "guest")}
    for trial in trials:
        assert [segment.claimed for segment in trial.evidence.segments or ()] == ["ipv6", "ipv4"]
        assert (trial.evidence.versions or {})["dut"]["jool-dkms"]
