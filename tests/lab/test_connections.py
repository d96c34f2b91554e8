"""Connections that are held through a NAT64, and a NAT64 whose ports run out."""

from __future__ import annotations

from pathlib import Path

from lab.experiments import run

from sixbench.agent import AgentHub
from sixbench.model.trial import TrialRecord

NETWORK = """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, h2]}]
between: [h1, h2]
paths: {native: native6, nat64: {nat64: r1}, few-ports: {nat64: {nodes: [r1], ports: 100}}}
blocks: 1
workloads:
  - connections: {transport: [tcp, udp], count: 2000, timeout: 1s}
"""
MANY, PORTS = 2000, 100


def count(trial: TrialRecord, what: str) -> float:
    return trial.metrics[f"connections_{what}_count"]


def test_connections_are_held_and_those_without_a_port_are_counted(hub: AgentHub, tmp_path: Path) -> None:
    finished = run(hub, NETWORK, tmp_path / "run")
    assert [(trial.path, trial.status, trial.reasons) for trial in finished.trials if trial.status != "ok"] == []
    assert len(finished.trials) == 6
    for trial in finished.trials:
        held = PORTS if trial.path == "few-ports" else MANY
        assert count(trial, "established") == count(trial, "alive") == held, trial.notes
        assert count(trial, "timed_out") == MANY - held
        assert count(trial, "refused") == 0
        if trial.path == "native":
            assert trial.evidence.sessions is None
            continue
        sessions = (trial.evidence.sessions or {})["r1"]
        assert (sessions.before, sessions.after) == (0, held)
        refused = (sessions.failed or {}).get("insert_failed", 0)
        if held == MANY:
            assert refused == 0
        else:
            # The first packet of each is sent at least once.
            assert refused >= MANY - held
            assert any("r1 refused sessions" in note for note in trial.notes)
