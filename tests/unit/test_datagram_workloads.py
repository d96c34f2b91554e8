"""Workloads of datagrams that go one way: their ledger, their rate, and the quality of calls."""

from __future__ import annotations

import pytest
from reasons import kinds, texts
from workload_results import CALL, DATAGRAMS, EMPTY, PING, REFUSED, UDP_CLIENT, UDP_SERVER, Result, summarise, traffic

from sixbench.model.e_model import CodecImpairments, mos_cqe, r_factor
from sixbench.model.parameter import Params
from sixbench.model.reason import ReasonKind
from sixbench.model.workload import Traffic
from sixbench.model.workloads import WORKLOADS

pytestmark = pytest.mark.computes


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


def test_a_call() -> None:
    params = {"codec": "g729", "jitter_buffer_ns": 25}
    measured = summarise("voip", params, UDP_CLIENT | {"scheduled_ns": 99_000}, CALL)
    assert measured.invalid == []
    # Three did not come, and one of those that came was later than the fastest by more than the buffer.
    assert measured.metrics["playout_loss_ratio"] == pytest.approx(0.04)
    # The least delay, the buffer, 20 ms of speech and 5 ms of look-ahead.
    assert measured.metrics["mouth_to_ear_ns"] == 10 + 25 + 25_000_000
    equipment = CodecImpairments(ie=10, bpl=19)
    assert measured.metrics["r_factor"] == pytest.approx(r_factor(25.000_035, 4, equipment))
    assert measured.metrics["mos_cqe"] == pytest.approx(mos_cqe(measured.metrics["r_factor"]))


def test_a_call_of_which_delays_are_not_known_has_no_quality() -> None:
    measured = summarise("voip", {}, UDP_CLIENT | {"scheduled_ns": 99_000}, CALL | {"one_way_delay_negative": 2})
    assert "mos_cqe" not in measured.metrics
    assert "their delay is meaningless" in measured.notes[-1]
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
