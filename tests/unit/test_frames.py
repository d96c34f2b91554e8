"""The workload `frames`: what experiments may ask for, and what follows from the agents' results."""

from __future__ import annotations

from typing import Any

import pytest

from sixbench.model.errors import ExperimentError
from sixbench.model.reason import ReasonKind
from sixbench.model.workload import Result
from sixbench.model.workloads import WORKLOADS
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml

from sixbench.mechanisms import MECHANISMS  # isort: skip

EXPERIMENT = """\
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1], {access}}}, {{endpoints: [r1, r2]}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths: {paths}
workloads:
  - frames: {frames}
"""

LATENESS = {"count": 10, "buckets": [[5000, 10]], "min": 5000, "max": 5000, "mean": 5000.0, "stdev": 0.0}
TIMES = LATENESS | {"p50": 5000, "p90": 5000, "p99": 5000, "p999": 5000}
PARAMS = {"frame_bytes": 64, "rate_pps": 1000, "count": 10}
SENT: Result = {
    "sent": 10,
    "due": 10,
    "sent_bytes": 180,
    "measured_ns": 9_000_000,
    "scheduled_ns": 9_000_000,
    "lateness": TIMES,
    "inter_frame_error": TIMES,
}
CAME: Result = {
    "received": 9,
    "unique": 8,
    "duplicates": 1,
    "reordered": 0,
    "corrupt": 1,
    "late": 0,
    "ring_drops": 0,
    "lost_middle": 1,
    "lost_tail": 1,
    "unique_bytes": 144,
    "measured_bytes": 126,
    "measured_ns": 7_000_000,
    "one_way_delay": TIMES,
    "ipdv": TIMES,
    "pdv": TIMES,
}


def problems(paths: str, frames: str, access: str = "mtu: 1500") -> str:
    text = EXPERIMENT.format(paths=paths, frames=frames, access=access)
    with pytest.raises(ExperimentError) as caught:
        read_experiment(parse_yaml(text, "x.yaml"), MECHANISMS)
    return str(caught.value)


