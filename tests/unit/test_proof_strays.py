"""Packets that came to a trial's sockets and were none of its own: few are told, many make it invalid."""

from __future__ import annotations

from typing import Any

import pytest
from reasons import kinds, texts

from sixbench.bench.measure_trials import assess
from sixbench.bench.proof.segments import segment_evidence
from sixbench.bench.proof.strays import FEW_STRAYS, MAX_STRAY_SHARE, judge_strays, stray_counts, stray_reason
from sixbench.model.evidence.arrivals import ArrivedSegments
from sixbench.model.observation import CountersAnswer, Drop
from sixbench.model.reason import ReasonKind
from sixbench.model.workload import Traffic
from sixbench.model.workloads import WORKLOADS

pytestmark = pytest.mark.computes

RTT = {"unit": "ns", "count": 2000, "p50": 1000, "buckets": []}
RR_CLIENT = {"transactions": 2000, "warmup_transactions": 500, "measured_ns": 10**9, "rtt": RTT, "rtt_jitter": RTT}
OWN_PACKETS = 5000


def strays(datagrams: int = 0, connections: int = 0) -> dict[str, Any]:
    return {"strays": {"datagrams": datagrams, "connections": connections}}


def test_a_flood_of_strays_makes_a_trial_of_requests_invalid() -> None:
    """It was `ok` with a remark, at a fortieth of its rate."""
    verdict = assess(WORKLOADS["udp-rr"], {}, RR_CLIENT, strays(datagrams=166_000))
    assert (verdict.status, kinds(verdict.reasons)) == ("invalid", [ReasonKind.STRAYS])
    assert texts(verdict.reasons) == [
        "166000 stray datagrams reached the trial's sockets beside 5000 packets of the trial: "
        "more than 1%, so they disturbed the measurement"
    ]
    assert verdict.measured.notes == ["166000 stray datagrams were refused or ignored"]


def test_few_strays_are_a_remark() -> None:
    few = int(MAX_STRAY_SHARE * OWN_PACKETS)
    for side in ("client", "server"):
        results = {"client": RR_CLIENT, "server": {}}
        results[side] = results[side] | strays(datagrams=few)
        verdict = assess(WORKLOADS["udp-rr"], {}, results["client"], results["server"])
        assert (verdict.status, verdict.reasons) == ("ok", [])
        assert verdict.measured.notes == [f"{few} stray datagrams were refused or ignored"]
    assert assess(WORKLOADS["udp-rr"], {}, RR_CLIENT, strays(datagrams=few + 1)).status == "invalid"


def test_strays_of_both_sides_count_together() -> None:
    few = int(MAX_STRAY_SHARE * OWN_PACKETS)
    client, server = RR_CLIENT | strays(datagrams=few), strays(datagrams=1)
    verdict = assess(WORKLOADS["udp-rr"], {}, client, server)
    assert (verdict.status, kinds(verdict.reasons)) == ("invalid", [ReasonKind.STRAYS])


@pytest.mark.parametrize(
    "results",
    [
        [strays(datagrams=7), {}],
        [{}, strays(datagrams=7)],
        [{"reverse_receiver": strays(datagrams=7)}, {"reverse_sender": {}}],
        [{"parts": {"a": strays(datagrams=3)}}, {"parts": {"a": {}, "b": {"forward_receiver": strays(datagrams=4)}}}],
    ],
    ids=["client", "server", "the other direction's receiver", "flows"],
)
def test_strays_are_found_wherever_a_result_tells_them(results: list[dict[str, Any]]) -> None:
    assert stray_counts(*results) == {"datagrams": 7}


def test_a_trial_of_few_packets_may_have_a_few_strays() -> None:
    assert stray_reason({"datagrams": FEW_STRAYS}, own_packets=2) is None
    assert stray_reason({"datagrams": FEW_STRAYS + 1}, own_packets=2) is not None
    assert stray_reason({}, own_packets=0) is None


