"""Workloads of applications: results to metrics, and what both sides must have agreed on."""

from __future__ import annotations

from typing import Any

import pytest
from workload_results import (
    DNS_CLIENT,
    DNS_SERVER,
    EMPTY,
    HISTOGRAM,
    HTTP_CLIENT,
    HTTP_SERVER,
    QUIC_CLIENT,
    QUIC_RECEIVER,
    QUIC_SENDER,
    QUIC_SERVER,
    TLS_CLIENT,
    summarise,
    traffic,
)

from sixbench.agent.answers import check
from sixbench.bench.requirements import kernels_congestion_controls
from sixbench.mechanisms import MECHANISMS
from sixbench.model.errors import AgentError, ExperimentError
from sixbench.model.reason import ReasonKind
from sixbench.model.workload import Traffic
from sixbench.model.workloads import WORKLOADS
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

TLS_SERVER = {"transactions": 4, "early": 0, "failed": 0}


EARLY = {"session": "resumed", "early_data": True}


def test_handshakes_have_times_bytes_and_a_rate() -> None:
    measured = summarise("tls", {}, TLS_CLIENT, TLS_SERVER)
    assert measured.invalid == []
    assert measured.notes == []
    expected = {"handshake_p50_ns": 20, "connect_p50_ns": 20, "handshake_sent_bytes": 300}
    assert expected.items() <= measured.metrics.items()
    assert measured.metrics["handshake_received_bytes"] == 2000
    assert measured.metrics["transactions_rate_per_s"] == pytest.approx(3 / 9e-3)
    expected_traffic = Traffic(forward_payload_bytes=1000, reverse_payload_bytes=7000, messages=16)
    assert traffic("tls", {}, TLS_CLIENT, TLS_SERVER) == expected_traffic


@pytest.mark.parametrize(
    ("params", "client", "server", "kind", "words"),
    [
        ({}, {"versions": {"TLSv1_2": 3}}, {}, ReasonKind.OTHER_PROTOCOL, "not always TLSv1_3"),
        (
            {"session": "resumed"},
            {},
            {},
            ReasonKind.OTHER_PROTOCOL,
            "not always resumed, as the experiment claims: 3 f",
        ),
        ({}, {"kinds": {"full": 2, "full-retried": 1}}, {}, ReasonKind.OTHER_PROTOCOL, "1 full-retried"),
        ({}, {}, {"transactions": 2}, ReasonKind.LEDGER, "client counts 3 handshakes, and the server completed 2"),
        (
            EARLY,
            {"kinds": {"early-data": 2, "early-data-rejected": 1}},
            {"early": 2},
            ReasonKind.OTHER_PROTOCOL,
            "1 early-",
        ),
        (EARLY, {"kinds": {"resumed": 3}}, {}, ReasonKind.OTHER_PROTOCOL, "not always early-data"),
        (EARLY, {"kinds": {"early-data": 3}}, {"early": 2}, ReasonKind.LEDGER, "the server took 2"),
    ],
)
def test_a_trial_of_another_protocol_is_invalid(
    params: dict[str, Any], client: dict[str, Any], server: dict[str, Any], kind: ReasonKind, words: str
) -> None:
    [reason] = summarise("tls", params, TLS_CLIENT | client, TLS_SERVER | server).invalid
    assert reason.kind is kind
    assert words in reason.text


def test_early_data_that_were_taken_have_an_answer() -> None:
    client = TLS_CLIENT | {"kinds": {"early-data": 3}, "first_byte": HISTOGRAM}
    measured = summarise("tls", EARLY, client, TLS_SERVER | {"early": 3})
    assert (measured.invalid, measured.metrics["first_byte_p50_ns"]) == ([], 20)
    assert "first_byte_p50_ns" not in summarise("tls", {}, TLS_CLIENT, TLS_SERVER).metrics
    wrong = WORKLOADS["tls"].wrong({"early_data": True, "count": 1}, frozenset({4}))
    assert wrong is not None
    assert wrong.text.endswith("give session: resumed")


def test_no_handshake_is_invalid_and_no_zero() -> None:
    nothing = {"transactions": 0, "versions": {}, "ciphers": {}, "kinds": {}, "failed": {"certificate-refused": 3}}
    times = {"connect": EMPTY, "handshake": EMPTY, "transaction": EMPTY}
    measured = summarise("tls", {}, TLS_CLIENT | nothing | times, TLS_SERVER)
    assert [reason.kind for reason in measured.invalid] == [ReasonKind.NOTHING_ARRIVED]
    assert measured.metrics == {}
    assert measured.notes == ["handshakes that failed: 3 certificate-refused"]


