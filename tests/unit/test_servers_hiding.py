"""Addresses of this machine that are kept out of the files of a run to servers."""

from __future__ import annotations

from typing import Any

import pytest
from reach_agents import RecordedAgent
from reach_runs import (
    NAMES,
    V4,
    V6,
    experiment,
    runner_of,
    surveyed,
)

from sixbench.bench.servers.hiding import HIDDEN, Hiding, hidden_survey, own_addresses
from sixbench.model.experiment import Experiment
from sixbench.model.survey import RouteReading, ServerAddresses, Survey, SurveyedServer, Vantage
from sixbench.model.trial import TrialRecord
from sixbench.plan.schedule import all_trials


def test_the_addresses_of_this_machine_are_in_no_file() -> None:
    agent = RecordedAgent(names=NAMES)
    planned = experiment("www.example.org", workloads="[ping, tcp-connect, tls]", more="hide-addresses: true\n")
    reduced, survey = surveyed(agent, planned)
    survey = hidden_survey(survey, Hiding(own_addresses(survey)))
    runner = runner_of(agent, reduced, survey)
    records = [runner.run(trial, 1)[0].record for trial in all_trials(reduced)]
    last = runner.last_surveys().get(None)
    assert last is not None
    text = repr((survey, last, records))
    assert "198.51.100." not in text
    assert "2001:db8:7:" not in text
    assert HIDDEN in text
    assert V6 in text


def hidden_records(agent: RecordedAgent, planned: Experiment, before: Any = None) -> tuple[Survey, list[TrialRecord]]:
    """The last survey and the records of a run that hides addresses. `before`: called before each trial."""
    reduced, survey = surveyed(agent, planned)
    runner = runner_of(agent, reduced, hidden_survey(survey, Hiding(own_addresses(survey))))
    records = []
    for sequence, trial in enumerate(all_trials(reduced), start=1):
        if before is not None:
            before(sequence)
        records.append(runner.run(trial, sequence)[0].record)
    last = runner.last_surveys().get(None)
    assert last is not None
    return last, records


def test_addresses_that_this_machine_gets_in_mid_run_are_hidden_too() -> None:
    agent = RecordedAgent(names=NAMES)

    def renumber(sequence: int) -> None:
        if sequence == 4:
            agent.sources = {4: "198.18.9.7", 6: "2001:db8:9::7"}

    planned = experiment("www.example.org", workloads="[ping, tls]", more="hide-addresses: true\n")
    last, records = hidden_records(agent, planned, renumber)
    assert "198.18.9." not in repr((last, records))
    assert "2001:db8:9:" not in repr((last, records))
    assert {record.status for record in records} == {"ok"}


def test_interfaces_that_are_called_by_their_hardware_are_hidden_and_still_the_same() -> None:
    name = "enx00e04c680001"
    agent = RecordedAgent(names=NAMES, interfaces={V4: name, V6: name}, owner=name)
    last, records = hidden_records(agent, experiment("www.example.org", more="hide-addresses: true\n"))
    assert name not in repr((last, records))
    assert {record.status for record in records} == {"ok"}


def test_the_way_out_is_hidden_up_to_the_first_public_router() -> None:
    hops = (("192.168.1.1",), (), ("fe80::1", "10.0.0.1"), ("8.8.4.4",), ("8.8.8.8",))
    entry = ServerAddresses(address=V4, routes=(RouteReading(realtime_ns=1, hops=hops),))
    survey = Survey(
        vantage=Vantage(resolvers=("9.9.9.9",)), servers=(SurveyedServer(label="a", families={"ipv4": entry}),)
    )
    hidden = hidden_survey(survey, Hiding([]))
    assert hidden.vantage.resolvers == (HIDDEN,)
    [reading] = hidden.servers[0].families["ipv4"].routes
    assert reading.hops == ((HIDDEN,), (), (HIDDEN, HIDDEN), (HIDDEN,), ("8.8.8.8",))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("192.0.2.9", "hidden"),
        ("2001:db8:5::/48", "hidden"),
        ("192.0.2.7%eth0", "hidden"),
        ("::ffff:192.0.2.7", "hidden"),
        ("binding 2001:db8:5:6::2: no such address", "binding hidden: no such address"),
        ("from 192.0.2.1:443 to 198.51.100.2:80", "from hidden:443 to 198.51.100.2:80"),
        ("[2001:db8:5::9]:443, then 2001:db8:6::9.", "[hidden]:443, then 2001:db8:6::9."),
        ("12:30:45 by 1.2.3", "12:30:45 by 1.2.3"),
        ("fe80::200:5eff:fe00:5301%eth0 and 169.254.3.4", "hidden and hidden"),
        ("left by enx00005e005301", "left by hidden"),
    ],
)
def test_addresses_of_this_machine_are_hidden_within_texts(text: str, shown: str) -> None:
    assert Hiding(["192.0.2.7", "2001:db8:5:6::1%eth0"]).text(text) == shown
