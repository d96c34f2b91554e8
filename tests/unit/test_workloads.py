"""Workloads: what the agents' results mean, what must have crossed the wire."""

from __future__ import annotations

import math
from typing import Any

import pytest
from path_mtu_results import TOLD
from reasons import kinds, texts

from sixbench.model.e_model import Equipment, mos_cqe, r_factor
from sixbench.model.metric import COLUMNS, METRICS
from sixbench.model.parameter import Params
from sixbench.model.reason import ReasonKind
from sixbench.model.workload import Measured, Traffic, WorkloadKind
from sixbench.model.workloads import WORKLOADS

Result = dict[str, Any]

HISTOGRAM = {
    "unit": "ns",
    "count": 3,
    "min": 10,
    "max": 30,
    "mean": 20.5,
    "stdev": 8.2,
    "p50": 20,
    "p90": 30,
    "p99": 30,
    "p999": 30,
    "buckets": [[10, 1], [20, 1], [30, 1]],
}
EMPTY = {"unit": "ns", "count": 0, "buckets": []}


def summarise(kind: str, params: Params, client: Result, server: Result | None = None) -> Measured:
    return WORKLOADS[kind].summarise(params, client, server or {})


def traffic(kind: str, params: Params, client: Result, server: Result | None = None) -> Traffic:
    return WORKLOADS[kind].traffic(params, client, server or {})


@pytest.mark.parametrize("kind", WORKLOADS.values(), ids=lambda kind: kind.name)
def test_every_metric_of_a_workload_is_declared(kind: WorkloadKind) -> None:
    assert {*kind.metrics, *kind.headline, kind.primary} <= METRICS.keys()
    assert kind.primary in kind.metrics
    assert len({parameter.name for parameter in kind.parameters}) == len(kind.parameters)


STREAM_RECEIVER = {
    "received_bytes": 1100,
    "measured_bytes": 1000,
    "measured_ns": 8_000,
    "started_ns": 0,
    "ended_ns": 8_100,
    "reads": 5,
    "series": {"t_ns": [1], "bytes": [1000]},
}
STREAM_SENDER = {
    "sent_bytes": 1200,
    "tcp_info": {"retransmits": 2, "segments_out": 100},
    "series": {"t_ns": [1, 2, 3], "rtt_ns": [100, None, 130]},
}


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
    assert all("the receiver does not tell what it received" in words for words in texts(measured.invalid))


def test_a_stream_that_stood_still_is_not_made_faster_by_that() -> None:
    receiver = STREAM_RECEIVER | {"measured_ns": 4_000, "ended_ns": 8_000}
    measured = summarise("tcp-stream", {}, {}, {"forward_receiver": receiver})
    assert measured.metrics["goodput_bps"] == 1e9
    assert "stood still" in measured.notes[0]


UDP_CLIENT = {"sent": 100, "sent_bytes": 10_000, "measured_ns": 99_000, "lateness": HISTOGRAM}
UDP_SERVER = {
    "received": 98,
    "unique": 97,
    "duplicates": 1,
    "reordered": 2,
    "lost_middle": 2,
    "lost_tail": 1,
    "unique_bytes": 9700,
    "measured_bytes": 9600,
    "measured_ns": 96_000,
    "one_way_delay": HISTOGRAM,
    "ipdv": HISTOGRAM,
    "pdv": EMPTY,
    "jitter_rfc3550_ns": 7,
    "socket_drops": 1,
}
DATAGRAMS = {"datagram_bytes": 100}


def test_a_flow_of_datagrams() -> None:
    measured = summarise("udp-stream", DATAGRAMS, UDP_CLIENT, UDP_SERVER)
    assert measured.invalid == []
    assert measured.metrics["loss_ratio"] == 0.03
    assert measured.metrics["duplicates_ratio"] == 0.01
    assert measured.metrics["reordered_ratio"] == 0.02
    assert measured.metrics["goodput_bps"] == pytest.approx(8e8)
    assert measured.metrics["packets_rate_pps"] == pytest.approx(1e6)
    assert measured.metrics["jitter_rfc3550_ns"] == 7.0
    assert measured.metrics["one_way_delay_p50_ns"] == 20
    assert not any(column.startswith("pdv") for column in measured.metrics)
    assert measured.histograms.keys() == {"one_way_delay", "ipdv", "send_lateness"}
    assert measured.notes == ["1 datagrams were dropped at the receiver's socket buffer"]
    assert traffic("udp-stream", DATAGRAMS, UDP_CLIENT, UDP_SERVER) == Traffic(
        forward_payload_bytes=9700, forward_datagrams=97, messages=UDP_SERVER["received"]
    )