def test_few_strays_are_told_and_many_make_a_trial_invalid() -> None:
    assert judge_strays({}, {}, own_packets=0) == ([], [])
    client, server = {"strays": {"datagrams": 2}}, {"strays": {"datagrams": FEW_STRAYS - 2}}
    notes = ["16 stray datagrams were refused or ignored"]
    assert judge_strays(client, server, own_packets=0) == (notes, [])
    [output], [reason] = judge_strays(client, client, server, own_packets=0)
    assert output.startswith("18 stray datagrams")
    assert reason.kind == "strays"


def test_a_stray_connection_is_several_packets() -> None:
    connections = FEW_STRAYS // 4
    assert stray_reason({"connections": connections}, own_packets=0) is None
    reason = stray_reason({"connections": connections, "datagrams": 1}, own_packets=0)
    assert reason is not None
    assert "4 stray connections and 1 stray datagrams reached" in reason.text


def test_the_packets_of_a_stream_follow_from_its_bytes() -> None:
    assert Traffic(forward_payload_bytes=1_460_000, reverse_payload_bytes=1).packets == 1001
    assert Traffic(forward_payload_bytes=64, messages=2).packets == 2
    assert Traffic().packets == 0


def counters(arrived: int = 0, sent: int = 0, again: int = 0, **tcpext: int) -> CountersAnswer:
    tcp = {"InSegs": arrived, "OutSegs": sent, "RetransSegs": again}
    return CountersAnswer(interfaces={}, snmp={"Tcp": tcp}, tcpext=tcpext)


def arrived(server: CountersAnswer, client: CountersAnswer, *drops: Drop) -> ArrivedSegments:
    """Segments that came to the server."""
    before = {"h1": counters(), "h2": counters()}
    actual_segment_evidence = segment_evidence(
        ("h1", "h2"), {7: "h2", 8: "r1"}, before, {"h1": client, "h2": server}, drops
    )
    assert actual_segment_evidence is not None
    return actual_segment_evidence["h2"]


def drop(reason: str, packets: int, netns: int = 7) -> Drop:
    places = {"netns_inode": netns, "side": "socket", "reason": reason, "protocol": 6}
    return Drop(**places, packets=packets, warmup=0, measured=packets, sequences=[], untold=packets)


def test_segments_that_the_peer_did_not_send_are_strays() -> None:
    remark = arrived(counters(arrived=1500), counters(sent=900, again=100))
    assert (remark.arrived, remark.sent, remark.strays) == (1500, 1000, 500)
    # Those that were lost, and super-packets, are fewer that came.
    assert arrived(counters(arrived=100), counters(sent=1000)).strays == 0


def test_segments_that_the_kernel_challenged_are_strays_also_among_super_packets() -> None:
    rose = {"TCPChallengeACK": 3, "TCPACKSkippedChallenge": 400}
    remark = arrived(counters(arrived=100, **rose), counters(sent=1000))
    assert remark.strays == 403
    # A SYN that the peer had to send again may be among them.
    assert arrived(counters(arrived=100, **rose), counters(sent=1000, again=5)).strays == 398
    assert remark.refused == {"TCPChallengeACK": 3, "TCPACKSkippedChallenge": 400}


def test_segments_outside_the_window_are_strays_but_for_the_peers_own_retransmissions() -> None:
    drops = drop("TCP_INVALID_SEQUENCE", 300), drop("TCP_INVALID_SEQUENCE", 50), drop("TCP_OFOMERGE", 900)
    elsewhere = drop("TCP_INVALID_SEQUENCE", 4000, netns=8)
    remark = arrived(counters(arrived=100), counters(sent=1000, again=30), *drops, elsewhere)
    assert remark.strays == 320
    assert remark.refused == {"TCP_INVALID_SEQUENCE": 350}


def test_many_stray_segments_make_a_trial_invalid_and_few_are_not_told() -> None:
    def judged(strays: int) -> tuple[list[str], list[ReasonKind]]:
        fields = {"h2": ArrivedSegments(arrived=10_000, sent=10_000 - strays, strays=strays)}
        notes, reasons = judge_strays({}, {}, own_packets=10_000, arrived=fields)
        return notes, kinds(reasons)

    assert judged(FEW_STRAYS) == ([], [])
    assert judged(50) == (["at least 50 TCP segments reached the hosts that did not come from the trial"], [])
    assert judged(500)[1] == [ReasonKind.STRAYS]
