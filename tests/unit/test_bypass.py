"""Limits of the tester itself, and results that are within a tenth of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sixbench.analysis.noise import tester_remarks as remarks_on_tester
from sixbench.bench.bypass import by_workload, bypass_of, measure_bypass
from sixbench.model.bypass import Bypass, bypassed_column, is_tester_limited
from sixbench.model.experiment import Experiment
from sixbench.model.trial import TrialRecord
from sixbench.model.workloads import WORKLOADS

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
TIMES = {"duration_ns": 10**9}
TEXT = """
topology:
  nodes: {h1: host, r1: router, h2: host}
  links: [{endpoints: [h1, r1], mtu: 9000}, {endpoints: [r1, h2], rate: [10Mbit, 100Mbit]}]
paths: {ipv4: native4, ipv6: native6}
workloads: [{tcp-stream: {duration: 1s}}, {udp-stream: {datagram: 100B, rate: 1Mbit}}, pmtu]
"""


@pytest.mark.parametrize(
    ("kind", "params", "column"),
    [
        ("tcp-stream", TIMES, "goodput_bps"),
        ("udp-stream", TIMES | {"datagram_bytes": 64}, "goodput_bps"),
        ("udp-stream", TIMES | {"datagram_bytes": 64, "rate_pps": 1000}, None),
        ("udp-stream", TIMES | {"datagram_bytes": 64, "gaps": "exponential"}, None),
        ("voip", TIMES, None),
        ("frames", TIMES | {"frame_bytes": 64, "rate_pps": 1000}, None),
        ("dns64", TIMES | {"rate_per_s": 1000}, None),
        ("tcp-crr", TIMES, "transactions_rate_per_s"),
        ("tcp-crr", TIMES | {"rate_per_s": 100}, None),
        ("tcp-rr", TIMES, "rtt_p50_ns"),
        ("pmtu", {}, None),
        ("compete", TIMES, None),
        ("happy-eyeballs", {}, None),
    ],
)
def test_the_tester_shows_its_limit_by_what_a_workload_is_for(kind: str, params: dict[str, Any], column: str) -> None:
    assert bypassed_column(WORKLOADS[kind], params) == column


@pytest.mark.parametrize(
    ("column", "value", "limited"),
    [
        ("goodput_bps", 89.0, False),
        ("goodput_bps", 90.0, True),
        ("goodput_bps", 130.0, True),
        ("rtt_p50_ns", 111.0, False),
        ("rtt_p50_ns", 110.0, True),
        ("rtt_p50_ns", 70.0, True),
    ],
)
def test_within_a_tenth_is_near(column: str, value: float, limited: bool) -> None:
    assert is_tester_limited(column, {column: value}, {column: 100.0}) is limited
    assert not is_tester_limited(column, {column: value}, {})
    assert not is_tester_limited(column, {}, {column: 100.0})


def test_a_bypass_is_found_by_workload_family_and_link(read: Read) -> None:
    experiment = read(TEXT)
    combination = next(
        combination for combination in experiment.combinations if combination.workload.kind == "tcp-stream"
    )
    known = Bypass(
        workload="tcp-stream",
        params=combination.workload.params,
        family=6,
        mtu_bytes=9000,
        offload=False,
        metrics={"goodput_bps": 1e9},
    )
    ipv4, ipv6 = experiment.paths
    assert bypass_of(experiment, combination, ipv6, by_workload([known])) == known
    assert bypass_of(experiment, combination, ipv4, by_workload([known])) is None
    assert bypass_of(experiment, combination, ipv6, by_workload([replace(known, mtu_bytes=1500)])) is None
    assert bypass_of(experiment, combination, ipv6, by_workload([replace(known, failed="it rained")])) is None


def test_what_is_known_already_is_not_measured_again(read: Read) -> None:
    experiment = read(TEXT)
    params = next(
        combination.workload.params
        for combination in experiment.combinations
        if combination.workload.kind == "tcp-stream"
    )
    known = tuple(
        Bypass(workload="tcp-stream", params=params, family=path.family, mtu_bytes=9000, offload=False)
        for path in experiment.paths
    )
    # Whoever would measure needs a hub.
    assert measure_bypass(None, experiment, known) == known  # type: ignore[arg-type]


def trial(path: str, limited_by: str | None) -> TrialRecord:
    return TrialRecord(
        key=path,
        sequence=1,
        block=1,
        combination="c0001",
        path=path,
        mechanism="native4",
        engine="kernel",
        workload="tcp-stream",
        params={},
        levels={},
        status="ok",
        started_realtime_ns=0,
        elapsed_ns=1,
        bypass={"goodput_bps": 1.0},
        limited_by=limited_by,
    )


def test_results_that_the_tester_limits_are_remarked_in_one_sentence_a_workload() -> None:
    trials = [trial("a", "tester"), trial("a", "cpu"), trial("b", "path"), trial("b", None), trial("c", "tester")]
    other = replace(trial("a", "tester"), workload="tcp-rr", bypass={"rtt_p50_ns": 1.0})
    assert remarks_on_tester([*trials, other]) == [
        "The tester was the limit in 2 of 5 trials of TCP bulk transfer (over a, c): "
        "the goodput is within 10 % of its value with no path in between.",
        "The tester was the limit in 1 of 1 trials of TCP request and response (over a): "
        "the median round-trip time is within 10 % of its value with no path in between.",
    ]
    assert remarks_on_tester([trial("a", None), trial("b", "path")]) == []
