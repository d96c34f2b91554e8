"""Experiments run in this process, for tests that look at the packets and the records."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sixbench.agent import AgentHub, find_agent
from sixbench.bench.engines import choose_engines
from sixbench.bench.environment import gather
from sixbench.bench.laboratory import Laboratories, Laboratory
from sixbench.bench.open_run import OpenRun
from sixbench.bench.scheduler import run_experiment
from sixbench.mechanisms import MECHANISMS
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network
from sixbench.model.observer import Observer
from sixbench.model.path import Path as NetworkPath
from sixbench.model.reason import ReasonKind, sentences
from sixbench.model.trial import TrialRecord
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml
from sixbench.store import Manifest, create_run
from sixbench.theory import expected_amid_changes

TESTERS = frozenset({ReasonKind.TESTER_LIMITED, ReasonKind.EMULATOR_LATE, ReasonKind.LATE_TIMERS})
"""Reasons of trials where a busy machine kept a sender or a link from its rate, or an emulated link from its times."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A run that is over."""

    directory: Path
    trials: list[TrialRecord]

    def captures(self, trial: TrialRecord) -> dict[str, Path]:
        """The packets of a trial, by link."""
        return {file.stem: file for file in sorted((self.directory / "trials" / trial.key).glob("*.pcapng"))}


class Quiet(Observer):
    """An observer that does not."""


class WithWholeChecksums(Laboratories):
    """Networks whose devices leave no checksum to the hardware, which veth has none of."""

    def _built(self, path: NetworkPath, network: Network) -> Laboratory:
        laboratory = super()._built(path, network)
        for link in network.topology.wires:
            for end in link.ends:
                done = laboratory.agents[end.node].call("exec", argv=["ethtool", "-K", end.name, "tx", "off"])
                assert done["exit"] == 0, done
        return laboratory


def read(hub: AgentHub, text: str) -> Experiment:
    """An experiment with the engines chosen. It repeats nothing, so that it is known how many trials there are."""
    experiment = replace(read_experiment(parse_yaml(text, "test.yaml"), MECHANISMS), repeats=0)
    probe = hub.start(["probe"])["probe"]
    try:
        return choose_engines(probe, experiment)
    finally:
        hub.stop([probe])


def run(hub: AgentHub, text: str, directory: Path, *, whole_checksums: bool = False) -> Finished:
    """Runs an experiment with all packets kept."""
    manifest = Manifest(
        run=directory.name,
        experiment=read(hub, text),
        environment=gather(find_agent(), {}, False),
        state="running",
        started_realtime_ns=time.time_ns(),
        capture=True,
    )
    trials: list[TrialRecord] = []

    class Keeping(Quiet):
        def trial_ended(self, record: TrialRecord) -> None:
            trials.append(record)

    with pytest.MonkeyPatch.context() as patch:
        if whole_checksums:
            patch.setattr("sixbench.bench.scheduler.Laboratories", WithWholeChecksums)
        open_run = OpenRun(
            experiment=manifest.experiment,
            writer=create_run(directory, manifest),
            hub=hub,
            theory=expected_amid_changes,
        )
        run_experiment(open_run, Keeping())
    return Finished(directory=directory, trials=trials)


def wrong(trials: list[TrialRecord]) -> list[tuple[str, str, str, list[str]]]:
    """The trials that are not `ok`, but for those that a busy machine made so; what tunnels dropped is wrong too."""
    return [
        (trial.key, trial.status, sentences(trial.reasons), trial.notes)
        for trial in trials
        if [note for note in trial.notes if " dropped " in note]
        or (trial.status != "ok" and not (trial.reasons and all(reason.kind in TESTERS for reason in trial.reasons)))
    ]
