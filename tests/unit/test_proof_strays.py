"""Packets that came to a trial's sockets and were none of its own: few are told, many make it invalid."""

from __future__ import annotations

from typing import Any

import pytest
from reasons import kinds, texts

from sixbench.model.reason import ReasonKind
from sixbench.model.workload import Traffic
from sixbench.model.workloads import WORKLOADS
from sixbench.run.measure_trials import assess
from sixbench.run.proof.strays import FEW_STRAYS, MAX_STRAY_SHARE, judge_strays, stray_counts, stray_reason

RTT = {"unit": "ns", "count": 2000, "p50": 1000, "buckets": []}
RR_CLIENT = {"transactions": 2000, "warmup_transactions": 500, "measured_ns": 10**9, "rtt": RTT, "rtt_jitter": RTT}
OWN_PACKETS = 5000


def strays(datagrams: int = 0, connections: int = 0) -> dict[str, Any]:
    return {"strays": {"datagrams": datagrams, "connections": connections}}


def test_a_flood_of_strays_makes_a_trial_of_requests_invalid() -> None:
    """It was `ok` with a remark, at a fortieth of its rate."""
    measured, status, reasons = assess(WORKLOADS["udp-rr"], {}, RR_CLIENT, strays(datagrams=166_000))
    assert (status, kinds(reasons)) == ("invalid", [ReasonKind.STRAYS])
    assert texts(reasons) == [
        "166000 stray datagrams came to the trial's sockets beside 5000 packets of its own: "
        "more than 1%, so they took time from what was measured"
    ]
    assert measured.notes == ["166000 stray datagrams were refused or ignored"]


def test_few_strays_are_a_remark() -> None:
    few = int(MAX_STRAY_SHARE * OWN_PACKETS)
    for side in ("client", "server"):
        results = {"client": RR_CLIENT, "server": {}}
        results[side] = results[side] | strays(datagrams=few)
        measured, status, reasons = assess(WORKLOADS["udp-rr"], {}, results["client"], results["server"])
        assert (status, reasons) == ("ok", [])
        assert measured.notes == [f"{few} stray datagrams were refused or ignored"]
    _, status, _ = assess(WORKLOADS["udp-rr"], {}, RR_CLIENT, strays(datagrams=few + 1))
    assert status == "invalid"


def test_strays_of_both_sides_count_together() -> None:
    few = int(MAX_STRAY_SHARE * OWN_PACKETS)
    client, server = RR_CLIENT | strays(datagrams=few), strays(datagrams=1)
    _, status, reasons = assess(WORKLOADS["udp-rr"], {}, client, server)
    assert (status, kinds(reasons)) == ("invalid", [ReasonKind.STRAYS])


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
    [told], [reason] = judge_strays(client, client, server, own_packets=0)
    assert told.startswith("18 stray datagrams")
    assert reason.kind == "strays"


def test_a_stray_connection_is_several_packets() -> None:
    connections = FEW_STRAYS // 4
    assert stray_reason({"connections": connections}, own_packets=0) is None
    reason = stray_reason({"connections": connections, "datagrams": 1}, own_packets=0)
    assert reason is not None
    assert "4 stray connections and 1 stray datagrams came" in reason.text


def test_the_packets_of_a_stream_follow_from_its_bytes() -> None:
    assert Traffic(forward_payload_bytes=1_460_000, reverse_payload_bytes=1).packets == 1001
    assert Traffic(forward_payload_bytes=64, messages=2).packets == 2
    assert Traffic().packets == 0
