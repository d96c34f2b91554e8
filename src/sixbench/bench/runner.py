"""Runs single trials of an experiment in the networks that they need, whoever chooses the trials."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from ..model.errors import AgentError, CapabilityError, LabError
from ..model.experiment import Experiment, PlannedTrial
from ..model.network import Network
from ..model.observer import Observer, StopRule
from ..model.path import Path
from ..model.reason import Reason, ReasonKind
from ..model.survey import Survey
from .bypass import ByWorkload, bypass_of
from .laboratory import Laboratories, Laboratory
from .other_runs import Presence
from .record import TrialTask
from .trial import Outcome, References, Theory, failed_outcome, run_trial


class Runner(Protocol):
    """Runs single trials, whatever network they need."""

    def run(self, planned: PlannedTrial, sequence: int) -> tuple[Outcome, int | None]:
        """A trial, and how long it took without preparations; None where these failed."""

    def has_ended(self, combination: str) -> StopRule | None:
        """The rule by which a combination has no more trials. None: it goes on."""

    def last_surveys(self) -> Mapping[str | None, Survey]:
        """The surveys as they are after the last trial, by vantage; those that cannot be taken are left out."""


@dataclass(kw_only=True)
class TrialRunner:
    """The trials of an experiment, one after the other.

    Attributes:
        bypass: what the tester can do, for the records.
        keeps_packets: whether the packets of every link are kept.
        presence: this run among others of the machine, for the records; None: nobody knows of others.
        directory: where a page can look at this run, by device and inode; None: nowhere on this machine.
        any_built: whether a network of this experiment was built before, so that one that cannot be built fails a
            trial and not the run.
    """

    experiment: Experiment
    laboratories: Laboratories
    theory: Theory
    observer: Observer
    bypass: ByWorkload
    keeps_packets: bool
    presence: Presence | None
    directory: tuple[int, int] | None
    any_built: bool

    def run(self, planned: PlannedTrial, sequence: int) -> tuple[Outcome, int | None]:
        """A trial, and how long it took without the building of its network; None where that failed.

        Raises `LabError`, `AgentError` or `CapabilityError` where the first network of all cannot be built.
        """
        combination = self.experiment.combination(planned.combination)
        trial = TrialTask(experiment=self.experiment, combination=combination, planned=planned, sequence=sequence)
        try:
            laboratory, network = self._network(trial.path, combination.topology_of(planned.path))
        except (LabError, AgentError, CapabilityError) as error:
            if not self.any_built:
                raise
            words = f"the network could not be built again: {error}"
            reason = Reason(kind=ReasonKind.NETWORK_FAILED, text=words)
            return failed_outcome(trial, reason), None
        self.any_built = True
        started_ns = time.monotonic_ns()
        if self.presence is not None:
            self.presence.next_trial()
        bypass = bypass_of(self.experiment, combination, trial.path, self.bypass)
        references = References(theory=self.theory, bypass=bypass)
        outcome = run_trial(
            trial,
            laboratory,
            network,
            references,
            keeps_packets=self.keeps_packets,
            observer=self.observer if self.observer.wants_values else None,
        )
        elapsed_ns = time.monotonic_ns() - started_ns
        if self.presence is not None:
            outcome = replace(outcome, record=self.presence.noted(outcome.record, self.directory))
        return outcome, elapsed_ns

    def has_ended(self, combination: str) -> StopRule | None:
        """None: the scheduler's own rules end a combination."""
        return None

    def last_surveys(self) -> Mapping[str | None, Survey]:
        """Empty: there are no servers."""
        return {}

    def _network(self, path: Path, index: int) -> tuple[Laboratory, Network]:
        """The network of a trial, which is told where it was built for it."""
        before = len(self.laboratories.build_ns)
        pair = self.laboratories.get(path, index)
        for elapsed_ns in self.laboratories.build_ns[before:]:
            self.observer.built(path.name, index, elapsed_ns)
        return pair
