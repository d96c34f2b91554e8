"""Devices under test in real networks: every trial has its evidence, as on any other path."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.experiments import run, wrong

from sixbench.agent import AgentHub

LIMIT_BPS = 10_000_000


@pytest.mark.parametrize("dut", ["{mechanism: {nat64: [r1]}, rate: 10Mbit}", "{mechanism: wire, rate: 10Mbit}"])
def test_a_device_between_two_hosts(hub: AgentHub, tmp_path: Path, dut: str) -> None:
    workload = "tcp-stream: {duration: 600ms, warmup: 100ms}"
    finished = run(hub, f"dut: {dut}\nworkloads: [{{{workload}}}]\nblocks: 1\n", tmp_path)
    assert finished.trials
    assert wrong(finished.trials) == []
    assert all(trial.metrics["goodput_bps"] < LIMIT_BPS for trial in finished.trials)
