"""`happy-eyeballs`: the order of the addresses, and results as metrics."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from unittest.mock import create_autospec

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reasons import texts

from sixbench.agent import Agent
from sixbench.agent.answers import ServeAnswer
from sixbench.bench.parts import Hosts, parts_of, run_parts
from sixbench.bench.workloads import performer_of
from sixbench.model.leg import Leg, Legs
from sixbench.model.parameter import Scalar
from sixbench.model.path import Path
from sixbench.model.topology import Family
from sixbench.model.workloads.happy_eyeballs import KIND

pytestmark = pytest.mark.computes

MS = 10**6

IPV4 = ("198.51.100.1", "198.51.100.2", "203.0.113.9")
IPV6 = ("2001:db8::1", "2001:db8::2", "2001:db8::1")
SIXTOFOUR = ("2002:c633:6401::1", "2002:c633:6402::1", "2002:c633:6401::1")


def legs(addresses: tuple[str, str, str]) -> Legs:
    client, server, seen = map(ip_address, addresses)
    family: Family = 4 if client.version == 4 else 6
    return (
        Leg(family=family, near="h1", far="r1", source=client, destination=server),
        Leg(family=family, near="r1", far="h2", source=seen, destination=server),
    )


@pytest.mark.parametrize(
    ("ipv6", "prefers_ipv4", "first"),
    [(IPV6, False, "ipv6"), (IPV6, True, "ipv4"), (SIXTOFOUR, False, "ipv4")],
)
def test_both_agents_are_told_both_addresses_and_the_client_in_the_order_of_rfc_6724(
    ipv6: tuple[str, str, str], prefers_ipv4: bool, first: str
) -> None:
    client, server = (create_autospec(Agent, instance=True) for _ in range(2))
    client.wait.return_value, server.answer.side_effect = {}, [ServeAnswer(port=7), {}]
    both: dict[Family, Legs] = {4: legs(IPV4), 6: legs(ipv6)}
    params: dict[str, Scalar] = {"prefer": "ipv4" if prefers_ipv4 else "default", "gap_ns": 1}
    path = Path(name="d", mechanism="dual-stack", family=4, options={"prefer": "default"})
    ordered = performer_of(KIND).ordered(both, path, params)
    hosts = Hosts(client=client, server=server, family=4, legs=ordered)
    [part] = parts_of(KIND, params)
    assert part.params == {"gap_ns": 1}
    run_parts([part], hosts, "key", "00" * 16, lambda running: None)
    order = (IPV4, ipv6) if first == "ipv4" else (ipv6, IPV4)
    served, asked = server.answer.call_args_list[0].args[0], client.ask.call_args.args[0]
    assert [(served.address, served.peer)] + [(item["address"], item["peer"]) for item in served.also] == [
        (item[1], item[2]) for item in order
    ]
    assert [(asked.address, asked.peer)] + [(item["address"], item["peer"]) for item in asked.also] == [
        (item[0], item[1]) for item in order
    ]
    assert asked.port == 7


def times(count: int, mean_ns: float) -> dict[str, Any]:
    known = {"mean": mean_ns, "p50": mean_ns, "p99": mean_ns} if count else {}
    return {"unit": "ns", "count": count, "buckets": []} | known


def of_family(wins: int, begun: int, alone: dict[str, Any], failed: Mapping[str, int] | None = None) -> dict[str, Any]:
    return {"wins": wins, "begun": begun, "failed": {}, "alone": {"connect": alone, "failed": failed or {}}}


ACCEPTED = {"accepted_by_family": {"ipv4": 20, "ipv6": 20}}


def test_time_is_lost_against_the_family_that_is_faster_alone() -> None:
    client = {
        "races": 10,
        "connect": times(8, 270 * MS),
        "failed": {"timeout": 2},
        "ipv4": of_family(6, 10, times(10, 20 * MS)),
        "ipv6": of_family(2, 10, times(10, 420 * MS)),
    }
    measured = KIND.summarise({}, client, ACCEPTED)
    assert measured.invalid == []
    assert measured.notes == ["connections failed: 2 timeout"]
    assert measured.metrics == {
        "connect_mean_ns": 270 * MS,
        "connect_p50_ns": 270 * MS,
        "connect_p99_ns": 270 * MS,
        "connect_ipv4_mean_ns": 20 * MS,
        "connect_ipv6_mean_ns": 420 * MS,
        "ipv6_wins_ratio": 0.25,
        "attempts_per_connection": 2.0,
        "failed_ratio": 0.2,
        "time_lost_ns": 250 * MS,
    }
    # A client that only had IPv4 would have waited for its address too.
    later = KIND.summarise({"a_after_ns": 100 * MS}, client, ACCEPTED)
    assert later.metrics["time_lost_ns"] == 150 * MS


def test_a_family_that_nothing_answered_is_silent_and_has_no_time() -> None:
    client = {
        "races": 1,
        "connect": times(1, 270 * MS),
        "failed": {},
        "ipv4": of_family(1, 1, times(1, 20 * MS)),
        "ipv6": of_family(0, 1, times(0, 0), {"timeout": 3}),
    }
    measured = KIND.summarise({}, client, {"accepted_by_family": {"ipv4": 1, "ipv6": 0}})
    assert measured.invalid == []
    assert measured.notes == ["over IPv6 alone, connections failed: 3 timeout"]
    assert "connect_ipv6_mean_ns" not in measured.metrics
    assert measured.metrics["time_lost_ns"] == 250 * MS
    assert KIND.traffic({}, client, {}).silent == {6}


def test_connections_that_the_server_knows_nothing_of_are_no_evidence() -> None:
    both = of_family(1, 1, times(1, MS))
    client = {"races": 2, "connect": times(2, MS), "failed": {}, "ipv4": both, "ipv6": both}
    measured = KIND.summarise({}, client, {"accepted_by_family": {"ipv4": 0, "ipv6": 2}})
    assert texts(measured.invalid) == ["2 connections over IPv4, of which the server accepted none"]


def test_without_a_connection_there_is_no_time() -> None:
    none = of_family(0, 1, times(0, 0))
    client = {"races": 1, "connect": times(0, 0), "failed": {"timeout": 1}, "ipv4": none, "ipv6": none}
    measured = KIND.summarise({}, client, ACCEPTED)
    assert (texts(measured.invalid), measured.metrics) == (["no connection was made"], {})


@given(
    wins=st.tuples(st.integers(0, 50), st.integers(0, 50)).filter(any),
    means_ns=st.tuples(*(st.floats(1, 1e12) for _ in range(3))),
    failed=st.integers(0, 50),
)
def test_shares_are_shares(wins: tuple[int, int], means_ns: tuple[float, float, float], failed: int) -> None:
    won = sum(wins)
    client = {
        "races": won + failed,
        "connect": times(won, means_ns[2]),
        "failed": {"timeout": failed} if failed else {},
        "ipv4": of_family(wins[0], won, times(1, means_ns[0])),
        "ipv6": of_family(wins[1], won, times(1, means_ns[1])),
    }
    metrics = KIND.summarise({}, client, ACCEPTED).metrics
    assert 0 <= metrics["ipv6_wins_ratio"] <= 1
    assert 0 <= metrics["failed_ratio"] < 1
    assert metrics["ipv6_wins_ratio"] * won == pytest.approx(wins[1])
    assert metrics["time_lost_ns"] >= means_ns[2] - min(means_ns[:2])
