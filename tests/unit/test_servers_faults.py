"""Sentences on what does not work at servers of others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from reach_agents import RecordedAgent
from reach_runs import (
    NAMES,
    V4,
    V6,
    experiment,
    fault_sentences,
    measured,
    run_of,
    runner_of,
    shown,
    surveyed,
)

from sixbench.bench.servers.surveying import look_again
from sixbench.mechanisms import MECHANISMS
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.schedule import all_trials
from sixbench.plan.yaml_source import parse_yaml


def test_a_family_that_fails_is_a_finding_with_what_else_answers() -> None:
    agent = RecordedAgent(names=NAMES, outcomes={("tcp-connect", V6): "silence"})
    run = measured(agent, experiment("www.example.org", workloads="[ping, tcp-connect]"))
    assert fault_sentences(run)[:1] == [
        f"IPv6 to www.example.org ({V6}) fails by tcp-connect: SYN unanswered in 3 of 3, while ping over IPv6 and "
        "tcp-connect over IPv4 answer."
    ]
    failures = {trial.path: trial.metrics["failures_ratio"] for trial in run.trials if trial.workload == "tcp-connect"}
    assert failures == {"ipv4": 0, "ipv6": 1}
    assert {trial.status for trial in run.trials} == {"ok"}


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("refused", "refused in 3 of 3"),
        ("reset", "reset in 3 of 3"),
        ("unreachable", "unreachable in 3 of 3"),
        ("other-name", "answered by a certificate of another name, as portals have, in 3 of 3"),
    ],
)
def test_each_fault_has_its_words(outcome: str, words: str) -> None:
    agent = RecordedAgent(names=NAMES, outcomes={("tls", V6): outcome})
    run = measured(agent, experiment("www.example.org", workloads="[tls]"))
    assert any(words in sentence for sentence in fault_sentences(run))


def test_a_black_hole_of_long_packets_is_a_fault() -> None:
    run = measured(RecordedAgent(names=NAMES, drops_too_big=True), experiment("www.example.org"))
    assert fault_sentences(run)[1:] == [
        "The path MTU to www.example.org over IPv6 is 1480 bytes, less than that of the interface, and no Packet Too "
        "Big comes back: connections hang unless an end probes or a router lowers the MSS. It may be the way back: "
        "answers to echo requests are as long."
    ]


def test_http3_that_is_announced_and_blocked_is_a_fault() -> None:
    names = {"www.example.org": NAMES["www.example.org"] | {"HTTPS": ["h3", "h2"]}}
    agent = RecordedAgent(names=names, outcomes={("http 3", V4): "silence", ("http 3", V6): "silence"})
    run = measured(agent, experiment("www.example.org", workloads='[{http: {version: ["2", "3"]}}]'))
    assert fault_sentences(run) == [
        "www.example.org announces HTTP/3 in its HTTPS record, and UDP does not lead to it: silence over IPv4 and "
        "silence over IPv6."
    ]


def test_look_ups_are_not_evidence_about_a_server() -> None:
    dead = {(name, V6): "silence" for name in ("tcp-connect", "ping")}
    run = measured(
        RecordedAgent(names=NAMES, outcomes=dead), experiment("www.example.org", workloads="[dns, ping, tcp-connect]")
    )
    to = f"IPv6 to www.example.org ({V6}) fails by"
    assert fault_sentences(run) == [
        f"{to} ping: echo requests unanswered in 15 of 15, while ping over IPv4 answers.",
        f"{to} tcp-connect: SYN unanswered in 3 of 3, while tcp-connect over IPv4 answers.",
    ]


def test_look_ups_that_fail_are_told_of_the_name() -> None:
    agent = RecordedAgent(names=NAMES)
    planned = experiment("www.example.org", workloads="[dns]")
    reduced, survey = surveyed(agent, planned)
    agent.names = {"www.example.org": {"A": [V4], "AAAA": "SERVFAIL"}}
    runner = runner_of(agent, reduced, survey)
    records = [runner.run(trial, 1)[0].record for trial in all_trials(reduced)]
    assert fault_sentences(run_of(reduced, survey, records)) == [
        "Look-ups of the AAAA records of www.example.org fail: answered with an error in 3 of 3 (the resolver answered "
        "SERVFAIL), while those of its A records are answered."
    ]


def test_what_answers_is_told_even_if_nothing_near_does() -> None:
    outcomes = {("tcp-connect", V4): "silence", ("tcp-connect", V6): "silence", ("ping", V6): "silence"}
    run = measured(
        RecordedAgent(names=NAMES, outcomes=outcomes),
        experiment("www.example.org", workloads="[ping, tls, tcp-connect]"),
    )
    assert not any("nothing else" in text for text in fault_sentences(run))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "SYN unanswered in 3 of 3"),
        ({"connect_ns": 1}, "TCP connected and then nothing came in 3 of 3"),
        ({"connect_ns": 1, "handshake_ns": 1}, "nothing came after the handshake in 3 of 3"),
        ({"outcome": "unreachable", "icmp": {"type": 1, "code": 1}}, "unreachable in 3 of 3 (ICMPv6 type 1 code 1)"),
        (
            {"outcome": "unreachable", "icmp": {"type": 3, "code": 13, "from": "192.0.2.1"}},
            "unreachable in 3 of 3 (ICMP type 3 code 13 from 192.0.2.1)",
        ),
    ],
)
def test_silence_is_told_as_far_as_it_came(more: dict[str, Any], words: str) -> None:
    run = measured(RecordedAgent(names=NAMES), experiment("www.example.org", workloads="[tls]"))
    client = {"attempts": [{"outcome": "silence"} | more]}
    trials = [replace(trial, client=client) if trial.path == "ipv6" else trial for trial in run.trials]
    assert fault_sentences(replace(run, trials=trials)) == [
        f"IPv6 to www.example.org ({V6}) fails by tls: {words}, while tls over IPv4 answers."
    ]


@pytest.mark.parametrize("outcome", ["closed", "silence"])
def test_http_3_that_is_announced_for_another_port_is_not_expected(outcome: str) -> None:
    names = {"www.example.org": {"A": [V4], "AAAA": [V6], "HTTPS": ["h2", "h3"]}}
    outcomes = {("http 3", V4): outcome, ("http 3", V6): outcome}
    workloads = "[tcp-connect, {http: {version: '3'}}]"
    [sentence] = fault_sentences(
        measured(RecordedAgent(names=names, outcomes=outcomes), experiment("www.example.org", workloads=workloads))
    )
    assert ("UDP does not lead to it" in sentence) == (outcome == "silence")
    text = f"experiment: a\nservers: [{{name: www.example.org, port: 8443}}]\nworkloads: {workloads}\nblocks: 3\n"
    planned = read_experiment(parse_yaml(text, "test.yaml"), MECHANISMS)
    assert fault_sentences(measured(RecordedAgent(names=names, outcomes=outcomes), planned)) == []


def test_nothing_else_is_said_where_nothing_else_was_tried() -> None:
    agent = RecordedAgent(names={"www.example.org": {"A": [V4], "AAAA": []}}, outcomes={("tcp-connect", V4): "silence"})
    run = measured(agent, experiment("www.example.org"))
    assert fault_sentences(run) == [f"IPv4 to www.example.org ({V4}) fails by tcp-connect: SYN unanswered in 3 of 3."]


def test_an_address_of_a_dns64_is_no_ipv6_server() -> None:
    agent = RecordedAgent(names={"www.example.org": {"A": [V4], "AAAA": ["64:ff9b::cb00:7101"]}})
    run = measured(agent, experiment("www.example.org"))
    assert "IPv6 from here is NAT64; IPv4 from here is native." in shown(run)
    assert fault_sentences(run)[0].startswith("www.example.org has no IPv6 address of its own: a DNS64 made")


@pytest.mark.parametrize(
    ("lookup", "words"),
    [
        ("silence", "The look-up of the AAAA records of www.example.org is not answered."),
        ("SERVFAIL", "The look-up of the AAAA records of www.example.org fails: SERVFAIL."),
    ],
)
def test_look_ups_that_fail_are_faults(lookup: str, words: str) -> None:
    agent = RecordedAgent(names={"www.example.org": {"A": [V4], "AAAA": lookup}})
    run = measured(agent, experiment("www.example.org", workloads="[dns, tcp-connect]"))
    assert words in fault_sentences(run)
    asked = {trial.path: trial.metrics["questions_unanswered_ratio"] for trial in run.trials if trial.workload == "dns"}
    assert asked == {"ipv4": 0, "ipv6": 1}


def test_a_name_that_changes_its_addresses_is_pinned_and_told() -> None:
    agent = RecordedAgent(names={"www.example.org": {"A": [V4], "AAAA": [V6]}})
    planned = experiment("www.example.org")
    reduced, survey = surveyed(agent, planned)
    agent.names["www.example.org"]["A"] = ["203.0.113.77"]
    run = run_of(reduced, look_again(cast(Any, agent), reduced, survey), [])
    words = f"www.example.org has other IPv4 addresses at the end of the run (203.0.113.77); all trials went to {V4}."
    assert words in fault_sentences(run)


@pytest.mark.parametrize("now", ["silence", "SERVFAIL"])
def test_a_look_up_that_fails_at_the_end_is_no_change_of_addresses(now: str) -> None:
    agent = RecordedAgent(names={"www.example.org": {"A": [V4], "AAAA": [V6]}})
    planned = experiment("www.example.org")
    reduced, survey = surveyed(agent, planned)
    agent.names["www.example.org"]["A"] = now
    again = look_again(cast(Any, agent), reduced, survey)
    assert [entry.now for entry in again.servers[0].families.values()] == [None, (V6,)]
    assert fault_sentences(run_of(reduced, again, [])) == []


def test_a_name_without_addresses_at_the_end_is_told() -> None:
    agent = RecordedAgent(names={"www.example.org": {"A": [V4], "AAAA": [V6]}})
    planned = experiment("www.example.org")
    reduced, survey = surveyed(agent, planned)
    agent.names["www.example.org"]["AAAA"] = []
    run = run_of(reduced, look_again(cast(Any, agent), reduced, survey), [])
    words = f"www.example.org has no IPv6 address any more at the end of the run; all trials went to {V6}."
    assert fault_sentences(run) == [words]
