"""Whole runs to servers of others, by an agent with recorded answers."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from reach_agents import MS, RecordedAgent, RecordedHub
from synthetic import Synthetic

from sixbench.analysis import analyse
from sixbench.bench.servers.runner import ServerRunner
from sixbench.bench.servers.surveying import take_survey, with_offered_only
from sixbench.mechanisms import MECHANISMS
from sixbench.model.experiment import Experiment
from sixbench.model.observer import Observer
from sixbench.model.survey import Survey
from sixbench.model.trial import TrialRecord
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.schedule import all_trials
from sixbench.plan.yaml_source import parse_yaml
from sixbench.report import terminal
from sixbench.report.server_faults import faults_by_vantage
from sixbench.store import Environment, Manifest, Run

V4, V6 = "203.0.113.1", "2001:db8:1::1"
NAMES = {"www.example.org": {"A": [V4], "AAAA": [V6]}}
ALL = "[ping, tcp-connect, tls]"


def experiment(*names: str, workloads: str = "[tcp-connect]", blocks: int = 3, more: str = "") -> Experiment:
    text = f"experiment: reach\nservers: {json.dumps(list(names))}\nworkloads: {workloads}\nblocks: {blocks}\n{more}"
    return read_experiment(parse_yaml(text, "test.yaml"), MECHANISMS)


def fault_sentences(run: Run) -> list[str]:
    """Sentences on faults that this machine sees."""
    return faults_by_vantage(run).get(None, [])


def shown(run: Run) -> str:
    return " ".join(terminal.render(run, analyse(run)).split())


def surveyed(agent: RecordedAgent, planned: Experiment) -> tuple[Experiment, Survey]:
    """The experiment as this machine measures it, and its survey."""
    reduced, surveys = with_offered_only(planned, {None: take_survey(cast(Any, agent), planned)})
    return reduced, surveys[None]


def runner_of(
    agent: RecordedAgent, planned: Experiment, survey: Survey, done: Sequence[TrialRecord] = ()
) -> ServerRunner:
    """The runner of its trials from this machine."""
    return ServerRunner(
        hub=cast(Any, RecordedHub(agent=agent)),
        experiment=planned,
        surveys={None: survey},
        observer=Observer(),
        presence=None,
        directory=None,
        done=done,
    )


def measured(agent: RecordedAgent, planned: Experiment) -> Run:
    """A whole run of it."""
    reduced, survey = surveyed(agent, planned)
    runner = runner_of(agent, reduced, survey)
    records = []
    for sequence, trial in enumerate(all_trials(reduced), start=1):
        if runner.has_ended(trial.combination) is None:
            records.append(runner.run(trial, sequence)[0].record)
    last = runner.last_surveys().get(None)
    assert last is not None
    return run_of(reduced, last, records)


def run_of(planned: Experiment, survey: Survey, records: list[TrialRecord]) -> Run:
    environment = Environment(
        kernel="", machine="", cpu="", distribution="", cores=1, memory_bytes=0, versions={}, survey=survey
    )
    manifest = Manifest(
        run="test", experiment=planned, environment=environment, state="complete", started_realtime_ns=1
    )
    return Run(directory=Path(), manifest=manifest, trials=records)


def changed(changes: Mapping[str, float | None], *, blocks: int = 8, seed: int = 1) -> Synthetic:
    """A run of connections and handshakes to servers. Over IPv6 they take longer by these shares; None: they are not
    answered."""
    generator = random.Random(seed)
    addresses = {name: (f"203.0.113.{place}", f"2001:db8:1::{place}") for place, name in enumerate(changes, start=1)}
    names = {name: {"A": [v4], "AAAA": [v6]} for name, (v4, v6) in addresses.items()}
    of_address = {v6: changes[name] or 0.0 for name, (_, v6) in addresses.items()}
    silent = {v6 for name, (_, v6) in addresses.items() if changes[name] is None}

    def rtt_ns(address: str) -> int:
        return int(20 * MS * (1 + of_address.get(address, 0.0)) * generator.gauss(1, 0.01))

    agent = RecordedAgent(names=names, rtt_ns=rtt_ns)
    for address in silent:
        agent.outcomes |= {("tcp-connect", address): "silence", ("tls", address): "silence"}
    text = f"experiment: reach\ntitle: IPv4 and IPv6 to servers\nservers: {[*changes]}\n"
    text += f"workloads: [tcp-connect, tls]\nblocks: {blocks}\nstatistics: {{margin: 5%}}\n"
    run = measured(agent, read_experiment(parse_yaml(text, "reach.yaml"), MECHANISMS))
    return Synthetic(manifest=run.manifest, trials=run.trials)


def survey_of(run: Run) -> Survey:
    survey = run.manifest.environment.survey
    assert survey is not None
    return survey
