"""Surveys and trials of experiments with servers of others, by an agent with recorded answers."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from typing import Any, cast

import pytest
from reach_agents import MS, RecordedAgent
from reach_runs import (
    ALL,
    NAMES,
    V4,
    V6,
    experiment,
    fault_sentences,
    measured,
    runner_of,
    shown,
    survey_of,
    surveyed,
)

from sixbench.analysis.run_settings import differing_settings
from sixbench.bench.servers.surveying import take_survey
from sixbench.model.errors import CapabilityError
from sixbench.model.reason import ReasonKind
from sixbench.model.run_comparison import DifferingSetting
from sixbench.model.survey import path_kind
from sixbench.plan.schedule import all_trials
from sixbench.report import servers
from sixbench.store.manifest_json import manifest_from_json, manifest_to_json

TIMEOUT_S = 20
BOTH = "IPv6 from here is native; IPv4 from here is native."


@pytest.mark.parametrize(
    ("address", "source", "interface_kind", "prefixes", "kind"),
    [
        (V6, "2001:db8::5", None, (), "native"),
        (V4, "10.0.0.5", None, (), "native"),
        ("64:ff9b::cb00:7101", "2001:db8::5", None, (), "nat64"),
        ("2001:db8:64::cb00:7101", "2001:db8::5", None, ("2001:db8:64::/96",), "nat64"),
        (V6, "2002:c000:204::1", None, (), "6to4"),
        (V6, "2001:0:4136:e378:8000:63bf:3fff:fdd2", None, (), "teredo"),
        (V6, "2001:db8::5", "sit", (), "tunnel"),
        (V6, "2001:db8::5", "wireguard", (), "vpn"),
        (V4, "192.0.0.4", None, (), "clat"),
        (V4, "192.0.0.9", None, (), "native"),
        (V4, "192.0.0.2", "ip6tnl", (), "tunnel"),
        (V4, "203.0.113.9", "ppp", (), "ppp"),
    ],
)
def test_the_kind_of_a_path(
    address: str, source: str, interface_kind: str | None, prefixes: tuple[str, ...], kind: str
) -> None:
    assert path_kind(address, source, interface_kind, prefixes) == kind


def test_a_server_in_both_families_is_compared() -> None:
    agent = RecordedAgent(names=NAMES, rtt_ns=lambda address: 30 * MS if ":" in address else 20 * MS)
    run = measured(agent, experiment("www.example.org", workloads="[dns, ping, tcp-connect, tls, http]", blocks=5))
    assert {trial.status for trial in run.trials} == {"ok"}
    [first] = [trial for trial in run.trials if trial.key == "b001-c0004-ipv6"]
    assert first.metrics["connect_p50_ns"] == 30 * MS
    assert first.metrics["handshake_p50_ns"] == 60 * MS
    assert first.metrics["transaction_p50_ns"] == 90 * MS
    assert first.metrics["failures_ratio"] == 0
    assert (first.evidence.client, first.evidence.server) == ("2001:db8:7::7", V6)
    text = shown(run)
    assert BOTH in text
    assert "median connection time of tcp connection" in text.lower()
    assert "+50" in text


def test_a_record_and_a_manifest_of_servers_are_read_back() -> None:
    run = measured(RecordedAgent(names=NAMES), experiment("www.example.org"))
    data = json.loads(json.dumps(manifest_to_json(run.manifest)))
    assert manifest_from_json(data, "manifest.json") == run.manifest


def test_runs_differ_by_the_ways_to_servers_and_not_by_what_the_survey_measured() -> None:
    old = measured(RecordedAgent(names=NAMES), experiment("www.example.org"))
    new = measured(RecordedAgent(names=NAMES), experiment("www.example.org"))
    assert differing_settings(old, new) == []
    through_vpn = RecordedAgent(names=NAMES, interfaces={V6: "wg0"}, kinds={"wg0": "wireguard"})
    [setting] = differing_settings(old, measured(through_vpn, experiment("www.example.org")))
    assert setting == DifferingSetting(
        name="survey.servers.www.example.org.families.ipv6.kind", old="native", new="vpn"
    )


def test_what_no_family_offers_is_left_out() -> None:
    outcomes = {("http 3", V4): "silence", ("http 3", V6): "refused", ("http 2", V6): "silence"}
    planned = experiment("www.example.org", workloads='[{http: {version: ["1.1", "2", "3"]}}]')
    run = measured(RecordedAgent(names=NAMES, outcomes=outcomes), planned)
    [server] = survey_of(run).servers
    assert server.left_out == {"http 3": "not offered: silence over IPv4 and refused over IPv6"}
    assert {trial.levels["version"] for trial in run.trials} == {"1.1", "2"}


def test_what_this_machine_cannot_do_is_left_out_with_the_reason() -> None:
    run = measured(
        RecordedAgent(names=NAMES, cannot={"ping"}), experiment("www.example.org", workloads="[ping, tcp-connect]")
    )
    [server] = survey_of(run).servers
    assert "net.ipv4.ping_group_range" in server.left_out["ping"]
    assert {trial.workload for trial in run.trials} == {"tcp-connect"}


def test_a_server_without_ipv6_has_trials_over_ipv4_alone() -> None:
    run = measured(RecordedAgent(names={"www.example.org": {"A": [V4], "AAAA": []}}), experiment("www.example.org"))
    assert {trial.path for trial in run.trials} == {"ipv4"}
    assert "No server has an IPv6 address; IPv4 from here is native." in shown(run)


@pytest.mark.parametrize("name", ["www.example.org", V4])
def test_ipv6_addresses_that_were_not_found_are_not_called_missing(name: str) -> None:
    run = measured(RecordedAgent(names={"www.example.org": {"A": [V4], "AAAA": "silence"}}), experiment(name))
    assert "No IPv6 address of a server was found; IPv4 from here is native." in shown(run)


def test_servers_are_counted_by_the_families_that_lead_to_them() -> None:
    zone: dict[str, dict[str, Any]] = {
        "both.example": {"A": [V4], "AAAA": [V6]},
        "old.example": {"A": ["203.0.113.2"], "AAAA": []},
        "none.example": {"A": "NXDOMAIN", "AAAA": "NXDOMAIN"},
    }
    run = measured(RecordedAgent(names=zone), experiment(*zone))
    assert "Of 3 servers, 1 is reached by both families, 1 by IPv4 alone and 1 by neither." in shown(run)
    assert "no times to compare" not in shown(run)
    dead = RecordedAgent(names=zone, outcomes={("tcp-connect", V6): "silence"})
    assert "1 server has no times to compare by some workload, as a family fails." in shown(
        measured(dead, experiment(*zone))
    )


def test_a_variable_of_exceptions_names_no_proxy() -> None:
    run = measured(RecordedAgent(names=NAMES, proxies=["no_proxy", "NO_PROXY"]), experiment("www.example.org"))
    assert "proxy" not in shown(run)
    run = measured(RecordedAgent(names=NAMES, proxies=["no_proxy", "https_proxy"]), experiment("www.example.org"))
    assert "a proxy is named by https_proxy, and was not used." in shown(run)


def test_a_machine_without_ipv6_says_so_and_goes_on() -> None:
    run = measured(RecordedAgent(names=NAMES, interfaces={V6: None}), experiment("www.example.org"))
    assert {trial.path for trial in run.trials} == {"ipv4"}
    assert f"This machine has no route to www.example.org over IPv6 ({V6})." in fault_sentences(run)


def test_nothing_that_can_be_measured_is_said_before_anything_is_written() -> None:
    agent = RecordedAgent(names={"www.example.org": {"A": "NXDOMAIN", "AAAA": "NXDOMAIN"}})
    planned = experiment("www.example.org")
    with pytest.raises(CapabilityError, match=r"no server can be measured from here: www\.example\.org: .*NXDOMAIN"):
        surveyed(agent, planned)


@pytest.mark.parametrize(
    ("lookup", "words"),
    [
        ("NXDOMAIN", r"its name has no address here \(NXDOMAIN\)"),
        ("silence", r"its name cannot be looked up here \(silence\)"),
    ],
)
def test_a_resolver_that_does_not_answer_is_not_a_name_without_addresses(lookup: str, words: str) -> None:
    agent = RecordedAgent(names={"www.example.org": {"A": lookup, "AAAA": lookup}})
    with pytest.raises(CapabilityError, match=words):
        measured(agent, experiment("www.example.org"))


def test_workloads_that_are_left_out_for_one_reason_are_told_together() -> None:
    refused = {(name, address): "refused" for name in ("tcp-connect", "tls") for address in (V4, V6)}
    run = measured(RecordedAgent(names=NAMES, outcomes=refused), experiment("www.example.org", workloads=ALL))
    table = servers.servers_table(run)
    assert table is not None
    assert table.rows[0][-1] == "tcp-connect and tls: not offered: refused over IPv4 and refused over IPv6"


def test_names_without_a_network_are_not_looked_up_for_ever() -> None:
    agent = RecordedAgent(names={"www.example.org": {"A": "no-route", "AAAA": "no-route"}})
    planned = experiment("www.example.org", workloads="[dns, tcp-connect]")
    with pytest.raises(CapabilityError, match=r"its name cannot be looked up here \(no-route\)"):
        surveyed(agent, planned)


def test_a_server_that_answers_nothing_keeps_one_workload_that_shows_it() -> None:
    outcomes = {(name, address): "silence" for name in ("tcp-connect", "tls", "ping") for address in (V4, V6)}
    agent = RecordedAgent(names=NAMES, outcomes=outcomes)
    run = measured(agent, experiment("www.example.org", workloads="[ping, tls, tcp-connect]"))
    assert {trial.workload for trial in run.trials} == {"tcp-connect"}
    assert "SYN unanswered in 3 of 3, and nothing else answers." in fault_sentences(run)[0]


def test_the_first_address_that_answers_is_pinned_and_the_dead_one_is_named() -> None:
    dead, alive = "203.0.113.9", "203.0.113.2"
    agent = RecordedAgent(
        names={"www.example.org": {"A": [dead, alive], "AAAA": [V6]}}, outcomes={("tcp-connect", dead): "silence"}
    )
    run = measured(agent, experiment("www.example.org"))
    assert {trial.evidence.server for trial in run.trials} == {alive, V6}
    words = f"1 of 2 IPv4 addresses of www.example.org does not answer: {dead} (silence). The trials went to {alive}."
    assert words in fault_sentences(run)


@pytest.mark.parametrize("address", ["::", "ff02::1", "::ffff:192.0.2.1"])
def test_a_resolver_that_filters_a_name_does_not_end_the_run(address: str) -> None:
    agent = RecordedAgent(names=NAMES | {"bad.example": {"A": ["0.0.0.0"], "AAAA": [address]}})
    run = measured(agent, experiment("www.example.org", "bad.example"))
    assert {trial.levels["server"] for trial in run.trials} == {"www.example.org"}
    sentences = fault_sentences(run)
    assert any(text.startswith("The A records of bad.example lead to no server: 0.0.0.0 is") for text in sentences)
    assert any(text.startswith("The AAAA records of bad.example lead to no server: ") for text in sentences)
    [left_out] = survey_of(run).server("bad.example").left_out.values()
    assert left_out.startswith("no address of its name leads to a server: 0.0.0.0 is the address of no host; ")


def test_a_path_mtu_that_is_known_is_not_searched_again() -> None:
    agent = RecordedAgent(names=NAMES)
    measured(agent, experiment("www.example.org"))
    assert [request.by for request in agent.asked if request.op == "path-mtu"] == ["icmp"] * 4


def test_the_agent_has_time_for_the_rests_of_a_server() -> None:
    waits_ns = []

    class Agent(RecordedAgent):
        def answer(self, request: Any, *, timeout_s: float = 30.0) -> Any:
            if request.op == "application":
                waits_ns.append(round(timeout_s * 10**9))
            return super().answer(request)

    measured(Agent(names=NAMES), experiment("www.example.org", workloads="[{http: {count: 20}}]", blocks=1))
    # Each object may be 1 MiB, of which 64 KiB come in a second, and sixteen requests may wait for the same address.
    assert max(waits_ns) >= 20 * (10 + 16) * 10**9
    assert min(waits_ns) >= (10 + 16 + 16 * 2) * 10**9


def test_an_interrupted_survey_waits_for_no_server() -> None:
    begun, go_on, waited = threading.Event(), threading.Event(), []

    class Agent(RecordedAgent):
        def answer(self, request: Any, *, timeout_s: float = 30.0) -> Any:
            if request.op == "resolve" and request.name == "first.example":
                begun.wait(TIMEOUT_S)
                raise KeyboardInterrupt
            if request.op == "resolve":
                begun.set()
                waited.append(go_on.wait(TIMEOUT_S))
            return super().answer(request)

    try:
        with pytest.raises(KeyboardInterrupt):
            take_survey(cast(Any, Agent(names=NAMES)), experiment("first.example", "www.example.org"))
        assert not waited
    finally:
        go_on.set()


def test_an_address_with_a_route_is_pinned_before_one_without() -> None:
    agent = RecordedAgent(
        names={"www.example.org": {"A": ["0.0.0.0", V4], "AAAA": [V6]}}, outcomes={("tcp-connect", V4): "silence"}
    )
    run = measured(agent, experiment("www.example.org"))
    assert survey_of(run).servers[0].families["ipv4"].address == V4


def test_names_with_hundreds_of_addresses_are_measured() -> None:
    zone = {
        f"s{number}.example": {
            "A": [f"198.18.{number}.{last}" for last in range(1, 9)],
            "AAAA": [f"2001:db8:1:{number:x}::{last:x}" for last in range(1, 9)],
        }
        for number in range(40)
    }
    run = measured(RecordedAgent(names=zone), experiment(*zone, blocks=1))
    assert {(trial.path, trial.status) for trial in run.trials} == {("ipv4", "ok"), ("ipv6", "ok")}
    assert len(run.trials) == 80


def test_trials_to_a_server_on_this_machine_are_valid() -> None:
    agent = RecordedAgent(names=NAMES, routes_by={V4: "lo", V6: "lo"})
    run = measured(agent, experiment("www.example.org"))
    assert {trial.status for trial in run.trials} == {"ok"}


def test_a_trial_of_which_nothing_was_sent_is_invalid_and_decides_nothing() -> None:
    agent = RecordedAgent(names=NAMES, outcomes={("tcp-connect", V6): "no-route"})
    planned = experiment("www.example.org", blocks=3)
    planned = replace(planned, blocks=replace(planned.blocks, minimum=3, maximum=30, until="decided"))
    run = measured(agent, planned)
    over_ipv6 = [trial for trial in run.trials if trial.path == "ipv6"]
    assert len(over_ipv6) == 30
    assert {(trial.status, trial.reasons[0].kind) for trial in over_ipv6} == {("invalid", ReasonKind.NOTHING_SENT)}
    [sentence] = fault_sentences(run)
    assert sentence.startswith(f"This machine sends nothing to www.example.org over IPv6 ({V6}) by tcp-connect")


def test_a_trial_that_leaves_by_another_interface_is_invalid() -> None:
    agent = RecordedAgent(names=NAMES)
    planned = experiment("www.example.org")
    reduced, survey = surveyed(agent, planned)
    agent.interfaces[V6] = "wg0"
    runner = runner_of(agent, reduced, survey)
    records = [runner.run(trial, 1)[0].record for trial in all_trials(reduced)]
    assert {record.status for record in records if record.path == "ipv6"} == {"invalid"}
    reasons = {(reason.kind, reason.text) for record in records for reason in record.reasons}
    assert reasons == {(ReasonKind.OTHER_PATH, "packets left by wg0, and when the run began by eth0")}


def test_a_ping_that_leaves_by_another_interface_is_invalid() -> None:
    agent = RecordedAgent(names=NAMES)
    planned = experiment("www.example.org", workloads="[ping]", blocks=1)
    reduced, survey = surveyed(agent, planned)
    agent.interfaces[V6] = "wg0"
    runner = runner_of(agent, reduced, survey)
    records = [runner.run(trial, 1)[0].record for trial in all_trials(reduced)]
    assert {record.path: record.status for record in records} == {"ipv4": "ok", "ipv6": "invalid"}


@pytest.mark.parametrize(
    ("answer", "words"),
    [({"status": 301}, "status 301, and the redirection was not followed"), ({"body_whole": False}, "beyond 1 MiB")],
)
def test_an_object_that_is_not_the_whole_page_is_noted(answer: dict[str, Any], words: str) -> None:
    class Agent(RecordedAgent):
        def answer(self, request: Any, *, timeout_s: float = 30.0) -> Any:
            given = super().answer(request)
            if request.op == "application":
                given = given.model_copy(
                    update={"attempts": [attempt.model_copy(update=answer) for attempt in given.attempts]}
                )
            return given

    run = measured(Agent(names=NAMES), experiment("www.example.org", workloads="[http]", blocks=1))
    assert all(words in trial.notes[0] for trial in run.trials)


@pytest.mark.parametrize(
    ("addresses", "mine"),
    [
        ({"A": ["192.168.1.20"], "AAAA": ["fd00::20"]}, True),
        ({"A": ["192.168.1.20"], "AAAA": []}, True),
        ({"A": ["8.8.8.8"], "AAAA": ["fd00::20"]}, False),
        ({"A": ["8.8.8.8"], "AAAA": ["2600::1"]}, False),
        ({"A": ["192.168.1.20", "8.8.8.8"], "AAAA": []}, False),
    ],
)
def test_servers_with_private_addresses_alone_are_mine(addresses: dict[str, list[str]], mine: bool) -> None:
    agent = RecordedAgent(names={"www.example.org": addresses})
    run = measured(agent, experiment("www.example.org"))
    assert survey_of(run).servers[0].mine == mine
    assert {request.mine for request in agent.asked if request.op == "tcp-connect"} == {True if mine else None}


def test_a_server_without_a_name_is_known_by_its_address() -> None:
    agent = RecordedAgent()
    run = measured(agent, experiment(f"{V4},{V6}", workloads="[tls, http, quic-connect]"))
    assert {trial.status for trial in run.trials} == {"ok"}
    asked = {(request.address, request.server_name) for request in agent.asked if request.op == "application"}
    assert asked == {(V4, V4), (V6, V6)}
