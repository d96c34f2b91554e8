"""Packets that nodes send by themselves: none of them falls into a trial, in the first seconds of a network neither."""

from __future__ import annotations

from pathlib import Path

from lab.experiments import run, wrong

from sixbench.agent import AgentHub

EXPERIMENT = """
topology:
  nodes: {client: host, ra: router, rb: router, server: host}
  links: [{endpoints: [client, ra]}, {endpoints: [ra, rb]}, {endpoints: [rb, server]}]
between: [client, server]
paths: {ipv4: native4, ipv6: native6}
workloads: [{udp-stream: {rate: 1Mbit, duration: 200ms, warmup: 0s, datagram: 1200B}}]
blocks: 20
"""
"""It takes longer than the five seconds after which a neighbour that has only asked is probed, by default."""


def test_no_packet_of_the_nodes_themselves_falls_into_a_trial(hub: AgentHub, tmp_path: Path) -> None:
    trials = sorted(run(hub, EXPERIMENT, tmp_path / "run").trials, key=lambda trial: trial.started_realtime_ns)
    assert wrong(trials) == []
    assert trials[-1].started_realtime_ns - trials[0].started_realtime_ns > 6 * 10**9
    for trial in trials:
        counted = [interface for node in trial.evidence.counters.values() for interface in node.interfaces.values()]
        passed = [(item.get("rx_packets", 0), item.get("tx_packets", 0)) for item in counted]
        assert len(passed) == 6
        # All of it goes one way: any answer, probe or report would show in the other.
        assert {min(item) for item in passed} == {0}, trial.key
        assert len({max(item) for item in passed}) == 1, trial.key