@pytest.mark.parametrize(
    ("paths", "frames", "access", "words"),
    [
        ("{n: native6}", "{frame: 64B, packet-rate: 1kpps}", "mtu: 1500", "too small: at least 84 over IPv6"),
        ("{n: native4}", "{frame: 1519B, packet-rate: 1kpps}", "mtu: 1500", "1519 bytes are too large for n"),
        ("{n: native4}", "{frame: 1518B, packet-rate: 1kpps}", "mtu: 1400", "on h1-r1, where 1400 fit"),
        ("{t: {6in4: [r1, r2]}}", "{frame: 1499B, packet-rate: 1kpps}", "mtu: 1500", "give at most 1498B"),
        ("{n: native4}", "{frame: 64B, packet-rate: 15kpps}", "rate: 10Mbit", "10000000 bit/s carry 14881 frames/s"),
        ("{n: native4}", "{frame: 64B}", "mtu: 1500", "packet-rate is missing"),
        ("{n: native4}", "{packet-rate: 1kpps}", "mtu: 1500", "frame is missing"),
        ("{n: native4}", "{frame: 64B, packet-rate: 1kpps, direction: up}", "mtu: 1500", "not one of forward"),
        ("{n: native4}", "{frame: 64B, packet-rate: 1kpps, step-after: 1s}", "mtu: 1500", "give both, or neither"),
        (
            *("{n: native4}", "{frame: 64B, packet-rate: 1kpps, step-after: 1s, step-rate: 15kpps}", "rate: 10Mbit"),
            "15000 frames/s are above the line rate",
        ),
        ("{n: native4}", "{frame: 64B, packet-rate: 1kpps, flows: 2}", "mtu: 1500", "give ports: pseudo-random"),
        ("{n: native4}", "{frame: 64B, packet-rate: 900Mpps, duration: 9s}", "mtu: 1500", "at most 4294967296"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_its_line(paths: str, frames: str, access: str, words: str) -> None:
    told = problems(paths, frames, access)
    assert "x.yaml:7: workloads.0.frames" in told
    assert words in told


def test_frames_cannot_go_over_a_mechanism_in_a_host() -> None:
    told = problems("{t: {6in4: [h1, r2]}}", "{frame: 100B, packet-rate: 1kpps}")
    assert "x.yaml:5: paths.t" in told
    assert "frames cannot go over 6in4: it has a device in the host h1" in told


def test_the_metrics_of_a_flow() -> None:
    measured = WORKLOADS["frames"].summarise(PARAMS, SENT, CAME)
    assert measured.invalid == []
    for column, value in {
        "loss_ratio": 0.2,
        "corrupt_ratio": 0.1,
        "duplicates_ratio": 0.1,
        "late_ratio": 0.0,
        "packets_rate_pps": 1000.0,
        "goodput_bps": 8 * 126e9 / 7e6,
        "one_way_delay_p999_ns": 5000.0,
        "inter_frame_error_p50_ns": 5000.0,
    }.items():
        assert measured.metrics[column] == pytest.approx(value), column


@pytest.mark.parametrize(
    ("sent", "came", "kind", "words"),
    [
        ({"due": 11}, {}, ReasonKind.TESTER_LIMITED, "sent 10 of the 11 frames that were due"),
        ({"lateness": TIMES | {"p999": 10**8}}, {}, ReasonKind.TESTER_LIMITED, "left 100 ms late or later"),
        ({"measured_ns": 29_000_000}, {}, ReasonKind.TESTER_LIMITED, "took 20 ms longer than the 9 ms"),
        ({}, {"ring_drops": 3}, ReasonKind.TESTER_LIMITED, "had no room for 3 frames"),
        ({}, {"lost_middle": 0}, ReasonKind.LEDGER, "does not add up"),
    ],
)
def test_a_tester_that_was_too_slow_says_nothing_of_the_device(
    sent: dict[str, Any], came: dict[str, Any], kind: ReasonKind, words: str
) -> None:
    measured = WORKLOADS["frames"].summarise(PARAMS, {**SENT, **sent}, {**CAME, **came})
    [reason] = measured.invalid
    assert reason.kind is kind
    assert words in reason.text


def test_a_frame_that_leaves_before_the_next_one_is_due_is_not_too_late() -> None:
    slow = {"frame_bytes": 1518, "rate_pps": 50, "count": 10}
    sent = SENT | {"measured_ns": 180_000_000, "lateness": TIMES | {"p999": 19_000_000}}
    assert WORKLOADS["frames"].summarise(slow, sent, CAME).invalid == []
    late = sent | {"lateness": TIMES | {"p999": 21_000_000}}
    [reason] = WORKLOADS["frames"].summarise(slow, late, CAME).invalid
    assert "21 ms late or later, where 20 ms are tolerated" in reason.text


def test_the_time_to_recover_is_until_the_last_lost_frame_was_due() -> None:
    params = {"frame_bytes": 64, "rate_pps": 1000, "duration_ns": 20_000_000}
    params |= {"step_after_ns": 10_000_000, "step_rate_pps": 500, "direction": "both"}
    sent = SENT | {"sent": 15, "due": 15, "measured_ns": 18_000_000}
    came = CAME | {"unique": 14, "lost_middle": 1, "lost_tail": 0}

    def recovery_ns(*last_lost: int) -> float | None:
        there, back = ({**came, "last_lost": last} for last in last_lost)
        client = {"forward_sender": sent, "reverse_receiver": back}
        server = {"forward_receiver": there, "reverse_sender": sent}
        return WORKLOADS["frames"].summarise(params, client, server).metrics.get("recovery_ns")

    assert recovery_ns(9, 3) == 0
    assert recovery_ns(12, 3) == 4_000_000
    assert recovery_ns(12, 13) == 6_000_000
    assert WORKLOADS["frames"].summarise(PARAMS, SENT, CAME).metrics.get("recovery_ns") is None


def test_both_directions_have_their_own_rates() -> None:
    client = {"forward_sender": SENT, "reverse_receiver": CAME}
    server = {"forward_receiver": CAME, "reverse_sender": SENT | {"due": 12}}
    measured = WORKLOADS["frames"].summarise(PARAMS | {"direction": "both"}, client, server)
    assert measured.metrics["packets_rate_reverse_pps"] == measured.metrics["packets_rate_pps"]
    assert measured.metrics["loss_reverse_ratio"] == 0.2
    assert [reason.text for reason in measured.invalid] == [
        "the sender sent 10 of the 12 frames that were due (reverse)"
    ]
