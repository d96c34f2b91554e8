"""Frames: exact counts over native paths, routers and a translator; known losses; a tester at its limit."""

from __future__ import annotations

import pytest
from lab.experiments import TESTERS, read

from sixbench.agent import AgentHub
from sixbench.bench.laboratory import Laboratories
from sixbench.bench.proof.losses import joined
from sixbench.bench.record import TrialTask
from sixbench.bench.trial import References, run_trial
from sixbench.model.reason import ReasonKind
from sixbench.model.trial import TrialRecord
from sixbench.plan.schedule import block_order
from sixbench.theory import expected_amid_changes

COUNT = 400

EXPERIMENT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, r2], name: core, {core}}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths: {paths}
workloads: [{{frames: {{frame: {frame}, packet-rate: {rate}, count: {count}, residual: 100ms, {more}}}}}]
blocks: 1
"""
USUAL = {"core": "mtu: 1500", "frame": "84B", "rate": "4kpps", "count": COUNT}


def trials(hub: AgentHub, ruleset: str = "", text: str = EXPERIMENT, **settings: object) -> list[TrialRecord]:
    """Each path's trial, in a network whose first router has the ruleset."""
    experiment = read(hub, text.format(**{**USUAL, **settings}))
    laboratories = Laboratories(hub, experiment)
    trials = []
    try:
        for number, planned in enumerate(block_order(experiment, 1)):
            laboratory, network = laboratories.get(experiment.path(planned.path), 0)
            if ruleset and number == 0:
                done = laboratory.agents["r1"].call("exec", argv=["nft", "-f", "-"], stdin=ruleset)
                assert done["exit"] == 0, done["stderr"]
            combination = next(
                combination for combination in experiment.combinations if combination.name == planned.combination
            )
            trial = TrialTask(experiment=experiment, combination=combination, planned=planned, sequence=number)
            references = References(theory=expected_amid_changes)
            trials.append(run_trial(trial, laboratory, network, references).record)
    finally:
        laboratories.close()
    return trials


def wrong(trial: TrialRecord) -> list[str]:
    """Faults of a trial besides a tester or an emulator that was late, as on a busy machine."""
    return [reason.text for reason in trial.reasons if reason.kind not in TESTERS]


@pytest.mark.parametrize("direction", ["forward", "both"])
def test_every_frame_is_counted_over_every_path(hub: AgentHub, direction: str) -> None:
    paths = "{ipv4: native4, ipv6: native6, s: {siit: [r1, r2]}}"
    for trial in trials(hub, paths=paths, more=f"direction: {direction}, tolerance: 1s"):
        assert wrong(trial) == [], trial.path
        receivers = (
            [trial.server]
            if direction == "forward"
            else [trial.server["forward_receiver"], trial.client["reverse_receiver"]]
        )
        for receiver in receivers:
            assert receiver["unique"] == COUNT, trial.path
            assert receiver["duplicates"] == receiver["corrupt"] == receiver["lost_middle"] == 0