def test_what_was_agreed_on_is_as_much_as_was_completed() -> None:
    [expected] = WORKLOADS["tls"].results("client", {})
    with pytest.raises(AgentError, match="not as many as the handshakes"):
        check(expected.form, TLS_CLIENT | {"versions": {"TLSv1_3": 2}}, "run of tls")


def test_connections_of_quic_have_times_and_bytes() -> None:
    measured = summarise("quic-connect", {}, QUIC_CLIENT, QUIC_SERVER)
    assert measured.invalid == []
    expected = {"first_byte_p50_ns": 20, "connection_sent_bytes": 2000, "connection_received_bytes": 3000}
    assert expected.items() <= measured.metrics.items()
    assert traffic("quic-connect", {}, QUIC_CLIENT, QUIC_SERVER).messages == 12


BY_DATAGRAMS = [
    ("http", {"version": "3"}, HTTP_CLIENT, HTTP_SERVER),
    ("quic-connect", {}, QUIC_CLIENT, QUIC_SERVER),
    ("dns", {"over": "quic"}, DNS_CLIENT, DNS_SERVER),
    ("dns", {"over": "udp"}, DNS_CLIENT, DNS_SERVER),
]


@pytest.mark.parametrize(("workload", "params", "client", "server"), BY_DATAGRAMS)
def test_datagrams_that_were_lost_or_copied_are_no_payload_that_arrived(
    workload: str, params: dict[str, Any], client: dict[str, Any], server: dict[str, Any]
) -> None:
    sides = (client | {"sent_bytes": 5000, "received_bytes": 9000}, server | {"sent_bytes": 8000})
    for arrived, expected in ((4000, 4000), (6000, 5000)):
        seen = traffic(workload, params, sides[0], sides[1] | {"received_bytes": arrived})
        assert (seen.forward_payload_bytes, seen.reverse_payload_bytes) == (expected, 8000)


@pytest.mark.parametrize(("workload", "params", "client", "server"), BY_DATAGRAMS)
def test_nobody_knows_what_arrived_in_datagrams_at_somebody_elses_server(
    workload: str, params: dict[str, Any], client: dict[str, Any], server: dict[str, Any]
) -> None:
    seen = traffic(workload, params, client, {"program": {}})
    assert (seen.forward_payload_bytes, seen.reverse_payload_bytes) == (0, client["received_bytes"])


@pytest.mark.parametrize(
    ("params", "client", "retries", "words"),
    [
        ({"session": "0-rtt"}, {"kinds": {"0-rtt": 2, "0-rtt-rejected": 1}}, 0, "not always 0-rtt"),
        ({}, {"protocols": {"h3": 3}}, 0, "not always sixbench"),
        ({}, {}, 1, "sent 1 Retry packets, and none was to be sent"),
        ({"retry": True}, {}, 2, "2 Retry packets for 3 connections"),
    ],
)
def test_a_connection_of_quic_is_what_it_claims(
    params: dict[str, Any], client: dict[str, Any], retries: int, words: str
) -> None:
    [reason] = summarise("quic-connect", params, QUIC_CLIENT | client, QUIC_SERVER | {"retries": retries}).invalid
    assert reason.kind is ReasonKind.OTHER_PROTOCOL
    assert words in reason.text


def test_bulk_over_quic_has_goodput_loss_and_the_size_that_it_found() -> None:
    measured = summarise("quic-stream", {}, QUIC_SENDER, QUIC_RECEIVER)
    assert measured.metrics == {
        "goodput_bps": 8e6,
        "quic_loss_ratio": 0.015,
        "datagram_size_bytes": 1452,
        "datagram_search_ns": 30,
        "datagram_settled_ns": 50,
        "ecn_marked_ratio": 0,
    }
    without_changes = QUIC_SENDER | {"datagram_changes": [], "datagram_bytes": 1200}
    assert "datagram_search_ns" not in summarise("quic-stream", {}, without_changes, QUIC_RECEIVER).metrics
    nothing = summarise("quic-stream", {}, QUIC_SENDER, QUIC_RECEIVER | {"measured_bytes": 0})
    assert "goodput_bps" not in nothing.metrics
    assert [reason.kind for reason in nothing.invalid] == [ReasonKind.NOTHING_ARRIVED]


CPU = {
    "cpu": {
        "from": {"agent_user_ns": 1000, "agent_system_ns": 500},
        "to": {"agent_user_ns": 2000, "agent_system_ns": 1000},
    }
}


