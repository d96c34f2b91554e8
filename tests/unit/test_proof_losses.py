"""Where datagrams were lost: the kernel's reports and the drop counters, put together."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import observed
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from observed import by_node

from sixbench.bench.proof.drops import Drops, read_counters
from sixbench.bench.proof.losses import LossEvidence, joined, loss_evidence, without
from sixbench.model.evidence import Evidence
from sixbench.model.evidence.losses import Losses, LostPlace
from sixbench.model.topology import Topology
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.workloads.frames import with_networks
from sixbench.plan.yaml_source import parse_yaml
from sixbench.report.evidence.losses import LossSum, LostAt

pytestmark = pytest.mark.computes

NETNS = {1: "h1", 2: "r1", 3: "h2"}
SERVER = {"unique": 90, "sequences": {"lost": {"ranges": [[3, 7], [95, 99]], "omitted": 0}}}


def topology() -> Topology:
    text = """
nodes: {h1: host, r1: router, h2: host}
links:
  - {endpoints: [h1, r1], name: access}
  - {endpoints: [r1, h2], name: exit}
"""
    return read_topology_only(parse_yaml(text, "test.yaml"))


def report(**changes: Any) -> dict[str, Any]:
    fields = {"netns_inode": 2, "device": "eth0", "side": "ingress", "reason": "NETFILTER_DROP", "protocol": 17}
    counts = {"packets": 0, "warmup": 0, "measured": 0, "sequences": [], "untold": 0}
    return fields | counts | changes


def counters(**groups: Any) -> dict[str, Any]:
    return {"interfaces": {}, "snmp": {}} | groups


def loss_evidence_of(
    reports: list[dict[str, Any]] | None,
    server: dict[str, Any] = SERVER,
    client: dict[str, Any] | None = None,
    **drops: Any,
) -> LossEvidence:
    seen = Drops(reports=observed.drops(reports), **drops)
    return loss_evidence({"udp"}, topology(), NETNS, client or {"sent": 100}, server, seen, {}, {})


def test_every_lost_datagram_is_at_its_place() -> None:
    evidence = loss_evidence_of(
        [
            report(packets=5, measured=5, sequences=[[3, 7]]),
            report(netns_inode=3, side="socket", device=None, reason="SOCKET_RCVBUFF", packets=5, measured=5)
            | {"sequences": [[95, 99]]},
        ]
    )
    at_link, at_socket = evidence.losses.located or ()
    assert (at_link.where, at_link.link, at_link.what) == ("by r1, coming from access", "access", "a filter")
    assert (at_socket.where, at_socket.sequences) == ("at a socket of h2", ((95, 99),))
    assert (evidence.losses.lost, evidence.losses.unlocated) == (10, 0)
    assert evidence.notes == [
        "5 datagrams were lost by r1, coming from access: a filter",
        "5 datagrams were lost at a socket of h2: the socket's receive buffer was full",
    ]


def test_what_nobody_saw_is_said_with_its_numbers() -> None:
    evidence = loss_evidence_of([report(packets=2, measured=2, sequences=[[4, 5]])])
    assert evidence.losses.unlocated == 8
    assert evidence.losses.unlocated_sequences == ((3, 3), (6, 7), (95, 99))
    assert evidence.notes[-1] == "8 of 10 lost datagrams were lost at an unknown place"


def test_a_copy_of_what_arrived_is_no_loss() -> None:
    evidence = loss_evidence_of([report(packets=100, measured=100, sequences=[[0, 99]])])
    [place] = evidence.losses.located or ()
    assert (place.datagrams, place.sequences) == (10, ((3, 7), (95, 99)))
    everything_came = {"unique": 100, "sequences": {"lost": {"ranges": [], "omitted": 0}}}
    assert loss_evidence_of([report(packets=9, measured=9, sequences=[[0, 8]])], everything_came).losses.located == ()


def test_datagrams_without_room_for_their_numbers_are_counted_all_the_same() -> None:
    server = {"unique": 90, "sequences": {"lost": {"ranges": [[3, 7]], "omitted": 5}}}
    evidence = loss_evidence_of([report(packets=9, measured=9, sequences=[[3, 7]], untold=4)], server)
    assert [place.datagrams for place in evidence.losses.located or ()] == [9]
    assert evidence.losses.unlocated == 1
    assert evidence.losses.unlocated_sequences is None


def test_packets_that_cannot_be_named_are_kept_apart() -> None:
    reports = [
        report(packets=3, protocol=44),
        report(packets=2, protocol=58),
        report(packets=4, protocol=17, reason="NOT_SPECIFIED"),
        report(netns_inode=9, packets=5, measured=5, sequences=[[3, 7]]),
    ]
    [place] = loss_evidence_of(reports).losses.located or ()
    assert (place.other_packets, place.datagrams) == (3, 0)


def test_a_kernel_that_does_not_tell_is_quoted() -> None:
    evidence = loss_evidence_of(None, not_told="no CAP_BPF")
    assert evidence.losses.not_told == "no CAP_BPF"
    assert evidence.losses.lost == 10
    assert (evidence.losses.located, evidence.losses.unlocated) == (None, None)
    assert evidence.notes == []


def test_what_the_senders_socket_refused_was_never_sent() -> None:
    client = {"sent": 100, "send_errors": {"EAGAIN": 3, "EPERM": 0}, "refused": 2}
    assert loss_evidence_of([], client=client).losses.refused == {"EAGAIN": 3, "EMSGSIZE": 2}


def test_a_workload_without_a_ledger_has_no_number_of_lost() -> None:
    seen = Drops(reports=observed.drops([report(packets=7, protocol=6)]))
    evidence = loss_evidence({"tcp"}, topology(), NETNS, {}, {}, seen, {}, {})
    [place] = evidence.losses.located or ()
    assert evidence.losses == Losses(located=(place,), counters=())
    assert place.other_packets == 7


def test_drop_counters_of_every_kind_that_rose_are_named() -> None:
    early = counters(
        interfaces={"eth0": {"rx_dropped": 1, "tx_dropped": 0}},
        snmp={"Ip": {"OutNoRoutes": 4}, "Udp6": {"RcvbufErrors": 0}},
        queues={"eth1": [{"kind": "tbf", "handle": "1:", "dropped": 2**32 - 1}]},
    )
    late = counters(
        interfaces={"eth0": {"rx_dropped": 4, "tx_dropped": 0}},
        snmp={"Ip": {"OutNoRoutes": 4}, "Udp6": {"RcvbufErrors": 2}},
        queues={"eth1": [{"kind": "tbf", "handle": "1:", "dropped": 4}]},
    )
    drops = Drops(
        reports=[],
        rules_before={"r1": {"fragments": 1}},
        rules_after={"r1": {"fragments": 7, "too-big": 0, "masqueraded": 1}},
    )
    losses = loss_evidence(
        {"udp"}, topology(), NETNS, {}, {}, drops, by_node({"r1": early}), by_node({"r1": late})
    ).losses
    assert {counter.counter: counter.packets for counter in losses.counters or ()} == {
        "eth0 rx_dropped": 3,
        "eth1 tbf 1: dropped": 5,
        "Udp6 RcvbufErrors": 2,
        "ruleset fragments": 6,
    }


@pytest.mark.parametrize("listed", ["", "{}", "[]", '{"nftables": 3}', '{"nftables": [{"counter": {"name": "x"}}]}'])
def test_what_is_no_list_of_counters_has_none(listed: str) -> None:
    assert read_counters(listed) == {}


def test_counters_are_read_by_name() -> None:
    listed = {"nftables": [{"metainfo": {}}, {"counter": {"name": "fragments", "packets": 3, "bytes": 9}}]}
    assert read_counters(json.dumps(listed)) == {"fragments": 3}


NUMBERS = st.sets(st.integers(0, 60))


@given(NUMBERS, NUMBERS)
def test_ranges_are_sets(all_numbers: set[int], taken: set[int]) -> None:
    def ranges(numbers: set[int]) -> list[tuple[int, int]]:
        return joined((number, number) for number in numbers)

    def numbers(loss_evidence_of: list[tuple[int, int]]) -> set[int]:
        return {number for first, last in loss_evidence_of for number in range(first, last + 1)}

    assert numbers(ranges(all_numbers)) == all_numbers
    assert numbers(list(without(ranges(all_numbers), ranges(taken)))) == all_numbers - taken


def test_a_report_adds_up_the_trials_of_a_path() -> None:
    place = LostPlace(where="by r1, going to exit", what="the queue was full", datagrams=5, other_packets=0)
    [record, *_] = synthetic.small(blocks=1).trials
    added = LossSum()
    for item in (
        Losses(located=(place,), unlocated=2, refused={"EAGAIN": 1}),
        Losses(located=(place,), unlocated=0),
        Losses(lost=4, not_told="no CAP_BPF"),
        Losses(lost=0, not_told="not asked"),
        Losses(),
        Losses(located=(replace(place, datagrams=0, other_packets=-3),)),
    ):
        added.add(replace(record, evidence=Evidence(losses=item)))
    assert added.places[0] == LostAt(where="by r1, going to exit", what="the queue was full", datagrams=10, trials=3)
    assert [place.where for place in added.places[1:]] == [
        "at an unknown place",
        "at the sender's socket, before they were sent",
    ]
    assert added.not_told == ["no CAP_BPF"]


def test_frames_to_networks_behind_a_host_that_its_ring_has_had_are_no_losses() -> None:
    """Nobody is in these networks, so the kernel drops its copies. A router that knows no route loses them."""
    reports = [
        report(netns_inode=inode, reason=reason, packets=9, untold=9)
        for inode in (2, 3)
        for reason in ("IP_INADDRERRORS", "IP_INNOROUTES")
    ]
    receiver = {"unique": 100, "ring_drops": 0}
    hosts = with_networks(topology(), ("h1", "h2"), 256)
    for network, places in ((hosts, 2), (topology(), 4)):
        seen = Drops(reports=observed.drops(reports))
        evidence = loss_evidence({"udp"}, network, NETNS, {"sent": 100}, receiver, seen, {}, {})
        assert len(evidence.losses.located or ()) == places