@pytest.mark.parametrize(
    ("client", "server", "message"),
    [
        ({"sent": 0}, {}, "the sender sent nothing in the measured time"),
        (
            {},
            {"lost_tail": 0},
            "the loss ledger does not add up: sent 100 is not received once 97 + lost in the middle 2",
        ),
        ({}, {"unique": 0, "lost_middle": 0, "lost_tail": 100, "received": 0}, "none of 100 datagrams arrived"),
    ],
)
def test_a_flow_whose_ledger_is_wrong_is_invalid(client: Result, server: Result, message: str) -> None:
    measured = summarise("udp-stream", DATAGRAMS, UDP_CLIENT | client, UDP_SERVER | server)
    assert [words for words in texts(measured.invalid) if message in words]


@pytest.mark.parametrize(
    ("rate", "limited"),
    [
        ({"rate_pps": 1_000_000}, False),
        ({"rate_pps": 1_100_000}, True),
        ({"rate_bps": 10**9}, True),
        ({"rate_bps": 8 * 10**8}, False),
    ],
)
def test_a_sender_that_cannot_keep_its_rate_measures_itself(rate: Params, limited: bool) -> None:
    measured = summarise("udp-stream", {**DATAGRAMS, **rate}, UDP_CLIENT, UDP_SERVER)
    assert (ReasonKind.TESTER_LIMITED in kinds(measured.invalid)) is limited


def test_a_sender_that_falls_behind_what_was_drawn_measures_itself() -> None:
    drawn = {**DATAGRAMS, "rate_pps": 1, "gaps": "exponential"}
    for scheduled_ns, limited in ((99_000, False), (98_000, True)):
        measured = summarise("udp-stream", drawn, UDP_CLIENT | {"scheduled_ns": scheduled_ns}, UDP_SERVER)
        assert bool(measured.invalid) is limited, measured.invalid


CALL = UDP_SERVER | {"pdv": HISTOGRAM, "one_way_delay_negative": 0}


def test_a_call() -> None:
    params = {"codec": "g729", "jitter_buffer_ns": 25}
    measured = summarise("voip", params, UDP_CLIENT | {"scheduled_ns": 99_000}, CALL)
    assert measured.invalid == []
    # Three did not come, and one of those that came was later than the fastest by more than the buffer.
    assert measured.metrics["playout_loss_ratio"] == pytest.approx(0.04)
    # The least delay, the buffer, 20 ms of speech and 5 ms of look-ahead.
    assert measured.metrics["mouth_to_ear_ns"] == 10 + 25 + 25_000_000
    equipment = Equipment(ie=10, bpl=19)
    assert measured.metrics["r_factor"] == pytest.approx(r_factor(25.000_035, 4, equipment))
    assert measured.metrics["mos_cqe"] == pytest.approx(mos_cqe(measured.metrics["r_factor"]))


def test_a_call_of_which_delays_are_not_known_has_no_quality() -> None:
    measured = summarise("voip", {}, UDP_CLIENT | {"scheduled_ns": 99_000}, CALL | {"one_way_delay_negative": 2})
    assert "mos_cqe" not in measured.metrics
    assert "their delay means nothing" in measured.notes[-1]
    slow = {"jitter_buffer_ns": 400_000_000}
    nobody = summarise("voip", slow, UDP_CLIENT | {"scheduled_ns": 99_000}, CALL | {"lost_middle": 95, "unique": 4})
    assert ("r_factor" in nobody.metrics, nobody.metrics["mos_cqe"]) == (False, 1.0)


@pytest.mark.parametrize(
    ("params", "asked"),
    [
        ({"codec": "g711"}, {"datagram_bytes": 172, "gaps_mean_ns": 20_000_000}),
        ({"codec": "g711-plc", "packetisation_ns": 10_000_000}, {"datagram_bytes": 92, "gaps_mean_ns": 10_000_000}),
        ({"codec": "g729"}, {"datagram_bytes": 32, "gaps_mean_ns": 20_000_000}),
        ({"codec": "g723.1", "df": "set"}, {"datagram_bytes": 36, "gaps_mean_ns": 30_000_000, "df": "set"}),
        (
            {"vad": True, "seed": 4},
            {
                "datagram_bytes": 172,
                "gaps_mean_ns": 20_000_000,
                "on_off": "exponential",
                "on_ns": 1_004_000_000,
                "off_ns": 1_587_000_000,
                "seed": 4,
            },
        ),
    ],
)
def test_what_a_codec_sends(params: Params, asked: Params) -> None:
    kind = WORKLOADS["voip"]
    assert (kind.served_by, kind.agent_params(params)) == ("udp-stream", asked)
    assert kind.is_drawn(params) is ("vad" in params)


