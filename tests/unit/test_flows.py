"""Workloads of several flows: which flows they are, and how their results become metrics."""

from __future__ import annotations

from concurrent.futures import Future
from ipaddress import ip_address
from typing import Any
from unittest.mock import create_autospec

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reasons import texts

from sixbench.agent import Agent
from sixbench.agent.answers import ServeAnswer
from sixbench.bench.parts import ALONE, Hosts, parts_of, run_parts, trial_expected_ns
from sixbench.model.errors import AgentError
from sixbench.model.leg import Leg, Legs
from sixbench.model.reason import Reason, ReasonKind
from sixbench.model.topology import Family
from sixbench.model.workload import Result
from sixbench.model.workloads import WORKLOADS, compete, latency_under_load

pytestmark = pytest.mark.computes

SECOND_NS = 10**9
TIMES = {"duration_ns": SECOND_NS, "warmup_ns": SECOND_NS // 2}
UDP = TIMES | {"transport": "udp", "datagram_bytes": 500, "rate_bps": 10**6, "ipv4_flows": 2, "ipv6_flows": 1}


def receiver(*streams_bytes: int) -> dict[str, Any]:
    measured = sum(streams_bytes)
    return {
        "forward_receiver": {
            "received_bytes": measured + 100,
            "measured_bytes": measured,
            "measured_ns": SECOND_NS,
            "started_ns": 0,
            "ended_ns": SECOND_NS,
            "streams": [{"measured_bytes": streams_byte, "measured_ns": SECOND_NS} for streams_byte in streams_bytes],
        }
    }


def test_streams_of_each_family_are_one_session() -> None:
    ipv4, ipv6 = compete.KIND.parts(TIMES | {"ipv4_flows": 3, "congestion": "reno"})  # type: ignore[misc]
    assert (ipv4.workload, ipv4.family, ipv4.params["streams"], ipv4.params["congestion"]) == (
        "tcp-stream",
        4,
        3,
        "reno",
    )
    assert (ipv6.family, ipv6.params["streams"], ipv6.step) == (6, 1, ipv4.step)


def test_streams_of_both_families_are_measured_in_one_window() -> None:
    parts = compete.KIND.parts(TIMES | {"ipv4_flows": 3, "ipv6_flows": 2})  # type: ignore[misc]
    shared = [(part.params["shared_window"], part.params["shared_streams"], part.step) for part in parts]
    assert shared == [(shared[0][0], 5, 0)] * 2
    alone = compete.KIND.parts(UDP)  # type: ignore[misc]
    assert not any("shared_window" in part.params for part in alone)


def legs(family: Family, client: str, server: str) -> Legs:
    source, destination = ip_address(client), ip_address(server)
    return (Leg(family=family, near="h1", far="h2", source=source, destination=destination),)


def test_the_flow_that_failed_is_told_rather_than_the_one_that_waited_for_it() -> None:
    """Both are measured in one window, so that IPv4 ends with nothing where IPv6 does not begin."""
    client, server = (create_autospec(Agent, instance=True) for _ in range(2))
    server.answer.return_value = ServeAnswer(port=7)
    waiting: Future[Result] = Future()
    failed: Future[Result] = Future()
    failed.set_exception(AgentError("timeout", "connecting to 2001:db8::2: nothing after 5000 ms"))
    client.ask.side_effect = [waiting, failed]
    client.wait.side_effect = lambda running, op, timeout_s: running.result(timeout=0)
    both: dict[Family, Legs] = {
        4: legs(4, "192.0.2.1", "192.0.2.2"),
        6: legs(6, "2001:db8::1", "2001:db8::2"),
    }
    hosts = Hosts(client=client, server=server, family=4, legs=both)
    with pytest.raises(AgentError, match="connecting to 2001:db8::2"):
        run_parts(parts_of(compete.KIND, TIMES), hosts, "key", "00" * 16, lambda running: None)
    cancelled = [call.args[0].session for call in client.answer.call_args_list]
    assert {"key-ipv4", "key-ipv6"} <= set(cancelled)


def test_flows_of_datagrams_are_a_session_each() -> None:
    names = [part.name for part in compete.KIND.parts(UDP)]  # type: ignore[misc]
    assert names == ["ipv4-1", "ipv4-2", "ipv6-1"]


def test_shares_and_fairness_are_of_what_each_flow_brought() -> None:
    client: dict[str, Any] = {"parts": {"ipv4": {}, "ipv6": {}}}
    server = {"parts": {"ipv4": receiver(1000, 2000), "ipv6": receiver(1000)}}
    measured = compete.KIND.summarise(TIMES | {"ipv4_flows": 2}, client, server)
    assert measured.invalid == []
    assert measured.metrics["goodput_ipv4_bps"] == pytest.approx(24000)
    assert measured.metrics["goodput_ipv6_bps"] == pytest.approx(8000)
    assert measured.metrics["goodput_bps"] == pytest.approx(32000)
    assert measured.metrics["share_ipv6_ratio"] == pytest.approx(0.25)
    # (1 + 2 + 1)^2 / (3 * (1 + 4 + 1))
    assert measured.metrics["fairness_ratio"] == pytest.approx(16 / 18)
    traffic = compete.KIND.traffic(TIMES | {"ipv4_flows": 2}, client, server)
    assert (traffic.forward_payload_bytes, traffic.of(4).forward_payload_bytes) == (4200, 3100)


def test_a_flow_without_a_result_leaves_no_share() -> None:
    server = {"parts": {"ipv4": receiver(1000), "ipv6": {}}}
    measured = compete.KIND.summarise(TIMES, {"parts": {"ipv4": {}, "ipv6": {}}}, server | {})
    assert not measured.metrics.keys() & {"share_ipv6_ratio", "fairness_ratio"}
    assert any(reason.text.startswith("ipv6: ") for reason in measured.invalid)


def test_a_reason_of_one_of_several_flows_has_its_name_and_keeps_its_kind() -> None:
    reason = Reason(kind=ReasonKind.TESTER_LIMITED, text="the sender sent 5 datagrams/s where 10 were asked for")
    named = reason.of("ipv6-1")
    assert named.kind is ReasonKind.TESTER_LIMITED
    assert named.text == "ipv6-1: the sender sent 5 datagrams/s where 10 were asked for"


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=20))
def test_fairness_is_between_one_for_all_and_one_for_one(rates: list[float]) -> None:
    assert 1 / len(rates) - 1e-9 <= compete.fairness(rates) <= 1 + 1e-9
    assert compete.fairness([rates[0]] * len(rates)) == pytest.approx(1)
    assert compete.fairness([rates[0], *([0.0] * 3)]) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("params", "wrong"),
    [
        (TIMES | {"rate_bps": 5}, "rate belongs to UDP flows: give transport: udp, or leave it out"),
        (TIMES | {"transport": "udp", "rate_bps": 5}, "datagram is missing: flows of UDP need a datagram and a rate"),
        (UDP | {"congestion": "reno"}, "congestion belongs to TCP flows: leave it out with transport: udp"),
        (UDP | {"datagram_bytes": 65520}, "65520 bytes do not fit in a UDP datagram: at most 65507 over IPv4"),
        (UDP, None),
        (TIMES, None),
    ],
)
def test_what_is_wrong_with_parameters_is_said(params: dict[str, Any], wrong: str | None) -> None:
    checked = compete.KIND.check(params, frozenset({4, 6}))
    assert (checked and checked.text) == wrong


