"""NAT64 and 464XLAT in real networks: every workload with evidence, path MTUs, and ports that run out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab.experiments import run, wrong

from sixbench.agent import AgentHub

NETWORK = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, r2], mtu: {mtu}}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths:
  stateful: {{nat64: {{nodes: [r1], engine: {engine}}}}}
  far: {{nat64: {{nodes: [r2], ports: 4000, engine: {engine}}}}}
  phone: {{464xlat: {{nodes: [r1, r2], engine: {engine}}}}}
baseline: stateful
blocks: 1
"""


def test_every_workload_with_evidence(hub: AgentHub, tmp_path: Path) -> None:
    workloads = """
workloads:
  - ping: {count: 10, interval: 2ms}
  - udp-rr: {message: 200B, duration: 100ms, warmup: 0s}
  - tcp-rr: {duration: 100ms, warmup: 0s}
  - tcp-connect: {duration: 100ms, warmup: 0s}
  - tcp-stream: {bytes: 2MB, warmup: 0s, direction: [forward, reverse]}
  - udp-stream: {datagram: 1200B, rate: 5Mbit, duration: 200ms, warmup: 0s}
"""
    finished = run(hub, NETWORK.format(mtu=1500, engine="ebpf") + workloads, tmp_path / "run")
    assert wrong(finished.trials) == []
    seen = {trial.path: set((trial.evidence.segments or ())[-1].outer) for trial in finished.trials}
    assert seen["stateful"] == {"198.18.1.1 > 198.18.2.2", "198.18.2.2 > 198.18.1.1"}
    assert seen["far"] == seen["phone"] == {"198.18.2.1 > 198.18.2.2", "198.18.2.2 > 198.18.2.1"}
    for trial in finished.trials:
        for segment in trial.evidence.segments or ():
            assert (segment.other_addresses, segment.other_hop_limits) == ({}, {}), (trial.key, segment)
        for devices in (trial.evidence.translators or {}).values():
            [counted] = devices.values()
            slow = sum(count.packets for count in counted.slow.values())
            translated = counted.to_ipv6.packets + counted.to_ipv4.packets
            assert slow < 10 < translated


@pytest.mark.parametrize("engine", ["ebpf", "user"])
def test_echoes_in_fragments_come_through(hub: AgentHub, tmp_path: Path, engine: str) -> None:
    """RFC 6146 section 3.4. A CLAT has no state to put them together (RFC 7915 section 1.2)."""
    workload = "workloads:\n  - ping: {count: 10, interval: 2ms, payload: [2000B, 10000B], paths: [stateful, far]}\n"
    finished = run(hub, NETWORK.format(mtu=1500, engine=engine) + workload, tmp_path / "run")
    assert wrong(finished.trials) == []
    assert {(trial.path, trial.metrics["loss_ratio"]) for trial in finished.trials} == {("stateful", 0), ("far", 0)}
    for trial in finished.trials:
        for devices in (trial.evidence.translators or {}).values():
            [counted] = devices.values()
            assert counted.slow["fragmented-to-ipv4"].packets >= 10 <= counted.slow["fragmented"].packets
            assert "fragmented-icmp" not in counted.drops


def test_path_mtus_are_learned_through_state(hub: AgentHub, tmp_path: Path) -> None:
    finished = run(hub, NETWORK.format(mtu=1300, engine="ebpf") + "workloads: [pmtu]\n", tmp_path / "run")
    assert wrong(finished.trials) == []
    collected = {}
    for trial in finished.trials:
        record = json.loads((finished.directory / "trials" / trial.key / "trial.json").read_text())
        forward, reverse = record["client"]["forward"], record["server"]["reverse"]
        collected[trial.path] = [forward["kernel_bytes"], forward["probed_bytes"], reverse["kernel_bytes"]]
    assert collected == {"stateful": [1320, 1320, 1300], "far": [1300, 1300, 1280], "phone": [1280, 1280, 1280]}


@pytest.mark.parametrize("engine", ["ebpf", "user"])
def test_the_well_known_prefix_may_stand_for_private_addresses(hub: AgentHub, tmp_path: Path, engine: str) -> None:
    """Against RFC 6052 section 3.1, where a path says so."""
    network = NETWORK.format(mtu=1500, engine=engine).replace(
        "engine:", "prefix: 64:ff9b::/96, allow-private: true, engine:"
    )
    workloads = "workloads:\n  - ping: {count: 5, interval: 2ms}\n  - tcp-rr: {duration: 100ms, warmup: 0s}\n"
    finished = run(hub, network + workloads, tmp_path / "run")
    assert wrong(finished.trials) == []
    assert {trial.path for trial in finished.trials} == {"stateful", "far", "phone"}
    inside = {
        pair for trial in finished.trials for segment in (trial.evidence.segments or ()) for pair in segment.outer
    }
    assert any("64:ff9b::c612:202" in pair for pair in inside), inside
