"""MAP-E and MAP-T in a real network of two customer edges that share an address: each within its ports, and path
MTUs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from lab.experiments import run, wrong
from lab.networks import Watched, built, send_datagram
from waiting import wait_for

from sixbench.agent import Agent, AgentHub
from sixbench.agent.requests import Counters, TranslatorCountersRequest
from sixbench.model.captured import TransportHeader

UDP = 17
EXPERIMENT = """
topology:
  nodes: {h1: host, c1: router, h3: host, c2: router, p: router, br: router, h2: host}
  links:
    - {endpoints: [h1, c1]}
    - {endpoints: [h3, c2]}
    - {endpoints: [c1, p]}
    - {endpoints: [c2, p]}
    - {endpoints: [p, br]}
    - {endpoints: [br, h2], mtu: 1400}
between: [HOST, h2]
paths: {map: {MECHANISM: {nodes: [c1, c2, br], psid-offset: OFFSET, engine: ENGINE}}}
workloads:
  - ping: {count: 5, interval: 2ms}
  - udp-rr: {message: 200B, duration: 100ms, warmup: 0s}
  - tcp-connect: {duration: 50ms, warmup: 0s}
blocks: 1
"""
MORE = """
  - tcp-stream: {bytes: 2MB, warmup: 0s, direction: [forward, reverse]}
  - udp-stream: {datagram: 3000B, rate: 5Mbit, duration: 150ms, warmup: 0s}
  - udp-rr: {message: 4000B, duration: 100ms, warmup: 0s}
  - pmtu
blocks: 1
"""


def ports_outside(hub: AgentHub, folder: Path, more: str = "\nblocks: 1\n", **words: str) -> set[int]:
    """The ports with which connections from a host arrive, once every trial has its evidence. `words`: what stands for
    those in capitals."""
    text = EXPERIMENT.replace("\nblocks: 1\n", more)
    for name, word in words.items():
        text = text.replace(name.upper(), word)
    finished = run(hub, text, folder)
    assert wrong(finished.trials) == []
    ports = set()
    for trial in finished.trials:
        outside = (trial.evidence.segments or ())[-1]
        assert set(outside.outer) <= {"192.0.2.1 > 198.18.5.2", "198.18.5.2 > 192.0.2.1", "198.18.5.1 > 192.0.2.1"}
        for packet in outside.packets:
            source, *_ = [layer for layer in packet.layers if layer.kind == "ipv4"]
            for layer in packet.layers:
                if isinstance(layer, TransportHeader) and getattr(source, "source", None) == "192.0.2.1":
                    assert layer.source_port is not None
                    ports.add(layer.source_port)
    for trial in finished.trials:
        assert trial.workload != "pmtu" or trial.metrics["pmtu_forward_bytes"] == 1400
    return ports


@pytest.mark.parametrize(("mechanism", "engine"), [("map-t", "ebpf"), ("map-e", "ebpf")])
def test_two_edges_share_an_address(hub: AgentHub, tmp_path: Path, mechanism: str, engine: str) -> None:
    first, second = (
        ports_outside(hub, tmp_path / host, host=host, mechanism=mechanism, offset="6", engine=engine)
        for host in ("h1", "h3")
    )
    assert len(first) > 1
    assert len(second) > 1
    assert {port >> 4 & 63 for port in first} == {0}
    assert {port >> 4 & 63 for port in second} == {1}
    assert len({port >> 10 for port in second}) > 1, "ports of several ranges"


@pytest.mark.parametrize(("mechanism", "engine"), [("map-t", "user"), ("map-e", "ebpf")])
def test_an_edge_may_have_one_range_of_ports(hub: AgentHub, tmp_path: Path, mechanism: str, engine: str) -> None:
    ports = ports_outside(hub, tmp_path / "run", MORE, host="h3", mechanism=mechanism, offset="0", engine=engine)
    assert ports
    assert all(2048 <= port <= 3071 for port in ports)


def has_come_to_no_port(agent: Agent) -> bool:
    """True once a datagram has come to a port of the node that nobody listens on."""
    return agent.answer(Counters()).snmp["Udp"]["NoPorts"] > 0


@pytest.mark.parametrize("engine", ["ebpf", "user"])
def test_a_border_relay_turns_packets_between_edges_back_if_so_told(hub: AgentHub, engine: str) -> None:
    """Without the option the relay's node routes them back into the translator, which takes one more hop."""
    hops = {}
    for hairpin in ("false", "true"):
        network = EXPERIMENT.partition("paths:")[0]
        path = f"{{nodes: [c1, c2, br], rule-ipv4: 192.0.2.0/24, ea-bits: 8, hairpin: {hairpin}, engine: {engine}}}"
        lab, _, _ = built(hub, network.replace("HOST", "h1") + f"paths: {{map: {{map-t: {path}}}}}")
        try:
            h1, h3 = lab.agents["h1"], lab.agents["h3"]
            watched = Watched(h1, "eth0")
            # The NAPT44 of h1's edge knows the answer; that of the other edge drops this one.
            send_datagram(h1, "192.0.2.2", 6000, own_port=5000)
            send_datagram(h3, "192.0.2.1", 5000, own_port=6000)
            wait_for(partial(has_come_to_no_port, h1), 10)
            [packet] = [packet for packet in watched.arrived() if packet[9] == UDP]
            assert packet[12:16] == bytes([192, 0, 2, 2])
            hops[hairpin] = packet[8]
            [counted] = lab.agents["br"].answer(TranslatorCountersRequest()).translators.values()
            assert ("hairpin" in counted.slow) == (hairpin == "true")
        finally:
            lab.close()
    assert hops["true"] == hops["false"] + 1