def test_pages_have_times_rates_and_bytes() -> None:
    measured = summarise("http", {}, HTTP_CLIENT | CPU, HTTP_SERVER)
    assert (measured.invalid, measured.notes) == ([], [])
    expected = {
        **{f"{name}_p50_ns": 20 for name in ("connect", "handshake", "first_byte", "object", "page")},
        "page_sent_bytes": 1000,
        "page_received_bytes": 10000,
        "page_connections_count": 2,
        "cpu_per_request_ns": 100,
    }
    assert expected.items() <= measured.metrics.items()
    assert measured.metrics["requests_rate_per_s"] == pytest.approx(15 / 9e-3)
    assert measured.metrics["goodput_bps"] == pytest.approx(8 * 15000 / 9e-3)
    assert traffic("http", {}, HTTP_CLIENT, HTTP_SERVER).messages == 24
    assert traffic("http", {"version": "3"}, HTTP_CLIENT, HTTP_SERVER).messages == 0
    # Bytes on links are shared by the answers.
    assert WORKLOADS["http"].completed({"objects": 5}, HTTP_SERVER) == 20


@pytest.mark.parametrize(
    ("params", "client", "kind", "words"),
    [
        ({"version": "3"}, {"protocols": {"h2": 15}}, ReasonKind.OTHER_PROTOCOL, "was not always h3"),
        ({"version": "2"}, {"protocols": {"none": 15}}, ReasonKind.OTHER_PROTOCOL, "was not always h2"),
        ({}, {"protocols": {"http/1.1": 14, "HTTP/1.0": 1}}, ReasonKind.OTHER_PROTOCOL, "claims: 1 HTTP/1.0"),
        ({}, {"versions": {"TLSv1_2": 15}}, ReasonKind.OTHER_PROTOCOL, "not always TLSv1_3"),
        ({}, {"requests": 21, "protocols": {"http/1.1": 21}}, ReasonKind.LEDGER, "counts 21 objects, and the server"),
    ],
)
def test_a_page_by_another_protocol_is_invalid(
    params: dict[str, Any], client: dict[str, Any], kind: ReasonKind, words: str
) -> None:
    [reason] = summarise("http", params, HTTP_CLIENT | client, HTTP_SERVER).invalid
    assert reason.kind is kind
    assert words in reason.text


def test_without_tls_no_version_of_it_is_claimed() -> None:
    clear = HTTP_CLIENT | {"handshake": EMPTY, "protocols": {"h2c": 15}, "versions": {}, "ciphers": {}}
    measured = summarise("http", {"version": "2", "tls": "none"}, clear, HTTP_SERVER)
    assert measured.invalid == []
    assert "handshake_p50_ns" not in measured.metrics


HTTP = """
topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2]}]}
paths: {ipv6: native6}
"""


def test_versions_may_be_written_as_numbers_or_texts() -> None:
    text = HTTP + 'workloads: [{http: {version: [1.1, 2, "3"], tls: 1.3, count: 1}}]'
    experiment = read_experiment(parse_yaml(text, "test.yaml"), MECHANISMS)
    workloads = [combination.workload for combination in experiment.combinations]
    assert [workload.params["version"] for workload in workloads] == ["1.1", "2", "3"]
    assert {workload.params["tls"] for workload in workloads} == {"1.3"}


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ("{version: 3, tls: none, count: 1}", "HTTP/3 has no form without TLS; leave tls out"),
        ("{in-flight: 100, objects: 9, count: 1}", "would have 600 connections at once: at most 512"),
        ("{version: 1, count: 1}", "1 is not one of 1.1, 2, 3"),
        ("{version: true, count: 1}", "true is not one of 1.1, 2, 3"),
        ("{version: .inf, count: 1}", "is not one of 1.1, 2, 3"),
    ],
)
def test_pages_that_cannot_be_loaded_are_refused(workload: str, message: str) -> None:
    with pytest.raises(ExperimentError) as error:
        read_experiment(parse_yaml(f"{HTTP}workloads: [{{http: {workload}}}]", "test.yaml"), MECHANISMS)
    assert message in str(error.value)


def test_marks_of_congestion_are_told_and_so_is_a_path_that_clears_them() -> None:
    marked = {"not_ect": 0, "ect0": 180, "ect1": 0, "ce": 20}
    measured = summarise("quic-stream", {}, QUIC_SENDER, QUIC_RECEIVER | {"ecn": marked})
    assert measured.metrics["ecn_marked_ratio"] == 0.1
    assert measured.notes == ["20 of 200 datagrams came to the server with a mark of congestion (ECN)"]
    cleared = {"not_ect": 12, "ect0": 0, "ect1": 0, "ce": 0}
    words = "none of 12 datagrams came to the client with ECN, which the other side sends with"
    assert summarise("quic-connect", {}, QUIC_CLIENT | {"ecn": cleared}, QUIC_SERVER).notes == [words]
    by_quic = HTTP_CLIENT | {"protocols": {"h3": 15}, "versions": {}, "ciphers": {}, "connect": EMPTY, "ecn": cleared}
    measured = summarise("http", {"version": "3"}, by_quic, HTTP_SERVER | {"ecn": marked})
    assert measured.notes == [words, "20 of 200 datagrams came to the server with a mark of congestion (ECN)"]


