"""Runs single trials of an experiment with servers, whoever chooses them: another kind of network beneath the
scheduler."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...agent import Agent, AgentHub
from ...agent.requests import VantageRequest
from ...model.errors import AgentError, CapabilityError
from ...model.evidence import Evidence
from ...model.experiment import Combination, Experiment, PlannedTrial
from ...model.host import Host
from ...model.observer import Observer, StopRule
from ...model.reason import Reason, ReasonKind
from ...model.survey import ServerAddresses, Survey, family_name
from ...model.trial import Status, TrialRecord
from ..other_runs import Presence
from ..record import TrialTask, blank_record
from ..trial import Outcome
from .hiding import Hiding, HidingNothing, hidden_survey
from .probes import PROBERS
from .probes.prober import FailureCount, Probed, ProbedServer, Refuser, attempts_of
from .rests import ServerRests
from .surveying import look_again, vantage_of
from .vantages import start_at, unreached


@dataclass(kw_only=True)
class ServerRunner:
    """The trials of an experiment with servers, one after the other, in the network namespace that each vantage has.

    Attributes:
        surveys: the addresses that are pinned for the run, by vantage; None as a vantage is this machine.
        done: the records of trials before a run goes on.
        presence: this run among others of the machine, for the records; None: nobody knows of others.
        directory: where a page can look at this run, by device and inode; None: nowhere on this machine.
    """

    hub: AgentHub
    experiment: Experiment
    surveys: Mapping[str | None, Survey]
    observer: Observer
    presence: Presence | None
    directory: tuple[int, int] | None
    done: Sequence[TrialRecord] = ()
    failures: FailureCount = field(default_factory=FailureCount)
    rests: ServerRests = field(default_factory=ServerRests)
    _agents: dict[str | None, Agent] = field(default_factory=dict)
    _hiding: Hiding = field(default_factory=lambda: Hiding(()))
    _is_hidden: set[str | None] = field(default_factory=set)
    _warm: set[tuple[Agent, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._combinations = {combination.name: combination for combination in self.experiment.combinations}
        # A server that has refused is not asked anew by a run that goes on.
        for record in sorted(self.done, key=lambda record: record.sequence):
            combination = self._combinations[record.combination]
            self.failures.note(combination, record.path, _refusers(combination), attempts_of(record.client))

    def run(self, planned: PlannedTrial, sequence: int) -> tuple[Outcome, int | None]:
        """A trial, and how long it took; None where its vantage could not be reached. Raises `AgentError` where no
        agent can be started on this machine."""
        combination = self._combinations[planned.combination]
        trial = TrialTask(experiment=self.experiment, combination=combination, planned=planned, sequence=sequence)
        vantage = self.experiment.vantage_of(combination)
        record = replace(blank_record(trial), started_realtime_ns=time.time_ns())
        try:
            agent = self._living(vantage)
        except (AgentError, CapabilityError) as error:
            if vantage is None or vantage.ssh is None:
                raise
            words = unreached(vantage, error, hides_addresses=self.experiment.hides_addresses)
            return Outcome(record=_failed(record, words)), None
        if self.presence is not None:
            self.presence.next_trial()
        record = replace(record, started_realtime_ns=time.time_ns())
        started_ns = time.monotonic_ns()
        record = self._measured(agent, trial, record)
        elapsed_ns = time.monotonic_ns() - started_ns
        record = replace(record, elapsed_ns=elapsed_ns)
        if self.presence is not None:
            record = self.presence.noted(record, self.directory)
        return Outcome(record=record), elapsed_ns

    def has_ended(self, combination: str) -> StopRule | None:
        """The rule by which a combination has no more trials. None: it goes on."""
        known = self._combinations[combination]
        if self.failures.is_refused(known, _refusers(known)):
            return "refused"
        is_decided = self.experiment.blocks.until is not None and self.failures.has_failed(combination)
        return "decided" if is_decided else None

    def last_surveys(self) -> Mapping[str | None, Survey]:
        """The surveys with the addresses and the paths of the end of the run, by vantage; without those that cannot be
        read."""
        vantages: Sequence[Host | None] = self.experiment.vantages or (None,)
        surveys = {_name(vantage): self._last_survey(vantage) for vantage in vantages}
        return {name: survey for name, survey in surveys.items() if survey is not None}

    def _last_survey(self, vantage: Host | None) -> Survey | None:
        try:
            agent = self._living(vantage)
            survey = look_again(agent, self.experiment, self.surveys[_name(vantage)])
            if not self.experiment.hides_addresses:
                return survey
            hiding = self._hiding_of(agent, vantage)
            hiding.learn(_addresses(agent))
        except (AgentError, CapabilityError):
            return None
        return hidden_survey(survey, hiding)

    def _warm_up(self, agent: Agent, trial: TrialTask, target: ProbedServer) -> None:
        """One attempt that does not count, the first time that this agent does a workload: its code is read from the
        disk then. Raises `AgentError`."""
        name = trial.kind.offer_name(trial.combination.workload.params)
        if (agent, name) not in self._warm:
            self._warm.add((agent, name))
            PROBERS[trial.kind.name].ask(agent, target, trial.combination.workload.params | {"count": 1})

    def _hiding_of(self, agent: Agent, vantage: Host | None) -> Hiding:
        """The addresses to hide, which the surveys of the manifest no longer have: those of a vantage, and of the ones
        before it. Raises `AgentError`."""
        if _name(vantage) not in self._is_hidden:
            self._hiding.learn(_addresses(agent))
            self._is_hidden.add(_name(vantage))
        return self._hiding

    def _living(self, vantage: Host | None) -> Agent:
        """The agent of a vantage, or a new one where that has ended. Raises `AgentError` or `CapabilityError`."""
        agent = self._agents.get(_name(vantage))
        if agent is None or not agent.alive:
            agent = self._agents[_name(vantage)] = start_at(self.hub, vantage)
        return agent

    def _measured(self, agent: Agent, trial: TrialTask, record: TrialRecord) -> TrialRecord:
        server = self.experiment.server_of(trial.combination)
        vantage = self.experiment.vantage_of(trial.combination)
        surveyed = self.surveys[_name(vantage)].server(server.label)
        entry = surveyed.families[family_name(trial.path.family)]
        params = dict(trial.combination.workload.params)
        prober = PROBERS[trial.kind.name]
        target = ProbedServer(
            server=server,
            address=entry.address or server.name,
            family=trial.path.family,
            mine=surveyed.mine,
            resolver=self.experiment.resolver,
        )
        try:
            hiding = self._hiding_of(agent, vantage) if self.experiment.hides_addresses else HidingNothing()
        except AgentError as error:
            return _failed(record, f"the addresses to hide are not known ({error.code})")
        if not target.mine:
            self.rests.wait(target.address, _name(vantage))
        try:
            self._warm_up(agent, trial, target)
            probed = prober.ask(agent, target, params)
        except AgentError as error:
            return _failed(record, hiding.text(str(error)))
        self.rests.note(target.address, _name(vantage), probed)
        hiding.learn(probed.sources)
        refusers = _refusers(trial.combination)
        self.failures.note(trial.combination, trial.path.name, refusers, attempts_of(probed.result))
        measured = prober.measurements(params, probed)
        reasons = [*measured.invalid, *_reasons(probed, entry, hiding)]
        status: Status = "invalid" if reasons else "ok"
        client = probed.source or entry.source
        return replace(
            record,
            status=status,
            reasons=reasons,
            notes=[hiding.text(note) for note in (*measured.notes, *_stray_notes(probed))],
            metrics=measured.metrics,
            histograms=measured.histograms,
            evidence=Evidence(proved=False, client=client and hiding.text(client), server=target.address),
            client=hiding.value(probed.result),
        )


def _name(vantage: Host | None) -> str | None:
    return None if vantage is None else vantage.name


def _failed(record: TrialRecord, why: str) -> TrialRecord:
    return replace(record, status="failed", reasons=[Reason(kind=ReasonKind.AGENT_FAILED, text=why)])


def _refusers(combination: Combination) -> tuple[Refuser, ...]:
    return PROBERS[combination.workload.kind].refusers(combination.workload.params)


def _addresses(agent: Agent) -> list[str]:
    """The addresses that an agent's machine has now. Raises `AgentError`."""
    vantage = vantage_of(agent.answer(VantageRequest(ask_nat64=False)))
    return [item.address for item in vantage.addresses]


def _reasons(probed: Probed, entry: ServerAddresses, hiding: Hiding) -> list[Reason]:
    """The reasons for which a trial is not what it claims."""
    if not probed.attempts:
        return [Reason(kind=ReasonKind.NOTHING_SENT, text="no attempt was made")]
    if probed.is_unsent:
        because = next((f" ({attempt.reason})" for attempt in probed.attempts if attempt.reason), "")
        return [Reason(kind=ReasonKind.NOTHING_SENT, text=f"this machine sends nothing there{because}")]
    interface = probed.interface and hiding.text(probed.interface)
    if interface is not None and entry.interface is not None and interface != entry.interface:
        words = f"packets left by {interface}, and when the run began by {entry.interface}"
        return [Reason(kind=ReasonKind.OTHER_PATH, text=words)]
    return []


def _stray_notes(probed: Probed) -> list[str]:
    if not probed.strays:
        return []
    return [f"{probed.strays} packets of somebody else came and were not counted"]