def test_one_datagram_has_a_loss_but_no_rate() -> None:
    client = UDP_CLIENT | {"sent": 1, "measured_ns": 0}
    server = UDP_SERVER | {
        "received": 1,
        "unique": 1,
        "lost_middle": 0,
        "lost_tail": 0,
        "measured_bytes": 0,
        "measured_ns": 0,
    }
    measured = summarise("udp-stream", DATAGRAMS | {"rate_pps": 10}, client, server)
    assert measured.invalid == []
    assert measured.metrics["loss_ratio"] == 0
    assert "goodput_bps" not in measured.metrics


RR_CLIENT = {"transactions": 1000, "lost": 0, "measured_ns": 2_000_000_000, "rtt": HISTOGRAM, "rtt_jitter": HISTOGRAM}


def test_datagrams_of_the_server() -> None:
    params = DATAGRAMS | {"direction": "reverse"}
    client, server = {"reverse_receiver": UDP_SERVER}, {"reverse_sender": UDP_CLIENT}
    measured = summarise("udp-stream", params, client, server)
    assert measured == summarise("udp-stream", DATAGRAMS, UDP_CLIENT, UDP_SERVER)
    assert traffic("udp-stream", params, client, server) == Traffic(
        forward_payload_bytes=0, reverse_payload_bytes=UDP_SERVER["unique_bytes"], messages=UDP_SERVER["received"]
    )


def test_datagrams_both_ways() -> None:
    params = DATAGRAMS | {"direction": "both", "rate_pps": 10**6}
    slow = UDP_CLIENT | {"measured_ns": 990_000}
    client = {"forward_sender": UDP_CLIENT, "reverse_receiver": UDP_SERVER}
    server = {"forward_receiver": UDP_SERVER, "reverse_sender": slow}
    measured = summarise("udp-stream", params, client, server)
    assert measured.metrics["goodput_reverse_bps"] == measured.metrics["goodput_bps"]
    assert measured.metrics["loss_reverse_ratio"] == measured.metrics["loss_ratio"] == 0.03
    assert texts(measured.invalid) == ["the sender sent 100000 datagrams/s where 1000000 were asked for (reverse)"]
    assert traffic("udp-stream", params, client, server) == Traffic(
        forward_payload_bytes=UDP_SERVER["unique_bytes"],
        reverse_payload_bytes=UDP_SERVER["unique_bytes"],
        forward_datagrams=UDP_SERVER["unique"],
        messages=2 * UDP_SERVER["received"],
    )


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


CONNECTIONS = {"transactions": 10, "measured_ns": 10**9, "connect": HISTOGRAM, "failed": {"timeout": 2, "refused": 0}}


@pytest.mark.parametrize(
    ("told", "words", "note"),
    [
        ({"attempts": 100, "offered_ns": 990_000_000, "held_back": 0}, None, False),
        ({"attempts": 100, "offered_ns": 990_000_000, "held_back": 3}, None, True),
        ({"attempts": 2, "offered_ns": 18_000_000, "held_back": 0}, None, False),
        ({"attempts": 100, "offered_ns": 1_020_000_000, "held_back": 0}, "100 connections began in 1.02 s", False),
        ({"attempts": 100, "offered_ns": 1_020_000_000, "held_back": 7}, "7 of them had to wait", False),
        ({"attempts": 90, "offered_ns": 890_000_000, "held_back": 0, "unstarted": 10}, "90 connections", False),
    ],
)
def test_a_rate_of_connections_that_was_kept_or_not(told: Result, words: str | None, note: bool) -> None:
    client = CONNECTIONS | {"failed": {}, "lateness": HISTOGRAM} | told
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


PING = {"sent": 10, "received": 8, "lost": 2, "rtt": HISTOGRAM, "rtt_jitter": EMPTY}


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


REFUSED = {"refused": 0, "errors": {}}


def test_datagrams_that_are_refused_are_not_lost() -> None:
    params: Params = {**DATAGRAMS, "df": "set", "rate_pps": 1_250_000}
    client = UDP_CLIENT | {"refused": 25, "errors": {"packet-too-big": 3, "time-exceeded": 1}}
    measured = summarise("udp-stream", params, client, UDP_SERVER)
    assert measured.invalid == []
    assert (measured.metrics["refused_ratio"], measured.metrics["loss_ratio"]) == (0.2, 0.03)
    assert measured.notes[:2] == [
        "25 of 125 datagrams were refused by the sender's kernel: too large for the path",
        "3 times packet-too-big came back",
    ]
    assert "refused_ratio" not in summarise("udp-stream", DATAGRAMS, UDP_CLIENT, UDP_SERVER).metrics


