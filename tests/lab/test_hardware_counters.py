"""Cycles and instructions in whole runs: where the machine has counters, and where it has none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lab.commands import Doctor
from lab.experiments import run

from sixbench.agent import AgentHub
from sixbench.bench.hardware_counters import HardwareCounters
from sixbench.model.observation import PerfAnswer

EXPERIMENT = """
experiment: costs
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
between: [h1, h2]
paths: {ipv4: native4, ipv6: native6}
workloads:
  - tcp-rr: {message: 64B, duration: 100ms, warmup: 0s}
  - udp-stream: {datagram: 200B, packet-rate: 1kpps, duration: 100ms, warmup: 0s}
blocks: 1
"""
HARDWARE = {"cycles_per_packet", "instructions_per_packet", "instructions_per_cycle"}


def test_cycles_are_counted_or_the_manifest_and_doctor_say_why_not(
    sixbench: Any, doctor: Doctor, tmp_path: Path
) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(EXPERIMENT)
    done = sixbench("run", file, "--out", tmp_path / "run", figures=False)
    assert done.returncode == 0, done.stderr
    environment = json.loads((tmp_path / "run" / "manifest.json").read_text())["environment"]
    trials = [json.loads(path.read_text()) for path in tmp_path.glob("run/trials/*/trial.json")]
    known = {trial["workload"]: HARDWARE & trial["metrics"].keys() for trial in trials}
    capabilities = json.loads(doctor.data.stdout)["capabilities"]
    (capability,) = (capability for capability in capabilities if capability["name"] == "hardware counters")
    report = " ".join((tmp_path / "run" / "report.html").read_text().split())
    if environment["hardware_counters"]:
        assert capability["answer"] == "yes"
        assert known["tcp-rr"] == HARDWARE
        assert "and in cycles and instructions (perf events of" in report
    else:
        assert capability["answer"] == "no"
        assert "perf_event_open failed" in environment["no_hardware_counters"]
        assert capability["reason"] == environment["no_hardware_counters"]
        assert known == {"tcp-rr": set(), "udp-stream": set()}
        assert "in CPU time (/proc/stat) only: there are no hardware counters" in report
    assert all("cpu_per_packet_ns" in trial["metrics"] for trial in trials)


def test_counts_are_those_of_the_packets_and_absent_where_a_sender_spun(
    hub: AgentHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(self: HardwareCounters) -> None:
        self.counted.counts = PerfAnswer(cycles=10**9, instructions=2 * 10**9, enabled_ns=4, running_ns=2)

    monkeypatch.setattr(HardwareCounters, "start", lambda self: None)
    monkeypatch.setattr(HardwareCounters, "stop", stop)
    for trial in run(hub, EXPERIMENT, tmp_path / "run").trials:
        assert any("are scaled" in note for note in trial.notes)
        if trial.workload == "udp-stream":
            assert not HARDWARE & trial.metrics.keys()
            assert any("the sender waits by spinning" in note for note in trial.notes)
            continue
        assert trial.metrics["instructions_per_cycle"] == 2
        assert trial.metrics["instructions_per_packet"] == 2 * trial.metrics["cycles_per_packet"]
        # A round trip is at least two packets.
        assert 0 < trial.metrics["cycles_per_packet"] <= 10**9 / (2 * trial.client["transactions"])
