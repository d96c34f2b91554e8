"""Trials of several flows: both families sharing a link, and round trips beside a load."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.experiments import read, run, wrong

from sixbench.agent import AgentHub
from sixbench.model.errors import ExperimentError
from sixbench.model.trial import TrialRecord

EXPERIMENT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links:
    - {{endpoints: [h1, r1], name: access}}
    - {{endpoints: [r1, r2], name: core, rate: 20Mbit, queue: 20ms}}
    - {{endpoints: [r2, h2], name: exit}}
between: [h1, h2]
paths: {paths}
baseline: {baseline}
workloads: [{workload}]
blocks: 1
"""


def trials(hub: AgentHub, directory: Path, **parts: str) -> list[TrialRecord]:
    finished = run(hub, EXPERIMENT.format(**parts), directory)
    return finished.trials


TCP = "{compete: {ipv4-flows: 2, ipv6-flows: 1, duration: 1s, warmup: 300ms}}"
UDP = "{compete: {transport: udp, datagram: 500B, rate: 4Mbit, duration: 500ms, warmup: 100ms}}"


@pytest.mark.parametrize("workload", [TCP, UDP])
def test_flows_of_both_families_share_a_link_and_each_is_proved(hub: AgentHub, tmp_path: Path, workload: str) -> None:
    paths = "{both: dual-stack, tunnel: {6in4: {nodes: [r1, r2], engine: ebpf}}}"
    actual_trials = trials(hub, tmp_path / "run", paths=paths, baseline="both", workload=workload)
    assert wrong(actual_trials) == []
    for trial in actual_trials:
        core = next(segment for segment in trial.evidence.segments if segment.link == "core")
        tunnelled = "ipv6 in ipv4" if trial.path == "tunnel" else "ipv6"
        assert {"ipv4", tunnelled} == set(core.stacks)
        assert core.claimed == f"{tunnelled} and ipv4"
        if trial.status == "ok":
            metrics = trial.metrics
            both = metrics["goodput_ipv4_bps"] + metrics["goodput_ipv6_bps"]
            assert metrics["goodput_bps"] == pytest.approx(both)
            assert metrics["share_ipv6_ratio"] == pytest.approx(metrics["goodput_ipv6_bps"] / both)
            assert 1 / 3 <= metrics["fairness_ratio"] <= 1
            assert both < 20e6


def test_round_trips_are_measured_idle_and_beside_a_load_in_both_directions(hub: AgentHub, tmp_path: Path) -> None:
    workload = "{latency-under-load: {duration: 1s, warmup: 300ms}}"
    paths = "{ipv4: native4, ipv6: native6}"
    actual_trials = trials(hub, tmp_path / "run", paths=paths, baseline="ipv4", workload=workload)
    assert wrong(actual_trials) == []
    for trial in actual_trials:
        metrics = trial.metrics
        assert metrics["rtt_loaded_p50_ns"] - metrics["rtt_idle_p50_ns"] == metrics["rtt_increase_ns"]
        assert metrics["round_trips_loaded_per_min"] == pytest.approx(60e9 / metrics["rtt_loaded_mean_ns"])
        assert metrics["round_trips_idle_per_min"] == pytest.approx(60e9 / metrics["rtt_idle_mean_ns"])
        assert min(metrics["goodput_bps"], metrics["goodput_reverse_bps"]) > 0
        assert {"rtt_idle", "rtt_loaded"} <= trial.histograms.keys()


def test_a_path_without_the_other_family_is_refused_with_its_line(hub: AgentHub) -> None:
    text = EXPERIMENT.format(paths="{ipv4: native4}", baseline="ipv4", workload="compete")
    expected = "test.yaml:9: paths.ipv4: compete needs IPv4 and IPv6 from h1 to h2, and this path has no IPv6"
    with pytest.raises(ExperimentError, match=expected):
        read(hub, text.replace("queue: 20ms", "queue: 20ms, mtu: 1000"))