@pytest.mark.parametrize("df", ["set", "probe", "kernel"])
def test_a_policy_that_lets_nothing_through_is_an_answer(df: str) -> None:
    params: Params = {**DATAGRAMS, "df": df}
    refused = summarise("udp-stream", params, {"sent": 0, "refused": 9, "errors": {}}, UDP_SERVER)
    assert (refused.metrics, refused.invalid) == ({"refused_ratio": 1.0}, [])
    silent = {"received": 0, "unique": 0, "lost_middle": 0, "lost_tail": 100}
    lost = summarise("udp-stream", params, UDP_CLIENT | REFUSED, UDP_SERVER | silent)
    assert (lost.metrics["loss_ratio"], lost.invalid) == (1.0, [])
    assert lost.notes == ["none of 100 datagrams arrived"]
    nothing = summarise("udp-stream", params, {"sent": 0} | REFUSED, UDP_SERVER)
    assert texts(nothing.invalid) == ["the sender sent nothing in the measured time"]
    echo = summarise("ping", {"df": df}, PING | REFUSED | {"received": 0, "lost": 10, "rtt": EMPTY})
    assert (echo.metrics, echo.invalid) == ({"loss_ratio": 1.0, "refused_ratio": 0.0}, [])


def test_a_request_that_is_refused_is_not_lost() -> None:
    measured = summarise("udp-rr", {"df": "set"}, RR_CLIENT | {"transactions": 60, "lost": 20, "refused": 20})
    assert (measured.metrics["loss_ratio"], measured.metrics["refused_ratio"]) == (0.25, 0.2)


OF_FAMILY = {"wins": 5, "begun": 10, "failed": {}, "alone": {"connect": HISTOGRAM, "failed": {}}}
RACED = {"races": 10, "connect": HISTOGRAM, "failed": {}, "ipv4": OF_FAMILY, "ipv6": OF_FAMILY}
HELD = {
    "attempts": 3,
    "established": 3,
    "failed": {},
    "alive": 3,
    "lost": {},
    "connect": HISTOGRAM,
    "check": HISTOGRAM,
    "establishing_ns": 10**6,
}
BROUGHT_UP = {
    "clat": {"begun_ns": 100, "discovered_ns": 400, "configured_ns": 900, "discovered": {"asked": 1}},
    "probe": {"began_ns": 50, "sent": 9, "answered": {"number": 8, "sent_ns": 950, "received_ns": 1100}},
}
FLOWS_RECEIVER = STREAM_RECEIVER | {"streams": [{"measured_bytes": 1000, "measured_ns": 10**9}]}
GOOD: dict[str, tuple[Params, Result, Result]] = {
    "tcp-stream": ({}, {"forward_sender": STREAM_SENDER}, {"forward_receiver": STREAM_RECEIVER}),
    "udp-stream": (DATAGRAMS, UDP_CLIENT, UDP_SERVER),
    "frames": (
        {"frame_bytes": 64, "rate_pps": 1000, "count": 10},
        {"sent": 10, "due": 10, "measured_ns": 9 * 10**6, "lateness": HISTOGRAM, "inter_frame_error": HISTOGRAM},
        UDP_SERVER | {"unique": 10, "lost_middle": 0, "lost_tail": 0, "corrupt": 0, "late": 0, "ring_drops": 0},
    ),
    "tcp-rr": ({}, RR_CLIENT, {}),
    "udp-rr": ({}, RR_CLIENT, {}),
    "tcp-connect": ({}, CONNECTIONS, {}),
    "tcp-crr": ({}, CONNECTIONS | {"transaction": HISTOGRAM}, {}),
    "connections": ({}, HELD, {"accepted": 3, "answered": 3}),
    "ping": ({}, PING, {}),
    "bring-up": ({}, {"repetitions": [BROUGHT_UP]}, {}),
    "voip": ({}, UDP_CLIENT | {"scheduled_ns": 99_000}, UDP_SERVER | {"pdv": HISTOGRAM, "one_way_delay_negative": 0}),
    "pmtu": ({}, {"forward": TOLD, "received_bytes": 1}, {"reverse": TOLD, "received_bytes": 1}),
    "compete": (
        {},
        {"parts": {family: {"forward_sender": STREAM_SENDER} for family in ("ipv4", "ipv6")}},
        {"parts": {family: {"forward_receiver": FLOWS_RECEIVER} for family in ("ipv4", "ipv6")}},
    ),
    "happy-eyeballs": ({}, RACED, {"accepted_by_family": {"ipv4": 10, "ipv6": 10}}),
    "latency-under-load": (
        {},
        {"parts": {"idle": PING, "loaded": PING, "load": {"reverse_receiver": STREAM_RECEIVER}}},
        {"parts": {"idle": {}, "loaded": {}, "load": {"forward_receiver": STREAM_RECEIVER}}},
    ),
}


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
