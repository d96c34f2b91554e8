"""Losses are located: exactly the datagrams that were dropped, exactly where."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from lab.experiments import read

from sixbench.agent import Agent, AgentHub
from sixbench.bench.laboratory import Laboratories
from sixbench.bench.record import TrialTask
from sixbench.bench.trial import References, run_trial
from sixbench.model.trial import TrialRecord
from sixbench.plan.schedule import block_order
from sixbench.theory import expected_amid_changes

COUNT = 2000
DROPPED = 100

EXPERIMENT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links:
    - {{endpoints: [h1, r1], name: access}}
    - {{endpoints: [r1, r2], name: core, {core}}}
    - {{endpoints: [r2, h2], name: exit}}
between: [h1, h2]
paths: {paths}
baseline: {baseline}
workloads: [{{udp-stream: {workload}}}]
blocks: 1
"""

NATIVE = {"paths": "{ipv4: native4, ipv6: native6}", "baseline": "ipv4"}
EXACT = NATIVE | {"core": "mtu: 1500", "workload": f"{{datagram: 200B, packet-rate: 4kpps, count: {COUNT}}}"}

Prepare = Callable[[dict[str, Agent]], None]


def dropping(numbers: list[int], node: str, device: str, hook: str) -> Prepare:
    """Has a device drop the datagrams of these numbers, which are 8 bytes behind the UDP header."""

    def prepare(agents: dict[str, Agent]) -> None:
        ruleset = (
            "table netdev losses {\n chain drops {\n"
            f"  type filter hook {hook} device {device} priority 0\n"
            f"  meta l4proto udp @th,128,64 {{ {', '.join(map(str, numbers))} }} drop\n }}\n}}\n"
        )
        done = agents[node].call("exec", argv=["nft", "-f", "-"], stdin=ruleset)
        assert done["exit"] == 0, done["stderr"]

    return prepare


def trials(hub: AgentHub, text: str, prepare: Prepare = lambda agents: None) -> list[TrialRecord]:
    """Each path's trial in one network, prepared first."""
    experiment = read(hub, text)
    laboratories = Laboratories(hub, experiment)
    trials = []
    try:
        for number, planned in enumerate(block_order(experiment, 1)):
            laboratory, network = laboratories.get(experiment.path(planned.path), 0)
            if number == 0 or not network.is_plain:
                prepare(laboratory.agents)
            trial = TrialTask(
                experiment=experiment, combination=experiment.combinations[0], planned=planned, sequence=number
            )
            outcome = run_trial(trial, laboratory, network, References(theory=expected_amid_changes))
            trials.append(outcome.record)
    finally:
        laboratories.close()
    return trials


def numbers(ranges: list[list[int]]) -> list[int]:
    return [number for first, last in ranges for number in range(first, last + 1)]


def hundred() -> list[int]:
    """Some in the middle, some next to each other, the first and the tail."""
    chosen = random.Random(5).sample(range(3, COUNT - 20), DROPPED - 12)
    return sorted({0, 1, *chosen, *range(COUNT - 10, COUNT)})


@pytest.mark.parametrize(
    ("node", "device", "hook", "link", "side"),
    [
        ("r1", "eth0", "ingress", "access", "ingress"),
        ("r1", "eth1", "egress", "core", "egress"),
        ("h2", "eth0", "ingress", "exit", "ingress"),
    ],
)
def test_a_hundred_datagrams_that_a_link_drops_are_named_and_located_there(
    hub: AgentHub, node: str, device: str, hook: str, link: str, side: str
) -> None:
    chosen = hundred()
    assert len(chosen) == DROPPED
    for trial in trials(hub, EXPERIMENT.format(**EXACT), dropping(chosen, node, device, hook)):
        losses = trial.evidence.losses
        assert numbers(trial.server["sequences"]["lost"]["ranges"]) == chosen, trial.path
        assert losses.lost == DROPPED
        [place] = [place for place in losses.located if place.datagrams]
        assert (place.node, place.link, place.side) == (node, link, side)
        assert numbers(place.sequences) == chosen
        assert (losses.unlocated, losses.unlocated_sequences) == (0, ())
        direction = "coming from" if side == "ingress" else "going to"
        assert f"100 datagrams were lost by {node}, {direction} {link}: a filter" in trial.notes


def test_what_is_lost_in_a_tunnel_is_named_by_the_datagrams_in_it(hub: AgentHub) -> None:
    text = EXPERIMENT.format(**EXACT | {"paths": "{t: {6in4: {nodes: [r1, r2], engine: user}}}", "baseline": "t"})
    # 40 bytes of the inner IPv6 header are between the outer one and UDP.
    ruleset = (
        "table netdev losses {\n chain drops {\n  type filter hook ingress device eth0 priority 0\n"
        "  ip protocol 41 @th,448,64 { 5, 77, 1999 } drop\n }\n}\n"
    )

    def prepare(agents: dict[str, Agent]) -> None:
        assert agents["r2"].call("exec", argv=["nft", "-f", "-"], stdin=ruleset)["exit"] == 0

    [trial] = trials(hub, text, prepare)
    [place] = [place for place in trial.evidence.losses.located if place.datagrams]
    assert (place.node, place.link, numbers(place.sequences)) == ("r2", "core", [5, 77, 1999])
    assert trial.evidence.losses.unlocated == 0


def test_a_queue_that_overflows_is_named_and_its_own_counter_says_the_same(hub: AgentHub) -> None:
    workload = "{datagram: 1000B, rate: 8Mbit, count: 400}"
    text = EXPERIMENT.format(**NATIVE, core="rate: 2Mbit, queue: 10KiB", workload=workload)
    for trial in trials(hub, text):
        losses = trial.evidence.losses
        [place] = [place for place in losses.located if place.datagrams]
        assert losses.lost == place.datagrams > 50
        assert (place.node, place.link, place.side) == ("r1", "core", "egress")
        assert place.what == "the queue was full"
        assert numbers(place.sequences) == numbers(trial.server["sequences"]["lost"]["ranges"])
        [counted] = [counter for counter in losses.counters if " tbf " in counter.counter]
        assert (counted.node, counted.packets) == ("r1", losses.lost)


def test_a_receiver_that_has_no_room_is_named(hub: AgentHub) -> None:
    workload = "{datagram: 1400B, count: 20000, rcvbuf: 4KiB}"
    for trial in trials(hub, EXPERIMENT.format(**NATIVE, core="mtu: 1500", workload=workload)):
        losses = trial.evidence.losses
        at_sockets = [place for place in losses.located if place.side == "socket" and place.datagrams]
        dropped = sum(at_socket.datagrams for at_socket in at_sockets)
        assert {at_socket.node for at_socket in at_sockets} <= {"h2"}
        assert losses.unlocated == 0
        counted = [counter.packets for counter in losses.counters if counter.counter.endswith("RcvbufErrors")]
        assert sum(counted) == dropped
