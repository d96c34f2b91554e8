"""Lightweight 4over6 in a real network of two subscribers: each within its ports, with path MTUs and fragments."""

from __future__ import annotations

from pathlib import Path

from lab.experiments import run, wrong

from sixbench.agent import AgentHub
from sixbench.model.captured import TransportHeader

EXPERIMENT = """
topology:
  nodes: {h1: host, b1: router, h3: host, b2: router, aftr: router, h2: host}
  links:
    - {endpoints: [h1, b1]}
    - {endpoints: [h3, b2]}
    - {endpoints: [b1, aftr]}
    - {endpoints: [b2, aftr]}
    - {endpoints: [aftr, h2], mtu: 1400}
between: [h3, h2]
paths: {second: {lw4o6: [b1, b2, aftr]}}
workloads:
  - ping: {count: 5, interval: 2ms}
  - udp-rr: {message: 200B, duration: 100ms, warmup: 0s}
  - tcp-stream: {bytes: 2MB, warmup: 0s, direction: [forward, reverse]}
  - udp-stream: {datagram: 3000B, rate: 5Mbit, duration: 150ms, warmup: 0s}
  - pmtu
blocks: 1
"""


def test_the_second_subscriber_uses_its_own_ports(hub: AgentHub, tmp_path: Path) -> None:
    finished = run(hub, EXPERIMENT, tmp_path / "run")
    assert wrong(finished.trials) == []
    ports = set()
    for trial in finished.trials:
        outside = (trial.evidence.segments or ())[-1]
        assert set(outside.outer) <= {"192.0.2.1 > 198.18.4.2", "198.18.4.2 > 192.0.2.1", "198.18.4.1 > 192.0.2.1"}
        for packet in outside.packets:
            source, *_ = [layer for layer in packet.layers if layer.kind == "ipv4"]
            for layer in packet.layers:
                if isinstance(layer, TransportHeader) and getattr(source, "source", None) == "192.0.2.1":
                    ports.add(layer.source_port)
    assert ports
    assert all(port is not None and 2048 <= port <= 3071 for port in ports)
    [path_mtu] = [trial for trial in finished.trials if trial.workload == "pmtu"]
    assert path_mtu.metrics["pmtu_forward_bytes"] == 1400
