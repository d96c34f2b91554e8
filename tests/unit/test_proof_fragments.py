"""Fragments that nodes counted, against theory."""

from __future__ import annotations

from typing import Any

import pytest
from fragments_lab import Profile
from observed import by_node

from sixbench.bench.proof.fragments import FragmentEvidence, fragment_evidence
from sixbench.model.evidence.fragments import FragmentLink, Fragments
from sixbench.model.path import Path

pytestmark = pytest.mark.computes

NARROW = Profile(mtus=(1500, 1300, 1500), mechanism="native4")
NARROW_6 = Profile(mtus=(1500, 1300, 1500), mechanism="native6")
NAMES = ("FragOKs", "FragCreates", "FragFails", "ReasmReqds", "ReasmOKs", "ReasmFails")


def counters(group: str = "Ip", **counted: int) -> dict[str, Any]:
    zero = dict.fromkeys(NAMES, 0)
    return {"snmp": {"Ip": zero, "Ip6": zero} | {group: zero | counted}}


def judged(
    profile: Profile,
    after: dict[str, Any],
    sent: int,
    received: int,
    kind: str = "udp-stream",
    before: dict[str, Any] | None = None,
    **params: Any,
) -> FragmentEvidence:
    family = 4 if profile.mechanism == "native4" else 6
    path = Path(name="path", mechanism=profile.mechanism, family=family)
    nodes = {name: after.get(name, counters()) for name in ("h1", "r1", "r2", "h2")}
    return fragment_evidence(
        kind,
        {"datagram_bytes": 1470, **params},
        profile.network(),
        path,
        {"sent": sent, "warmup_sent": 0},
        {"received": received, "warmup_received": 0},
        by_node({name: (before or {}).get(name, counters()) for name in nodes}),
        by_node(nodes),
    )


def test_counters_that_agree() -> None:
    after = {
        "r1": counters(FragOKs=10, FragCreates=20),
        "h2": counters(ReasmReqds=20, ReasmOKs=10),
    }
    judgement = judged(NARROW, after, sent=10, received=10)
    assert judgement.notes == []
    assert judgement.fragments.agrees is True
    assert judgement.fragments.nodes == {
        "r1": {"ipv4": {"cut": 10, "created": 20}},
        "h2": {"ipv4": {"collected": 20, "reassembled": 10}},
    }
    assert judgement.fragments.links[1] == FragmentLink(
        link="r1-r2",
        packets=2,
        sizes_bytes=(1300, 218),
        wire_bytes=1338 + 256,
        expected_packets=(20, 20),
        expected_bytes=(10 * (1300 + 218 + 2 * 14),) * 2,
    )


def test_a_source_that_already_knew_the_path_mtu_is_recognised() -> None:
    after = {
        "h1": counters(FragOKs=10, FragCreates=20),
        "h2": counters(ReasmReqds=20, ReasmOKs=10),
    }
    judgement = judged(NARROW, after, sent=10, received=10)
    assert (judgement.notes, judgement.fragments.known) == ([], True)


def test_another_node_that_cuts_is_remarked_upon() -> None:
    after = {
        "r1": counters(FragOKs=10, FragCreates=20),
        "r2": counters(FragOKs=3, FragCreates=6),
        "h2": counters(ReasmReqds=20, ReasmOKs=10),
    }
    judgement = judged(NARROW, after, sent=10, received=10)
    assert judgement.fragments.agrees is False
    assert judgement.notes == [
        "r2 counted 3 FragOKs of IPv4, where theory expects 0",
        "r2 counted 6 FragCreates of IPv4, where theory expects 0",
    ]


def test_what_path_mtu_discovery_costs_is_no_difference() -> None:
    after = {
        "h1": counters("Ip6", FragOKs=10, FragCreates=20),
        "r1": counters("Ip6", FragFails=1),
        "h2": counters("Ip6", ReasmReqds=19, ReasmOKs=9),
    }
    judgement = judged(NARROW_6, after, sent=10, received=9)
    assert judgement.notes == []
    assert (judgement.fragments.known, judgement.fragments.lost_first) == (False, 1)


