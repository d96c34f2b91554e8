"""A client that loses a link, or its addresses, in the middle of a trial: the connection of QUIC goes on from the next
address, and TCP makes another one."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.experiments import Finished, read, run, wrong

from sixbench.agent import AgentHub
from sixbench.bench.events import Events
from sixbench.bench.laboratory import Laboratories
from sixbench.bench.record import TrialTask
from sixbench.bench.trial import References, run_trial
from sixbench.mechanisms import remaining
from sixbench.model.network import Network
from sixbench.model.reason import ReasonKind
from sixbench.plan.schedule import block_order
from sixbench.theory import expected_amid_changes

TOPOLOGY = """
experiment: moving
topology:
  nodes: {h1: host, r1: router, r2: router, r3: router, h2: host}
  links:
    - {endpoints: [h1, r1]}
    - {endpoints: [h1, r2]}
    - {endpoints: [r1, r3]}
    - {endpoints: [r2, r3]}
    - {endpoints: [r3, h2], rate: 50Mbit}
between: [h1, h2]
paths: {ipv4: native4, ipv6: native6}
"""
WORKLOADS = """
workloads:
  - {quic-stream: {migrate: true, duration: 3s, warmup: 0s}}
  - {tcp-stream: {reconnect: true, duration: 3s, warmup: 0s}}
"""
ADDRESSES = {
    "ipv4": ("198.18.0.1", "198.18.1.1"),
    "ipv6": ("2001:2::1", "2001:2:0:1::1"),
}


def trials(hub: AgentHub, directory: Path, takes: str) -> Finished:
    """Two blocks, so that each trial but the first begins in a network of which something was taken before."""
    event = f"events: [{{at: 1s, link: h1-r1, takes: {takes}}}]\n"
    return run(hub, f"{TOPOLOGY}{event}{WORKLOADS}blocks: 2\n", directory / "run")


@pytest.mark.parametrize("takes", ["link", "addresses"])
def test_streams_go_on_from_the_next_address_over_the_other_link(hub: AgentHub, tmp_path: Path, takes: str) -> None:
    finished = trials(hub, tmp_path, takes)
    assert len(finished.trials) == 8
    assert wrong(finished.trials) == []
    for trial in finished.trials:
        [event] = trial.evidence.events or ()
        assert (event.link, event.takes, event.failed) == ("h1-r1", takes, None)
        [move] = trial.evidence.moves or ()
        assert (move.from_address, move.to_address) == ADDRESSES[trial.path]
        assert move.links == ("h1-r2", "r2-r3", "r3-h2")
        assert trial.metrics["outage_ns"] == move.outage_ns > 0
        assert trial.metrics["goodput_bps"] > 0
        stacks = {segment.link: segment.stacks for segment in trial.evidence.segments or ()}
        assert list(stacks) == ["h1-r1", "r1-r3", "r3-h2", "h1-r2", "r2-r3"]
        assert all(trial.path in seen for seen in stacks.values())
        assert trial.theory == {}


def test_the_client_has_back_what_an_event_took(hub: AgentHub) -> None:
    for takes in ("link", "addresses"):
        event = f"events: [{{at: 1ms, link: h1-r1, takes: {takes}}}]\n"
        experiment = read(hub, f"{TOPOLOGY}{event}{WORKLOADS}blocks: 1\n")
        laboratories = Laboratories(hub, experiment)
        try:
            laboratory, network = laboratories.get(experiment.paths[0], 0)
            agent = laboratory.agents["h1"]

            def state(words: str) -> list[str]:
                done = agent.call("exec", argv=["ip", *words.split()])  # noqa: B023
                assert done["exit"] == 0, done
                return sorted(line.strip() for line in str(done["stdout"]).splitlines())

            looks = ("-4 route show", "-6 route show", "-4 -brief address show", "-6 -brief address show scope global")
            before = [state(look) for look in looks]
            changes = experiment.combinations[0].events
            networks: list[Network] = [network, *remaining(network, changes)]
            with Events(laboratory, changes, networks) as events:
                events.start()
                events.wait()
                assert [done.failed for done in events.done] == [None]
                assert [state(look) for look in looks] != before
            assert [state(look) for look in looks] == before
        finally:
            laboratories.close()


def test_a_trial_that_did_not_move_does_not_count(hub: AgentHub, monkeypatch: pytest.MonkeyPatch) -> None:
    event = "events: [{at: 1s, link: h1-r1, takes: addresses}]\n"
    experiment = read(hub, f"{TOPOLOGY}{event}{WORKLOADS}blocks: 1\n")
    laboratories = Laboratories(hub, experiment)
    # Nothing is taken, and the event says that it was.
    monkeypatch.setattr("sixbench.bench.events.run_lines", lambda laboratory, node, lines: None)
    try:
        laboratory, network = laboratories.get(experiment.paths[0], 0)
        for planned in block_order(experiment, 1):
            if planned.path != "ipv4":
                continue
            combination = next(item for item in experiment.combinations if item.name == planned.combination)
            task = TrialTask(experiment=experiment, combination=combination, planned=planned, sequence=1)
            record = run_trial(task, laboratory, network, References(theory=expected_amid_changes)).record
            assert record.status == "invalid"
            assert ReasonKind.NOT_MOVED in [reason.kind for reason in record.reasons]
            assert "the client saw no move, where the events make it a move from 198.18.0.1 to 198.18.1.1" in [
                reason.text for reason in record.reasons
            ]
    finally:
        laboratories.close()
