"""Servers that refuse, or that fail for good."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from reach_agents import RecordedAgent
from reach_runs import (
    NAMES,
    V4,
    V6,
    experiment,
    fault_sentences,
    measured,
    runner_of,
    survey_of,
)

from sixbench.model.trial import TrialRecord
from sixbench.store import Run


@pytest.mark.parametrize(
    ("agent", "rule"),
    [
        (RecordedAgent(names=NAMES, outcomes={("http 1.1", V6): "refused"}), "refused"),
        (RecordedAgent(names=NAMES, statuses={V6: 429}), "refused"),
        (RecordedAgent(names=NAMES, outcomes={("http 1.1", V6): "silence"}), None),
        (RecordedAgent(names=NAMES), None),
    ],
)
def test_a_run_that_goes_on_knows_who_has_refused(agent: RecordedAgent, rule: str | None) -> None:
    planned = experiment("www.example.org", workloads="[http]", blocks=3)
    run = measured(agent, planned)
    survey = survey_of(run)
    runner = runner_of(agent, planned, survey, done=json_records(run))
    assert runner.has_ended("c0001") == rule


def json_records(run: Run) -> list[TrialRecord]:
    """The records as they are read back."""
    return [replace(trial, client=json.loads(json.dumps(trial.client))) for trial in run.trials]


def test_the_third_refusal_in_a_row_ends_a_workload() -> None:
    agent = RecordedAgent(names=NAMES, outcomes={("tcp-connect", V6): "refused"})
    run = measured(agent, experiment("www.example.org", blocks=20))
    assert sum(trial.path == "ipv6" for trial in run.trials) == 3


def test_the_third_refusal_of_a_server_ends_all_workloads_that_it_refuses() -> None:
    refused = {(name, V6): "refused" for name in ("tcp-connect", "tls", "http 1.1", "http 2")}
    agent = RecordedAgent(names=NAMES, outcomes=refused)
    workloads = '[ping, tcp-connect, tls, {http: {version: ["1.1", "2", "3"]}}]'
    run = measured(agent, experiment("www.example.org", workloads=workloads, blocks=4))
    over_ipv6 = [trial for trial in run.trials if trial.path == "ipv6"]
    assert (
        sum(trial.client["attempts"][0]["outcome"] == "refused" for trial in over_ipv6 if "attempts" in trial.client)
        == 3
    )
    others = [trial for trial in over_ipv6 if trial.workload == "ping" or trial.params.get("version") == "3"]
    assert len(others) == 8


def test_a_status_is_the_refusal_of_http_alone() -> None:
    agent = RecordedAgent(names=NAMES, statuses={V6: 503})
    workloads = '[tcp-connect, {http: {version: ["1.1", "2"]}}]'
    run = measured(agent, experiment("www.example.org", workloads=workloads, blocks=4))
    over_ipv6 = [trial.workload for trial in run.trials if trial.path == "ipv6"]
    assert (over_ipv6.count("http"), over_ipv6.count("tcp-connect")) == (3, 4)


def test_each_refused_attempt_of_a_trial_counts() -> None:
    agent = RecordedAgent(names=NAMES, outcomes={("tcp-connect", V6): "refused"})
    run = measured(agent, experiment("www.example.org", workloads="[{tcp-connect: {count: 3}}]", blocks=4))
    assert sum(trial.path == "ipv6" for trial in run.trials) == 1


def test_a_family_that_fails_twenty_times_is_decided() -> None:
    agent = RecordedAgent(names=NAMES, outcomes={("tcp-connect", V6): "silence"})
    planned = experiment("www.example.org", blocks=3)
    planned = replace(planned, blocks=replace(planned.blocks, minimum=3, maximum=40, until="decided"))
    run = measured(agent, planned)
    assert sum(trial.path == "ipv6" for trial in run.trials) == 20
    assert "SYN unanswered in 20 of 20" in fault_sentences(run)[0]


def test_a_server_that_asks_to_be_left_alone_is_left_alone() -> None:
    agent = RecordedAgent(names=NAMES, statuses={V4: 429})
    run = measured(agent, experiment("www.example.org", workloads="[http]", blocks=20))
    assert sum(trial.path == "ipv4" for trial in run.trials) == 3
    assert fault_sentences(run) == [
        f"IPv4 to www.example.org ({V4}) fails by http 1.1: answered with status 429 in 3 of 3, while http 1.1 over "
        "IPv6 answers."
    ]


def test_a_server_that_has_had_enough_at_once_is_left_out_with_its_status() -> None:
    agent = RecordedAgent(names=NAMES, statuses={V4: 429, V6: 503})
    run = measured(agent, experiment("www.example.org", workloads="[tcp-connect, http]"))
    [reason] = survey_of(run).servers[0].left_out.values()
    assert reason == "not offered: status 429 over IPv4 and status 503 over IPv6"