def test_fragments_that_a_queue_dropped_are_no_difference() -> None:
    after = {
        "r1": counters(FragOKs=8, FragCreates=18, FragFails=2),
        "h2": counters(ReasmReqds=17, ReasmOKs=8),
    }
    assert judged(NARROW, after, sent=10, received=8).notes == []


def test_other_workloads_tell_their_counters_and_nothing_more() -> None:
    judgement = judged(NARROW, {"r1": counters(FragFails=1)}, sent=0, received=0, kind="ping")
    assert judgement.fragments == Fragments(nodes={"r1": {"ipv4": {"too_long": 1}}})


def test_datagrams_of_several_sizes_are_foretold_where_each_is_one_packet_everywhere() -> None:
    varied = {"datagram_bytes": 0, "sizes": "uniform", "sizes_min_bytes": 64, "sizes_max_bytes": 1200}
    judgement = judged(NARROW, {}, sent=10, received=10, **varied)
    assert (judgement.notes, judgement.fragments.agrees, judgement.fragments.links) == ([], True, ())
    cut = judged(NARROW, {"r1": counters(FragOKs=1, FragCreates=2)}, sent=10, received=10, **varied)
    assert "r1 counted 1 FragOKs of IPv4, where theory expects 0" in cut.notes
    wider = judged(NARROW, {}, sent=10, received=10, **varied | {"sizes_max_bytes": 1400})
    assert (wider.notes, wider.fragments.agrees) == ([], None)
    assert "several sizes" in wider.fragments.not_predicted
    traced = judged(NARROW, {}, sent=10, received=10, trace="a.pcap")
    assert traced.fragments.not_predicted == "the datagrams have the sizes of a trace"


def test_links_that_nothing_can_reach_are_told() -> None:
    judgement = judged(NARROW, {"r1": counters(FragFails=10)}, sent=10, received=0, df="probe")
    assert judgement.notes == []
    assert judgement.unreached == {"r1-r2", "r2-h2"}
    assert judgement.is_loss_foretold
    assert not judged(NARROW, {}, sent=10, received=0).is_loss_foretold


def crossing(profile: Profile, sent: int, received: int, packets: int, octets: int, **params: Any) -> FragmentEvidence:
    """So many packets and bytes came to r2 from r1."""
    after = {
        "r1": counters(FragOKs=10, FragCreates=20),
        "r2": counters() | {"interfaces": {"eth0": {"rx_packets": 7 + packets, "rx_bytes": 700 + octets}}},
        "h2": counters(ReasmReqds=20, ReasmOKs=10),
    }
    before = {"r2": counters() | {"interfaces": {"eth0": {"rx_packets": 7, "rx_bytes": 700}}}}
    return judged(profile, after, sent, received, before=before, **params)


def test_packets_and_bytes_on_a_link_that_agree() -> None:
    # Two of them are ARP.
    actual_crossing = crossing(NARROW, 10, 10, packets=22, octets=15_460 + 2 * 42)
    assert (actual_crossing.notes, actual_crossing.fragments.agrees) == ([], True)
    link = actual_crossing.fragments.links[1]
    assert (link.counted_packets, link.counted_bytes, link.agrees) == (22, 15_544, True)
    assert actual_crossing.fragments.links[0].agrees is None


def test_another_number_of_packets_on_a_link_is_remarked_upon() -> None:
    actual_crossing = crossing(NARROW, 10, 10, packets=40, octets=15_460)
    assert actual_crossing.fragments.agrees is False
    assert actual_crossing.notes == ["40 packets of 15460 bytes crossed r1-r2, where theory expects 20 of 15460 bytes"]
    assert not crossing(NARROW, 10, 10, packets=19, octets=15_460).fragments.agrees


def test_where_all_are_lost_by_theory_it_also_says_where() -> None:
    judgement = judged(NARROW, {"r1": counters(FragFails=10)}, sent=10, received=0, df="probe")
    assert [link.expected_packets for link in judgement.fragments.links] == [(10, 10), (0, 0), (0, 0)]
