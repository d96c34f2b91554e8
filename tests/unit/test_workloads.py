"""Workloads: what the agents' results mean, what must have crossed the wire."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import pytest
from reasons import kinds, texts
from workload_results import (
    CONNECTIONS,
    EMPTY,
    GOOD,
    HISTOGRAM,
    PING,
    RR_CLIENT,
    STREAM_RECEIVER,
    STREAM_SENDER,
    Result,
    summarise,
    traffic,
)

from sixbench.model.metric import COLUMNS, METRICS
from sixbench.model.parameter import Params
from sixbench.model.reason import ReasonKind
from sixbench.model.workload import Traffic, WorkloadKind
from sixbench.model.workloads import WORKLOADS

pytestmark = pytest.mark.computes


@pytest.mark.parametrize("kind", WORKLOADS.values(), ids=lambda kind: kind.name)
def test_every_metric_of_a_workload_is_declared(kind: WorkloadKind) -> None:
    assert {*kind.metrics, *kind.headline, kind.primary} <= METRICS.keys()
    assert kind.primary in kind.metrics
    assert len({parameter.name for parameter in kind.parameters}) == len(kind.parameters)
    assert {f"{name}_p50" for name in kind.distributions} <= {*kind.metrics}


def test_a_metric_is_declared_once_and_in_the_file_of_the_workload_that_alone_has_it() -> None:
    own_metrics = [(kind.name, metric.name) for kind in WORKLOADS.values() for metric in kind.own_metrics]
    having = {name: [kind.name for kind in WORKLOADS.values() if name in kind.metrics] for _, name in own_metrics}
    assert {name: [workload] for workload, name in own_metrics} == having
    assert len(own_metrics) == len(having)
    with_one = [name for name in METRICS if [name in kind.metrics for kind in WORKLOADS.values()].count(True) == 1]
    assert set(with_one) == set(having)


PACKAGE = Path(__file__).parents[2] / "src/sixbench"
OF_ONE_WORKLOAD = (
    "plan/measure_options.py",
    "report/evidence/fragments.py",
    "report/figures/path_mtu.py",
    "report/figures/waterfall.py",
    "ui/two_machines.py",
)
"""Files that are about certain workloads: the letters of iperf3, and those that show path MTUs, the fragments of
datagrams, and the objects of a page."""


def test_no_layer_asks_which_workload_it_has() -> None:
    texts = {path.relative_to(PACKAGE): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    asking = [
        path.as_posix()
        for path, text in texts.items()
        if ".KIND" in text
        and "workloads" not in path.parts
        and any(
            ast.unparse(operand).removesuffix(".name").endswith(".KIND")
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Compare)
            for operand in (node.left, *node.comparators)
        )
    ]
    assert tuple(asking) == OF_ONE_WORKLOAD


def test_a_stream_forward() -> None:
    client, server = {"forward_sender": STREAM_SENDER, "connect_ns": [1]}, {"forward_receiver": STREAM_RECEIVER}
    measured = summarise("tcp-stream", {}, client, server)
    assert measured.metrics == {
        "goodput_bps": 1e9,
        "tcp_rtt_mean_ns": 115,
        "tcp_jitter_mean_ns": 30,
        "retransmits_ratio": 0.02,
    }
    assert measured.invalid == []
    assert measured.series.keys() == {"forward_receiver", "forward_sender"}
    assert traffic("tcp-stream", {}, client, server) == Traffic(forward_payload_bytes=1100)


def test_a_stream_in_reverse() -> None:
    client, server = {"reverse_receiver": STREAM_RECEIVER}, {"reverse_sender": STREAM_SENDER}
    measured = summarise("tcp-stream", {"direction": "reverse"}, client, server)
    assert measured.metrics["goodput_bps"] == 1e9
    assert "goodput_reverse_bps" not in measured.metrics
    assert measured.invalid == []
    assert traffic("tcp-stream", {}, client, server) == Traffic(reverse_payload_bytes=1100)


def test_a_stream_both_ways() -> None:
    client = {"forward_sender": STREAM_SENDER, "reverse_receiver": {**STREAM_RECEIVER, "measured_bytes": 500}}
    server = {"forward_receiver": STREAM_RECEIVER, "reverse_sender": {**STREAM_SENDER, "series": {}}}
    measured = summarise("tcp-stream", {"direction": "both"}, client, server)
    assert (measured.metrics["goodput_bps"], measured.metrics["goodput_reverse_bps"]) == (1e9, 5e8)
    assert measured.metrics["tcp_rtt_mean_ns"] == 115
    assert traffic("tcp-stream", {}, client, server) == Traffic(forward_payload_bytes=1100, reverse_payload_bytes=1100)


def test_a_transfer_of_a_number_of_bytes() -> None:
    client = {"forward_sender": {"sent_bytes": 5, "transfer_ns": 12345}}
    measured = summarise("tcp-stream", {"bytes": 5}, client, {"forward_receiver": STREAM_RECEIVER})
    assert measured.metrics["transfer_time_ns"] == 12345
    assert "tcp_rtt_mean_ns" not in measured.metrics


def test_sends_without_a_copy_that_were_copied() -> None:
    def sender(**zerocopy: int) -> Result:
        return {"sent_bytes": 5, "zerocopy": {"sends": 50, **zerocopy}}

    client, server = {"forward_sender": sender(completed=30, copied=30)}, {"forward_receiver": STREAM_RECEIVER}
    params: Params = {"send": "zerocopy"}
    assert summarise("tcp-stream", params, client, server).metrics["zerocopy_copied_ratio"] == 1
    server["reverse_sender"] = sender(completed=10, copied=0)
    assert summarise("tcp-stream", params, client, server).metrics["zerocopy_copied_ratio"] == 0.75
    client = {"forward_sender": sender(completed=0, copied=0)}
    measured = summarise("tcp-stream", params, client, {"forward_receiver": STREAM_RECEIVER})
    assert "zerocopy_copied_ratio" not in measured.metrics


@pytest.mark.parametrize(
    "receiver", [{}, {"measured_bytes": 0, "measured_ns": 5}, {"measured_bytes": 5, "measured_ns": 0}]
)
def test_a_stream_with_too_few_reads_is_invalid(receiver: Result) -> None:
    base = {"received_bytes": 1, "started_ns": 0, "ended_ns": 10, "reads": 1}
    measured = summarise("tcp-stream", {}, {}, {"forward_receiver": base | receiver})
    assert measured.metrics == {}
    assert texts(measured.invalid) == [
        "forward: 1 reads in the window are too few for a rate; measure for longer or send more"
    ]


@pytest.mark.parametrize(("direction", "count"), [("forward", 1), ("reverse", 1), ("both", 2)])
def test_a_stream_of_which_no_receiver_tells_is_invalid(direction: str, count: int) -> None:
    measured = summarise("tcp-stream", {"direction": direction}, {}, {})
    assert measured.metrics == {}
    assert len(measured.invalid) == count
    assert all("the receiver did not report the bytes that it received" in words for words in texts(measured.invalid))


def test_a_stream_that_stood_still_is_not_made_faster_by_that() -> None:
    receiver = STREAM_RECEIVER | {"measured_ns": 4_000, "ended_ns": 8_000}
    measured = summarise("tcp-stream", {}, {}, {"forward_receiver": receiver})
    assert measured.metrics["goodput_bps"] == 1e9
    assert "stood still" in measured.notes[0]


@pytest.mark.parametrize("measured_ns", [7_000, 9_000])
def test_a_stream_that_comes_in_bursts_does_not_stand_still_between_them(measured_ns: int) -> None:
    receiver = STREAM_RECEIVER | {"measured_ns": measured_ns, "ended_ns": 8_000, "longest_gap_ns": 500}
    measured = summarise("tcp-stream", {}, {}, {"forward_receiver": receiver})
    assert measured.metrics["goodput_bps"] == 8e12 / measured_ns
    assert not measured.notes
    receiver["longest_gap_ns"] = 499
    measured = summarise("tcp-stream", {}, {}, {"forward_receiver": receiver})
    assert measured.metrics["goodput_bps"] == 1e9
    assert "stood still for 0 ms" in measured.notes[0]


@pytest.mark.parametrize("kind", ["tcp-rr", "udp-rr"])
def test_requests_and_responses(kind: str) -> None:
    measured = summarise(kind, {"message_bytes": 10, "response_bytes": 20}, RR_CLIENT)
    assert measured.metrics["transactions_rate_per_s"] == 500
    assert (measured.metrics["rtt_p50_ns"], measured.metrics["rtt_mean_ns"]) == (20, 20.5)
    assert measured.metrics["rtt_jitter_p99_ns"] == 30
    assert measured.invalid == []
    expected = Traffic(forward_payload_bytes=10_000, reverse_payload_bytes=20_000, messages=2000)
    assert traffic(kind, {"message_bytes": 10, "response_bytes": 20}, RR_CLIENT) == expected
    same = Traffic(forward_payload_bytes=10_000, reverse_payload_bytes=10_000, messages=2000)
    assert traffic(kind, {"message_bytes": 10}, RR_CLIENT) == same
    alike = Traffic(forward_payload_bytes=64_000, reverse_payload_bytes=64_000, messages=2000)
    assert traffic(kind, {}, RR_CLIENT) == alike


@pytest.mark.parametrize("kind", ["tcp-rr", "udp-rr", "tcp-connect", "tcp-crr"])
@pytest.mark.parametrize("client", [{"transactions": 0, "measured_ns": 5}, {"transactions": 1, "measured_ns": 0}])
def test_no_transaction_is_invalid_and_no_zero(kind: str, client: Result) -> None:
    measured = summarise(kind, {}, client | {"rtt": EMPTY, "connect": EMPTY})
    assert len(measured.invalid) == 1
    assert "was completed" in measured.invalid[0].text
    assert not measured.metrics.keys() - {"loss_ratio"}


def test_a_request_that_is_not_answered_is_lost() -> None:
    assert summarise("udp-rr", {}, RR_CLIENT | {"lost": 250}).metrics["loss_ratio"] == 0.2
    assert "loss_ratio" not in summarise("tcp-rr", {}, RR_CLIENT | {"lost": 250}).metrics
    nothing = summarise("udp-rr", {}, {"transactions": 0, "lost": 0, "measured_ns": 0})
    assert "loss_ratio" not in nothing.metrics


@pytest.mark.parametrize(
    ("expected", "words", "note"),
    [
        ({"attempts": 100, "offered_ns": 990_000_000, "held_back": 0}, None, False),
        ({"attempts": 100, "offered_ns": 990_000_000, "held_back": 3}, None, True),
        ({"attempts": 2, "offered_ns": 18_000_000, "held_back": 0}, None, False),
        ({"attempts": 100, "offered_ns": 1_020_000_000, "held_back": 0}, "100 connections began in 1.02 s", False),
        ({"attempts": 100, "offered_ns": 1_020_000_000, "held_back": 7}, "7 of them had to wait", False),
        ({"attempts": 90, "offered_ns": 890_000_000, "held_back": 0, "unstarted": 10}, "90 connections", False),
    ],
)
def test_a_rate_of_connections_that_was_kept_or_not(expected: Result, words: str | None, note: bool) -> None:
    client = CONNECTIONS | {"failed": {}, "lateness": HISTOGRAM} | expected
    measured = summarise("tcp-connect", {"rate_per_s": 100}, client)
    assert measured.histograms["start_lateness"] == HISTOGRAM
    assert (measured.notes != []) == note
    if words is None:
        assert measured.invalid == []
    else:
        assert kinds(measured.invalid) == [ReasonKind.TESTER_LIMITED]
        assert words in measured.invalid[0].text


def test_connections() -> None:
    measured = summarise("tcp-connect", {}, CONNECTIONS)
    assert measured.metrics["transactions_rate_per_s"] == 10
    assert measured.metrics["connect_p99_ns"] == 30
    assert measured.notes == ["connections that failed: 2 timeout"]
    assert traffic("tcp-connect", {}, CONNECTIONS) == Traffic(messages=40)
    measured = summarise("tcp-crr", {}, CONNECTIONS | {"transaction": HISTOGRAM, "failed": None})
    assert measured.metrics["transaction_p50_ns"] == 20
    assert measured.notes == []
    carried = Traffic(forward_payload_bytes=10, reverse_payload_bytes=10, messages=40)
    assert traffic("tcp-crr", {}, CONNECTIONS) == carried


def test_echo() -> None:
    measured = summarise("ping", {}, PING)
    assert measured.metrics["loss_ratio"] == 0.2
    assert measured.metrics["rtt_min_ns"] == 10
    assert "rtt_jitter_mean_ns" not in measured.metrics
    expected = Traffic(forward_payload_bytes=8 * 56, reverse_payload_bytes=8 * 56, messages=16)
    assert traffic("ping", {}, PING) == expected
    assert traffic("ping", {"payload_bytes": 100}, PING).forward_payload_bytes == 800


def test_echo_without_an_answer_is_invalid() -> None:
    measured = summarise("ping", {}, PING | {"received": 0, "lost": 10, "rtt": EMPTY})
    assert measured.metrics == {"loss_ratio": 1.0}
    assert texts(measured.invalid) == ["none of 10 echo requests was answered"]
    assert texts(summarise("ping", {}, {"sent": 0, "received": 0, "lost": 0}).invalid) == ["no echo request was sent"]


def test_a_request_that_is_refused_is_not_lost() -> None:
    measured = summarise("udp-rr", {"df": "set"}, RR_CLIENT | {"transactions": 60, "lost": 20, "refused": 20})
    assert (measured.metrics["loss_ratio"], measured.metrics["refused_ratio"]) == (0.25, 0.2)


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_missing_part_of_a_result_is_noticed_or_absent_and_never_a_number(kind: str) -> None:
    """Any one key of the agents' results left out: an error, fewer metrics, or the trial is invalid."""
    params, client, server = GOOD[kind]
    whole = summarise(kind, params, client, server)
    assert whole.invalid == []
    assert whole.metrics.keys() <= {METRICS[name].column for name in WORKLOADS[kind].metrics}
    for side in ("client", "server"):
        results = {"client": client, "server": server}
        for missing in results[side]:
            less = results | {side: {key: value for key, value in results[side].items() if key != missing}}
            try:
                measured = summarise(kind, params, less["client"], less["server"])
                traffic(kind, params, less["client"], less["server"])
            except KeyError:
                continue
            assert measured.invalid or measured.metrics.items() <= whole.metrics.items(), missing
            assert all(math.isfinite(value) for value in measured.metrics.values())
            assert measured.metrics.keys() <= COLUMNS.keys()