def test_answers_have_times_bytes_and_shares() -> None:
    measured = summarise("dns", {"over": "tls"}, DNS_CLIENT, DNS_SERVER)
    assert (measured.invalid, measured.notes) == ([], [])
    expected = {
        "session_p50_ns": 20,
        "response_p50_ns": 20,
        "transaction_p50_ns": 20,
        "transaction_sent_bytes": 400,
        "transaction_received_bytes": 2000,
        "questions_unanswered_ratio": 0,
        "questions_retried_ratio": 0,
        "answers_truncated_ratio": 0,
    }
    assert expected.items() <= measured.metrics.items()


BY_UDP = DNS_CLIENT | {"session": EMPTY, "protocols": {"udp": 3}, "versions": {}, "ciphers": {}}


def test_retries_losses_and_truncated_answers_are_results() -> None:
    lossy = BY_UDP | {"failed": {"timeout": 1}, "retries": 2, "truncated": 1, "protocols": {"udp": 2, "tcp": 1}}
    measured = summarise("dns", {"over": "udp"}, lossy, DNS_SERVER | {"truncated": 1})
    assert measured.invalid == []
    expected = {
        "questions_unanswered_ratio": 0.25,
        "questions_retried_ratio": 0.5,
        "answers_truncated_ratio": 0.25,
    }
    assert expected.items() <= measured.metrics.items()
    assert "session_p50_ns" not in measured.metrics
    assert measured.notes == ["questions that failed: 1 timeout"]


@pytest.mark.parametrize(
    ("over", "client", "kind", "words"),
    [
        ("https", {"protocols": {"h2": 2, "none": 1}}, ReasonKind.OTHER_PROTOCOL, "was not always h2"),
        ("quic", {"protocols": {"sixbench": 3}}, ReasonKind.OTHER_PROTOCOL, "was not always doq"),
        ("tls", {"versions": {"TLSv1_2": 3}}, ReasonKind.OTHER_PROTOCOL, "not always TLSv1_3"),
        ("udp", BY_UDP | {"protocols": {"tcp": 3}}, ReasonKind.OTHER_PROTOCOL, "was not always udp"),
        ("tls", {"transactions": 5, "protocols": {"dot": 5}}, ReasonKind.LEDGER, "counts 5 answers, and the server"),
    ],
)
def test_answers_by_another_protocol_are_invalid(
    over: str, client: dict[str, Any], kind: ReasonKind, words: str
) -> None:
    [reason] = summarise("dns", {"over": over}, DNS_CLIENT | client, DNS_SERVER).invalid
    assert reason.kind is kind
    assert words in reason.text


@pytest.mark.parametrize(
    ("params", "messages"),
    [
        ({"over": "udp"}, 8),
        ({"over": "quic", "connection": "kept"}, 8),
        ({"over": "tls"}, 16),
        ({"over": "tls", "connection": "kept"}, 0),
    ],
)
def test_messages_of_dns_are_datagrams_and_packets_that_open_connections(params: dict[str, Any], messages: int) -> None:
    assert traffic("dns", params, DNS_CLIENT, DNS_SERVER).messages == messages


@pytest.mark.parametrize(
    ("workload", "params", "transports"),
    [
        ("http", {}, {"tcp"}),
        ("http", {"version": "2", "tls": "none"}, {"tcp"}),
        ("http", {"version": "3"}, {"udp"}),
        ("dns", {"over": "quic"}, {"udp"}),
        ("dns", {"over": "https"}, {"tcp"}),
        ("dns", {}, {"udp", "tcp"}),
        ("tls", {}, {"tcp"}),
    ],
)
def test_packets_carry_what_the_parameters_say(workload: str, params: dict[str, Any], transports: set[str]) -> None:
    assert WORKLOADS[workload].transports_of(params) == transports


def test_only_tcp_needs_a_congestion_control_of_the_kernel() -> None:
    text = """
topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2]}]}
paths: {ipv6: native6}
workloads: [{quic-stream: {congestion: newreno}}, {tcp-stream: {congestion: bbr}}]
"""
    experiment = read_experiment(parse_yaml(text, "test.yaml"), MECHANISMS)
    assert kernels_congestion_controls(experiment) == {"bbr"}
