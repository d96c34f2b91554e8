"""CLATs that learn their prefix in real networks: by an advertisement and by a resolver, once and again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from lab.experiments import run, wrong

from sixbench.agent import AgentHub
from sixbench.bench.laboratory import Laboratory
from sixbench.engines import EBPF
from sixbench.engines.agent import DISCOVER
from sixbench.mechanisms import MECHANISMS, install
from sixbench.model.errors import LabError
from sixbench.model.stage import Stage
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml

EXPERIMENT = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2]}, {endpoints: [r2, h2]}]
between: [h1, h2]
paths:
  phone: {464xlat: {nodes: [h1, r2], discovery: ra}}
  mostly: {464xlat: {nodes: [h1, r2], discovery: dns64, dns64: r1, option-108: true}}
  office: {464xlat: {nodes: [r1, r2], discovery: dns64, dns64: r2, engine: user, prefix: "2001:db8:6464::/48"}}
workloads: [{bring-up: {count: 3}}, {ping: {count: 3, interval: 2ms}}]
blocks: 1
"""


def test_ipv4_works_again_once_the_prefix_is_learned(hub: AgentHub, tmp_path: Path) -> None:
    finished = run(hub, EXPERIMENT, tmp_path / "run")
    assert wrong(finished.trials) == []
    fields = {
        "phone": ("h1", "ra", "2001:db8:64::/96"),
        "mostly": ("h1", "dns64", "2001:db8:64::/96"),
        "office": ("r1", "dns64", "2001:db8:6464::/48"),
    }
    for trial in finished.trials:
        node, by, prefix = fields[trial.path]
        result = (trial.evidence.discovered or {})[node]
        assert (result.by, result.prefix, result.others) == (by, prefix, ())
        assert result.asked >= 1
        assert result.source.startswith("fe80:") == (by == "ra")
        assert (result.dhcp is not None) == (trial.path == "mostly")
        if result.dhcp is not None:
            assert (result.dhcp.server, result.dhcp.offered, result.dhcp.wait_s) == ("198.18.0.2", "198.18.0.1", 1800)
        if trial.workload == "bring-up":
            assert (trial.evidence.dhcp is not None) == (trial.path == "mostly")
            if trial.evidence.dhcp is not None:
                seen = trial.evidence.dhcp
                assert seen.messages == {"discover for option 108": 3, "offer with option 108": 3}
                assert [packet.layers[-1].kind for packet in seen.packets] == ["dhcp", "dhcp"]
                assert 0 < trial.metrics["time_to_v6only_p50_ns"] < trial.metrics["time_to_prefix_p50_ns"]
            assert trial.histograms["time_to_ipv4"]["count"] == 3
            assert trial.metrics["time_to_prefix_max_ns"] < trial.metrics["time_to_ipv4_max_ns"]


def test_nobody_who_answers_is_told_by_name(hub: AgentHub) -> None:
    experiment = read_experiment(parse_yaml(EXPERIMENT, "test.yaml"), MECHANISMS)
    network = install(experiment.paths[0], experiment.topologies[0], experiment.between)
    # The router is silent, and the CLAT has no patience.
    stages = [{node: impatient(value) for node, value in stage.items() if node != "r1"} for stage in network.stages]
    words = "prefix-discover in h1: .* on eth0: none answered 3 solicitations with the prefix of a NAT64 in 350 ms"
    with pytest.raises(LabError, match=words):
        Laboratory(hub, replace(network, stages=tuple(stages)), EBPF.name)


def impatient(stage: Stage) -> Stage:
    """The stage with questions that end soon."""
    return replace(
        stage,
        requests=tuple(
            replace(request, fields=request.fields | {"timeout_ns": 350_000_000}) if request.op == DISCOVER else request
            for request in stage.requests
        ),
    )