def test_frames_of_all_forms_are_counted(hub: AgentHub) -> None:
    """To many networks, with extension headers; and over 4in6 with every tenth one natively over IPv6."""
    forms = "direction: both, tolerance: 1s, networks: 256, extension-headers: chain"
    for trial in trials(hub, paths="{ipv6: native6, t: {6in4: [r1, r2]}}", frame="128B", more=forms):
        assert wrong(trial) == [], trial.path
        for receiver in (trial.server["forward_receiver"], trial.client["reverse_receiver"]):
            assert (receiver["unique"], receiver["otherwise_extended"]) == (COUNT, 0), trial.path
        assert trial.params["server_networks"] == "2001:2:0:ff00::/64"
    for trial in trials(hub, paths="{t: {4in6: [r1, r2]}, d: dual-stack}", more="native: 10%, tolerance: 1s"):
        assert wrong(trial) == [], trial.path
        assert (trial.server["unique"], trial.server["native"]["unique"]) == (COUNT, COUNT // 10), trial.path
        assert trial.metrics["loss_native_ratio"] == 0


def test_frames_to_networks_with_prefixes_of_any_length_are_counted(hub: AgentHub) -> None:
    """RFC 5180 section 5.2.1. One network has the routes to all of them."""
    forms = "direction: both, tolerance: 1s, networks: 256, network-prefix: [48, 64, 126, 128]"
    collected = set()
    for trial in trials(hub, paths="{ipv6: native6, t: {6in4: [r1, r2]}}", frame="128B", more=forms):
        assert wrong(trial) == [], (trial.path, trial.params)
        for receiver in (trial.server["forward_receiver"], trial.client["reverse_receiver"]):
            assert (receiver["unique"], receiver["corrupt"]) == (COUNT, 0), (trial.path, trial.params)
        collected.add(trial.params["server_networks"])
    assert collected == {"2001:db8:ff00::/48", "2001:2:0:ff00::/64", "2001:2:0:fd80::/126", "2001:2:0:fd81::/128"}


def test_frames_by_xdp_are_counted_as_those_of_packet_sockets(hub: AgentHub) -> None:
    more = "direction: both, engine: xdp, tolerance: 1s, networks: 256"
    for trial in trials(hub, paths="{ipv4: native4, ipv6: native6}", more=more):
        assert wrong(trial) == [], trial.path
        receivers = (trial.server["forward_receiver"], trial.client["reverse_receiver"])
        senders = (trial.client["forward_sender"], trial.server["reverse_sender"])
        for receiver, sender in zip(receivers, senders, strict=True):
            assert (receiver["unique"], receiver["corrupt"], receiver["reordered"]) == (COUNT, 0, 0), trial.path
            assert receiver["engine"].startswith("af-xdp"), receiver.get("engine_refused")
            assert sender["engine"].startswith("af-xdp"), sender.get("engine_refused")
    core = "lost-packets: 7 23-25 399"
    [trial] = trials(hub, paths="{ipv4: native4}", core=core, more="engine: xdp, tolerance: 1s")
    assert wrong(trial) == []
    assert trial.metrics["loss_ratio"] == 5 / COUNT


def test_a_queue_is_not_passed_by_xdp(hub: AgentHub) -> None:
    text = EXPERIMENT.replace("[h1, r1]}}", "[h1, r1], rate: 1Gbit}}")
    [trial] = trials(hub, text=text, paths="{ipv4: native4}", more="engine: xdp, tolerance: 1s")
    assert wrong(trial) == []
    assert trial.client["engine"] == "packet socket"
    assert any("no XDP at the sender: the interface has a queue" in note for note in trial.notes)


def test_losses_that_a_link_has_are_returned(hub: AgentHub) -> None:
    for trial in trials(hub, paths="{ipv4: native4}", core="lost-packets: 7 23-25 399", more="tolerance: 1s"):
        assert wrong(trial) == []
        assert trial.metrics["loss_ratio"] == 5 / COUNT


def test_the_ledger_is_what_the_link_did(hub: AgentHub) -> None:
    core = "delay: 5ms, lost-packets: 200 210-211, duplicated-packets: 50 60-61, late-packets: 100 150, late-by: 3"
    [trial] = trials(hub, paths="{ipv4: native4}", core=core, more="tolerance: 1s")
    assert wrong(trial) == []
    counted = {name: trial.server[name] for name in ("unique", "duplicates", "reordered", "corrupt", "late")}
    assert counted == {"unique": COUNT - 3, "duplicates": 3, "reordered": 2, "corrupt": 0, "late": 0}
    assert trial.server["lost_middle"] + trial.server["lost_tail"] == 3
    lost = joined(trial.server["sequences"]["lost"]["ranges"])
    [place] = [place for place in trial.evidence.losses.located or () if place.datagrams]
    assert (place.link, list(place.sequences)) == ("core", lost)
    assert (trial.evidence.losses.lost, trial.evidence.losses.unlocated) == (3, 0)
    assert trial.metrics["one_way_delay_min_ns"] >= 5e6


@pytest.mark.parametrize(("direction", "device"), [("forward", "eth0"), ("reverse", "eth1")])
def test_frames_that_a_router_drops_are_named_there_whatever_their_ports(
    hub: AgentHub, direction: str, device: str
) -> None:
    chosen = [(5, 5), (77, 77), (150, 152), (399, 399)]
    numbers = "5, 77, 150, 151, 152, 399"
    # The number is 8 bytes behind the UDP header.
    ruleset = (
        f"table netdev losses {{\n chain drops {{\n  type filter hook ingress device {device} priority 0\n"
        f"  meta l4proto udp @th,128,32 {{ {numbers} }} drop\n }}\n}}\n"
    )
    more = f"direction: {direction}, ports: pseudo-random, flows: 40, tolerance: 1s"
    for trial in trials(hub, ruleset, paths="{ipv4: native4, ipv6: native6}", more=more):
        assert wrong(trial) == [], trial.path
        receiver = trial.server if direction == "forward" else trial.client["reverse_receiver"]
        assert joined(receiver["sequences"]["lost"]["ranges"]) == chosen
        losses = trial.evidence.losses
        [place] = [place for place in losses.located or () if place.datagrams]
        assert (place.node, place.what, list(place.sequences)) == ("r1", "a filter", chosen)
        assert (losses.lost, losses.unlocated) == (6, 0)


def test_a_rate_that_no_tester_has_is_its_own_limit(hub: AgentHub) -> None:
    [trial] = trials(hub, paths="{ipv4: native4}", rate="500Mpps", count=200_000, more="tolerance: 1us")
    assert ReasonKind.TESTER_LIMITED in {reason.kind for reason in trial.reasons}
