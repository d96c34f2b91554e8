"""An interface that goes down in the midst of a trial: the trial does not count, and its reason names the interface."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from lab.experiments import read

from sixbench.agent import Agent, AgentHub
from sixbench.bench.events import Events
from sixbench.bench.laboratory import Laboratories
from sixbench.bench.record import TrialTask
from sixbench.bench.trial import References, run_trial
from sixbench.model.trial import TrialRecord
from sixbench.plan.schedule import block_order
from sixbench.theory import expected_amid_changes

EXPERIMENT = """
experiment: down
topology:
  nodes: {{h1: host, r1: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, h2]}}]
between: [h1, h2]
paths: {{path: {mechanism}}}
workloads: [{workload}]
blocks: 1
"""
UDP = "{udp-stream: {datagram: 200B, packet-rate: 500pps, duration: 500ms, warmup: 0s}}"
TCP = "{tcp-stream: {message: 16KiB, duration: 500ms, warmup: 0s}}"


def trial(
    hub: AgentHub, monkeypatch: pytest.MonkeyPatch, node: str, commands: list[list[str]], **parts: str
) -> TrialRecord:
    """A trial in whose midst a node runs commands."""
    experiment = read(hub, EXPERIMENT.format(**parts))
    laboratories = Laboratories(hub, experiment)
    try:
        (planned,) = block_order(experiment, 1)
        laboratory, network = laboratories.get(experiment.paths[0], 0)
        agent: Agent = laboratory.agents[node]
        failures: list[Any] = []

        def change() -> None:
            for argv in commands:
                done = agent.call("exec", argv=argv)
                if done["exit"] != 0:
                    failures.append(done)

        timer = threading.Timer(0.2, change)
        monkeypatch.setattr(Events, "start", lambda self: timer.start())
        try:
            trial = TrialTask(
                experiment=experiment, combination=experiment.combinations[0], planned=planned, sequence=1
            )
            return run_trial(trial, laboratory, network, References(theory=expected_amid_changes)).record
        finally:
            timer.join()
            assert failures == []
    finally:
        laboratories.close()


def set_link(device: str, state: str) -> list[str]:
    return ["ip", "link", "set", device, state]


@pytest.mark.parametrize("mechanism", ["native4", "native6"])
@pytest.mark.parametrize(("node", "device"), [("h1", "eth0"), ("r1", "eth1"), ("h2", "eth0")])
def test_datagrams_over_an_interface_that_goes_down_do_not_count(
    hub: AgentHub, monkeypatch: pytest.MonkeyPatch, mechanism: str, node: str, device: str
) -> None:
    record = trial(hub, monkeypatch, node, [set_link(device, "down")], mechanism=mechanism, workload=UDP)
    assert record.status in ("invalid", "failed")
    assert record.reasons[0].text.startswith(f"{device} of {node} went down during the trial (link ")


@pytest.mark.parametrize("mechanism", ["native4", "native6"])
def test_a_connection_over_an_interface_that_goes_down_fails_by_its_name(
    hub: AgentHub, monkeypatch: pytest.MonkeyPatch, mechanism: str
) -> None:
    record = trial(hub, monkeypatch, "r1", [set_link("eth1", "down")], mechanism=mechanism, workload=TCP)
    assert record.status == "failed"
    assert record.reasons[0].text == "eth1 of r1 went down during the trial (link r1-h2)"
    assert record.metrics == {}


def test_a_moment_without_carrier_is_noticed_though_all_is_up_again(
    hub: AgentHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    blink = [set_link("eth0", "down"), set_link("eth0", "up")]
    record = trial(hub, monkeypatch, "h2", blink, mechanism="native4", workload=UDP)
    assert record.status in ("invalid", "failed")
    assert record.reasons[0].text == "eth1 of r1 and eth0 of h2 lost the carrier during the trial (link r1-h2)"
