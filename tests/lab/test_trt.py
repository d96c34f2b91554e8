"""A transport relay translator in real networks: every workload that it carries with evidence, sizes of their own on
either leg, and sessions that are too many."""

from __future__ import annotations

from pathlib import Path

from lab.experiments import run, wrong

from sixbench.agent import AgentHub

NETWORK = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1], mtu: {near_mtu}}}, {{endpoints: [r1, r2]}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths:
  relay: {{trt: {{nodes: [{node}], sessions: {sessions}}}}}
blocks: 1
"""


def test_every_workload_that_it_carries_with_evidence(hub: AgentHub, tmp_path: Path) -> None:
    workloads = """
workloads:
  - udp-rr: {message: 2000B, duration: 50ms, warmup: 0s}
  - tcp-rr: {duration: 50ms, warmup: 0s}
  - tcp-connect: {duration: 50ms, warmup: 0s}
  - tcp-stream: {duration: 50ms, warmup: 0s, direction: [forward, reverse]}
  - udp-stream: {datagram: 1200B, rate: 5Mbit, duration: 50ms, warmup: 0s}
"""
    finished = run(hub, NETWORK.format(node="r2", near_mtu=1500, sessions=4096) + workloads, tmp_path / "run")
    assert wrong(finished.trials) == []
    for trial in finished.trials:
        segments = {segment.link: segment for segment in trial.evidence.segments or ()}
        for segment in segments.values():
            assert (segment.other_addresses, segment.other_hop_limits) == ({}, {}), (trial.key, segment)
        outer = set(segments["r2-h2"].outer)
        assert outer <= {"198.18.2.1 > 198.18.2.2", "198.18.2.2 > 198.18.2.1"}, trial.key
        families = [segments[link].claimed for link in ("h1-r1", "r1-r2", "r2-h2")]
        assert families == ["ipv6", "ipv6", "ipv4"]
        [(asked, counted)] = (trial.evidence.relays or {}).items()
        assert asked == "r2"
        assert (trial.evidence.payload_bytes or {})["forward"] <= counted.bytes_to_ipv4
        is_tcp = trial.workload.startswith("tcp")
        assert (counted.connections > 0, counted.pairs > 0) == (is_tcp, not is_tcp), trial.key
        assert counted.failed.keys() <= {"reset"}, trial.key


def test_each_leg_has_the_segments_of_its_own_mtu(hub: AgentHub, tmp_path: Path) -> None:
    workloads = "workloads: [{tcp-stream: {bytes: 2MB, warmup: 0s}}]\n"
    text = NETWORK.format(node="r1", near_mtu=1280, sessions=4096)
    text = text.replace("mtu: 1280}", "mtu: 1280, offload: false}").replace("r2]}", "r2], offload: false}")
    [trial] = run(hub, text + workloads, tmp_path / "run").trials
    assert trial.status == "ok", trial.reasons
    largest = {segment.link: segment.max_ip_bytes for segment in trial.evidence.segments or ()}
    assert largest == {"h1-r1": 1280, "r1-r2": 1500, "r2-h2": 1500}


def test_sessions_that_are_too_many_are_counted_and_never_a_hang(hub: AgentHub, tmp_path: Path) -> None:
    few = NETWORK.format(node="r1", near_mtu=1500, sessions=20)
    meant = "workloads: [{connections: {count: 30, rate: 1000, hold: 0s}}]\n"
    [trial] = run(hub, few + meant, tmp_path / "meant").trials
    assert trial.status == "ok", trial.reasons
    of_relay = (trial.evidence.sessions or {})["r1"]
    assert (of_relay.most, (of_relay.failed or {})["sessions"]) == (20, 10)
    assert any("r1 refused 10 sessions: its relay has at most 20" in note for note in trial.notes)
