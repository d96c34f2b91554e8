"""Connections that are held, and the sessions of nodes that keep state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from observed import answers
from reasons import kinds

from sixbench.bench.proof.sessions import judge_sessions, session_evidence, session_memory_bytes
from sixbench.mechanisms import install
from sixbench.model.evidence.sessions import TrackedSessions
from sixbench.model.experiment import Experiment
from sixbench.model.observation import TrackingAnswer
from sixbench.model.reason import ReasonKind
from sixbench.model.workload import Traffic, TrialMeasurements
from sixbench.model.workloads.connections import KIND

pytestmark = pytest.mark.computes

EMPTY = {"unit": "ns", "count": 0, "buckets": []}
CLIENT: dict[str, Any] = {
    "attempts": 1000,
    "established": 900,
    "failed": {"timeout": 60, "ECONNREFUSED": 30, "EHOSTUNREACH": 10},
    "alive": 890,
    "lost": {"ECONNRESET": 10},
    "connect": EMPTY,
    "check": EMPTY,
    "establishing_ns": 2 * 10**9,
}


def summarise(params: dict[str, Any], **changed: Any) -> TrialMeasurements:
    return KIND.summarise(params, CLIENT | changed, {})


def test_what_became_of_connections_is_counted() -> None:
    measured = summarise({})
    assert measured.metrics == {
        "connections_established_count": 900,
        "connections_alive_count": 890,
        "connections_refused_count": 30,
        "connections_timed_out_count": 60,
        "establishment_rate_per_s": 450,
    }
    assert measured.invalid == []
    assert measured.notes == [
        "connections that failed: 30 ECONNREFUSED, 10 EHOSTUNREACH, 60 timeout",
        "connections that were not alive at the end: 10 ECONNRESET",
    ]


def test_the_traffic_of_tcp_has_handshakes_and_that_of_udp_has_answers() -> None:
    assert KIND.traffic({}, CLIENT, {}) == Traffic(
        forward_payload_bytes=17 * 890, reverse_payload_bytes=2 * 890, messages=4 * 900 + 2 * 890, fills_tables=True
    )
    assert KIND.traffic({"transport": "udp"}, CLIENT, {}) == Traffic(
        forward_payload_bytes=17 * 1790, reverse_payload_bytes=2 * 1790, messages=2 * 1790, fills_tables=True
    )


def test_a_client_without_ports_left_or_behind_its_rate_is_the_limit() -> None:
    assert kinds(summarise({}, failed={"EADDRNOTAVAIL": 100}).invalid) == [ReasonKind.TESTER_LIMITED]
    late = {"offered_ns": 2 * 10**9, "lateness": EMPTY}
    assert kinds(summarise({"rate_per_s": 1000}, **late).invalid) == [ReasonKind.TESTER_LIMITED]
    assert summarise({"rate_per_s": 500}, **late).invalid == []
    none = {"established": 0, "alive": 0, "lost": {}, "failed": {"timeout": 1000}}
    assert kinds(summarise({}, **none).invalid) == [ReasonKind.NOTHING_ARRIVED]


def test_results_that_do_not_add_up_are_refused() -> None:
    [expected] = KIND.results("client", {})
    expected.form.model_validate(CLIENT)
    for changed in ({"attempts": 999}, {"alive": 900}):
        with pytest.raises(ValueError, match="are not those that"):
            expected.form.model_validate(CLIENT | changed)


def answer(sessions: int, **more: Any) -> dict[str, Any]:
    statistics = {"insert": 0, "insert_failed": 0, "drop": 0, "early_drop": 0}
    slab = {"objects": 300 + sessions, "object_bytes": 256}
    return {"sessions": sessions, "most": 262144, "statistics": statistics, "slab": slab} | more


def tracking_answers(nodes: dict[str, dict[str, Any]]) -> dict[str, TrackingAnswer]:
    return answers(TrackingAnswer, nodes)


def test_sessions_are_those_at_both_ends_and_what_failed_in_between() -> None:
    after = answer(20_000, statistics={"insert": 0, "insert_failed": 7, "drop": 7, "early_drop": 0})
    actual_session_evidence = session_evidence(
        tracking_answers({"r1": answer(3), "r2": {}}), tracking_answers({"r1": after, "r2": {}})
    )
    assert actual_session_evidence == {
        "r1": TrackedSessions(
            before=3,
            after=20_000,
            most=262144,
            failed={"insert_failed": 7, "drop": 7},
            object_bytes=256,
            objects=19_997,
        )
    }
    assert session_memory_bytes(actual_session_evidence) == 256
    without = {"sessions": 5, "most": 9}
    assert session_evidence(tracking_answers({"r1": without}), tracking_answers({"r1": without}))["r1"].failed is None


def test_the_memory_of_a_session_is_absent_and_not_zero() -> None:
    few = session_evidence(tracking_answers({"r1": answer(0)}), tracking_answers({"r1": answer(9_999)}))
    assert session_memory_bytes(few) is None
    hidden = {"sessions": 0, "most": 9}, {"sessions": 20_000, "most": 9}
    assert (
        session_memory_bytes(session_evidence(tracking_answers({"r1": hidden[0]}), tracking_answers({"r1": hidden[1]})))
        is None
    )
    assert session_memory_bytes({}) is None


def test_refused_sessions_are_a_reason_unless_they_were_meant() -> None:
    before = tracking_answers({"r1": answer(0)})
    after = tracking_answers({"r1": answer(9, statistics={"insert_failed": 7, "drop": 0, "early_drop": 0})})
    sessions = session_evidence(before, after)
    notes, reasons = judge_sessions(["r1"], sessions, before, is_meant=False)
    assert (notes, kinds(reasons)) == ([], [ReasonKind.SESSIONS_REFUSED])
    assert "r1 refused sessions, with 9 of at most 262144 at the end (insert_failed 7" in reasons[0].text
    notes, reasons = judge_sessions(["r1"], sessions, before, is_meant=True)
    assert (len(notes), reasons) == (1, [])


def test_a_node_that_does_not_tell_proves_nothing() -> None:
    notes, reasons = judge_sessions(["r1"], {}, {}, is_meant=True)
    assert (notes, kinds(reasons)) == ([], [ReasonKind.NOT_COUNTED])


def test_sessions_that_could_not_be_forgotten_are_told() -> None:
    before = tracking_answers({"r1": answer(5, forgotten=False)})
    sessions = session_evidence(before, tracking_answers({"r1": answer(6)}))
    [note] = judge_sessions(["r1"], sessions, before, is_meant=False)[0]
    assert note.startswith("r1 had 5 sessions before the trial")


TEXT = """
topology:
  nodes: {h1: host, r1: {kind: router, masquerade: true}, r2: router, r3: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2]}, {endpoints: [r2, r3]}, {endpoints: [r3, h2]}]
between: [h1, h2]
paths: {native: native4, lite: {ds-lite: [r2, r3]}}
workloads: [ping]
"""


def test_nodes_that_keep_state_masquerade_or_translate(read: Callable[[str], Experiment]) -> None:
    experiment = read(TEXT)
    tracking = [install(path, experiment.topologies[0], experiment.between).tracking for path in experiment.paths]
    assert tracking == [("r1",), ("r1", "r3")]