def probed(mean_ns: float, p50_ns: float) -> dict[str, Any]:
    rtt = {"unit": "ns", "count": 10, "mean": mean_ns, "p50": p50_ns, "p99": 2 * p50_ns, "buckets": [[1, 10]]}
    return {"sent": 10, "received": 10, "lost": 0, "rtt": rtt, "refused": 0, "errors": {}}


def test_latency_is_measured_twice_and_the_load_once() -> None:
    parts = latency_under_load.KIND.parts(TIMES | {"probe_interval_ns": 10**6})  # type: ignore[misc]
    assert [(part.name, part.workload, part.step) for part in parts] == [
        ("idle", "ping", 0),
        ("loaded", "ping", 1),
        ("load", "tcp-stream", 1),
    ]
    assert parts[0].params == parts[1].params
    assert parts[0].params["interval_ns"] == 10**6
    assert parts[2].params["direction"] == "both"
    assert trial_expected_ns(latency_under_load.KIND, TIMES) == 2 * sum(TIMES.values())


def test_round_trips_a_minute_are_of_the_mean_and_the_increase_of_the_medians() -> None:
    load_server, load_client = receiver(1000), {"reverse_receiver": receiver(3000)["forward_receiver"]}
    client = {"parts": {"idle": probed(1e6, 0.9e6), "loaded": probed(20e6, 18e6), "load": load_client}}
    server: dict[str, Any] = {"parts": {"idle": {}, "loaded": {}, "load": load_server}}
    metrics = latency_under_load.KIND.summarise(TIMES, client, server).metrics
    assert metrics["round_trips_idle_per_min"] == pytest.approx(60_000)
    assert metrics["round_trips_loaded_per_min"] == pytest.approx(3_000)
    assert metrics["rtt_increase_ns"] == pytest.approx(17.1e6)
    assert (metrics["rtt_loaded_p99_ns"], metrics["loss_ratio"]) == (36e6, 0)
    assert (metrics["goodput_bps"], metrics["goodput_reverse_bps"]) == (8000, 24000)


def test_probes_that_nobody_answered_under_load_are_an_invalid_trial() -> None:
    silent = {"sent": 10, "received": 0, "lost": 10, "refused": 0, "errors": {}, "rtt": {"count": 0}}
    load_client = {"reverse_receiver": receiver(3000)["forward_receiver"]}
    client = {"parts": {"idle": probed(1e6, 1e6), "loaded": silent, "load": load_client}}
    server: dict[str, Any] = {"parts": {"idle": {}, "loaded": {}, "load": receiver(1000)}}
    measured = latency_under_load.KIND.summarise(TIMES, client, server)
    assert texts(measured.invalid) == ["loaded: none of 10 echo requests was answered"]
    assert not measured.metrics.keys() & {"rtt_increase_ns", "round_trips_loaded_per_min", "rtt_loaded_p50_ns"}


def test_an_agents_workload_is_its_own_one_part() -> None:
    [part] = parts_of(WORKLOADS["tcp-rr"], TIMES)
    assert (part.name, part.workload, part.params) == (ALONE, "tcp-rr", TIMES)
    assert trial_expected_ns(WORKLOADS["tcp-rr"], {"count": 5}) is None
