"""tayga in the place of our translator: the same networks, the same evidence, the same path MTUs. And tayga at the
other end of ours."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from lab.experiments import run, wrong

from sixbench.agent import AgentHub
from sixbench.mechanisms import install, tayga
from sixbench.model.device import Translator
from sixbench.model.network import Network
from sixbench.model.path import Path as NetworkPath
from sixbench.model.reason import ReasonKind
from sixbench.model.topology import Topology

EXPERIMENT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, r2], mtu: {mtu}}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths:
  six: {{siit: {{nodes: [r1], engine: {engine}}}}}
  four: {{siit: {{nodes: [r2], client: ipv4, engine: {engine}}}}}
  over-six: {{siit: {{nodes: [r1, r2], client: ipv4, prefix: "2001:db8:100::/40", engine: {engine}}}}}
  over-four: {{siit: {{nodes: [r1, r2], engine: {engine}}}}}
workloads: {workloads}
blocks: 1
"""
WORKLOADS = """
  - ping: {count: 10, interval: 2ms}
  - udp-rr: {message: 200B, duration: 100ms, warmup: 0s}
  - tcp-rr: {duration: 100ms, warmup: 0s}
  - tcp-stream: {duration: 200ms, warmup: 50ms}
"""


@pytest.fixture(autouse=True)
def _tayga() -> None:
    if shutil.which("tayga", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        if os.environ.get("SIXBENCH_EXPECT_PEERS") == "1":
            pytest.fail("tayga is not installed")
        pytest.skip("tayga is not installed")


def test_every_workload_goes_through_tayga_with_evidence(hub: AgentHub, tmp_path: Path) -> None:
    text = EXPERIMENT.format(mtu=1500, engine="tayga", workloads=WORKLOADS)
    finished = run(hub, text, tmp_path / "run")
    assert wrong(finished.trials) == []
    assert {(trial.path, trial.engine) for trial in finished.trials} == {
        (path, "tayga") for path in ("six", "four", "over-six", "over-four")
    }
    for trial in finished.trials:
        for segment in trial.evidence.segments or ():
            assert (segment.other_addresses, segment.other_hop_limits) == ({}, {}), (trial.key, segment)


def test_tayga_and_ours_tell_the_same_path_mtus(hub: AgentHub, tmp_path: Path) -> None:
    collected = {}
    for engine in ("tayga", "user"):
        text = EXPERIMENT.format(mtu=1300, engine=engine, workloads="[pmtu]")
        finished = run(hub, text, tmp_path / engine)
        assert wrong(finished.trials) == []
        for trial in finished.trials:
            record = json.loads((finished.directory / "trials" / trial.key / "trial.json").read_text())
            sides = (record["client"]["forward"], record["server"]["reverse"])
            actual_sides = [(side["kernel_bytes"], side["probed_bytes"]) for side in sides]
            collected.setdefault(trial.path, {})[engine] = actual_sides
    for path, by_engine in collected.items():
        assert by_engine["tayga"] == by_engine["user"], path


PAIRS = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2]}, {endpoints: [r2, h2]}]
between: [h1, h2]
paths: {pair: PATH}
workloads: WORKLOADS
blocks: 1
"""


@pytest.mark.parametrize(
    ("path", "node", "hops"),
    [
        ("{464xlat: {nodes: [h1, r2], engine: ebpf}}", "r2", tayga.HOPS),
        ("{464xlat: {nodes: [h1, r2], engine: user}}", "h1", tayga.HOPS - 1),
        ("{siit: {nodes: [r1, r2], client: ipv4, engine: ebpf}}", "r1", tayga.HOPS),
        ("{siit: {nodes: [r1, r2], client: ipv4, engine: user}}", "r2", tayga.HOPS),
    ],
    ids=["tayga-as-plat", "tayga-as-clat", "tayga-first", "tayga-last"],
)
def test_ours_and_tayga_are_each_others_other_end(
    hub: AgentHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, node: str, hops: int
) -> None:
    """One of two translators is tayga, as a stage has it, and the other one is ours. All evidence holds but tayga's own
    counters, which it does not have. A host does not forward what it sends into its translator."""

    def with_tayga(path: NetworkPath, topology: Topology, between: tuple[str, str]) -> Network:
        network = install(path, topology, between)
        stage = {node: tayga.TAYGA.make(next(device for device in network.translators if device.node == node))}
        devices = tuple(
            replace(device, made_by="tayga", hops=hops)
            if isinstance(device, Translator) and device.node == node
            else device
            for device in network.devices
        )
        return replace(network, devices=devices, stages=(stage, *network.stages))

    monkeypatch.setattr("sixbench.bench.laboratory.install", with_tayga)
    finished = run(hub, PAIRS.replace("PATH", path).replace("WORKLOADS", WORKLOADS), tmp_path / "run")
    assert len(finished.trials) == 4
    for trial in finished.trials:
        assert [reason.kind for reason in trial.reasons] == [ReasonKind.NOT_COUNTED], trial.reasons
        assert f"{node} could not be asked" in trial.reasons[0].text
        for segment in trial.evidence.segments or ():
            assert (segment.other_addresses, segment.other_hop_limits) == ({}, {}), (trial.key, segment)
