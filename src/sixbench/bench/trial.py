"""One trial: prepared, witnessed, performed, judged, recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..model.bypass import Bypass, bypassed_column, is_tester_limited
from ..model.errors import AgentError, LabError
from ..model.evidence import NO_EVIDENCE, Evidence, joined
from ..model.experiment import LinkChange
from ..model.network import Network
from ..model.observer import Observer
from ..model.parameter import Scalar
from ..model.path import Path
from ..model.programs import has_program
from ..model.reason import Reason, ReasonKind
from ..model.recorded_page import RecordedPage
from ..model.topology import Topology
from ..model.trial import Status, TrialRecord
from ..model.workload import Transport, TrialMeasurements
from ..model.workloads import WORKLOADS
from .by_machine import namespaces
from .events import Events
from .laboratory import Laboratory
from .limits import limit_of_goodput, not_the_path
from .parts import parts_of
from .preparing import make_ready, prepare
from .program_ends import DEVICE_FAILED
from .proof.case import Case, EndResults, Testimony
from .record import TrialTask, blank_record, without_series
from .setting import TrialSetting
from .traffic import perform
from .witnesses import Witnesses
from .workloads.performer import Performance


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A trial in the form in which it is stored."""

    record: TrialRecord
    series: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)


Theory = Callable[
    [str, Mapping[str, Scalar], Path, Topology, tuple[str, str], Sequence[LinkChange], Mapping[str, RecordedPage]],
    dict[str, float],
]
"""A function that gives the values that theory expects, by column, from workload, parameters, path, network, hosts, the
changes of links, and the recorded pages."""


@dataclass(frozen=True, kw_only=True)
class References:
    """References for the results of a trial.

    Attributes:
        bypass: what the tester can do of this workload. None: this is not known.
    """

    theory: Theory
    bypass: Bypass | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The judgement on a trial.

    Attributes:
        limited_by: what was the limit of the traffic, as a witness saw.
    """

    status: Status
    reasons: list[Reason]
    measured: TrialMeasurements = field(default_factory=TrialMeasurements)
    evidence: Evidence = NO_EVIDENCE
    limited_by: str | None = None


def run_trial(
    trial: TrialTask,
    laboratory: Laboratory,
    network: Network,
    references: References,
    *,
    keeps_packets: bool = False,
    observer: Observer | None = None,
) -> Outcome:
    """Runs one trial and gives its record: `ok`, `invalid` or `failed`. It raises only what stops the whole run, such
    as an interrupt.

    Args:
        network: the path's own; its legs are those that the workload uses.
        keeps_packets: whether the packets of every link are kept, whole, instead of headers of one link's.
        observer: is told what arrives and how senders fare, by other threads. None: nobody is asked.
    """
    blank = replace(blank_record(trial), started_realtime_ns=time.time_ns())
    started_ns = time.monotonic_ns()
    setting = prepare(trial, laboratory, network, keeps_packets=keeps_packets)
    witnesses, performance = Witnesses(), Performance()
    failure: Reason | None = None
    try:
        setting = make_ready(setting)
        witnesses = Witnesses.of(setting)
        networks = [setting.network, *setting.remaining]
        with witnesses.observing(), Events(laboratory, setting.events, networks) as events:
            performance = perform(setting, setting.params | witnesses.params, events, witnesses, observer)
    except (AgentError, LabError) as error:
        failure = _failure(error, laboratory)
    if failure is None and witnesses.unanswered:
        failure = _failure(witnesses.unanswered[0], laboratory)
    failure = witnesses.failure or failure
    if failure is not None:
        verdict = Verdict(status="failed", reasons=[*witnesses.causes, failure])
    else:
        case = _case(trial, setting, performance, witnesses)
        verdict = judge(case, witnesses.testimonies(case), witnesses.causes)
    record = replace(
        witnesses.add_to(_compared(blank, trial, setting, verdict, references)),
        elapsed_ns=time.monotonic_ns() - started_ns,
        client=without_series(performance.client),
        server=without_series(performance.server),
    )
    return Outcome(record=record, series=verdict.measured.series, files=witnesses.files)


def _failure(error: AgentError | LabError, laboratory: Laboratory) -> Reason:
    """The reason why a trial has failed in which this happened."""
    kind = ReasonKind.AGENT_FAILED if isinstance(error, AgentError) else ReasonKind.NETWORK_FAILED
    if isinstance(error, AgentError) and error.code == DEVICE_FAILED:
        kind = ReasonKind.DEVICE_ENDED
    return Reason(kind=kind, text=laboratory.error_with_causes(error))


def _case(trial: TrialTask, setting: TrialSetting, performance: Performance, witnesses: Witnesses) -> Case:
    """The trial as it is to be judged, without anybody who could be asked."""
    kind, params = setting.kind, setting.params | witnesses.params
    return Case(
        kind=kind,
        params=params,
        path=trial.path,
        network=setting.network,
        views=setting.views,
        between=setting.between,
        nodes=namespaces(setting.laboratory.agents),
        margin=trial.experiment.statistics.margin_of(trial.combination.workload.kind),
        client=performance.client,
        server=performance.server,
        traffic=kind.traffic(params, performance.client, performance.server),
        transports=frozenset[Transport]().union(
            *(WORKLOADS[part.workload].transports_of(part.params) for part in parts_of(kind, params))
        ),
        due=setting.events,
        happened=performance.events,
        forgotten=performance.forgotten,
        observations=witnesses.observations,
    )


def judge(results: EndResults, testimonies: Iterable[Testimony], causes: Sequence[Reason] = ()) -> Verdict:
    """The judgement on a trial that was performed: the testimonies of all witnesses beside what its workload measured.

    Args:
        causes: reasons that explain all others, and come first.
    """
    given = list(testimonies)
    measured = next((item.measured for item in given if item.measured is not None), None)
    if measured is None:
        measured = results.kind.summarise(results.params, results.client, results.server)
    for testimony in given:
        for excuse in testimony.excuses:
            measured.excuse(excuse)
        measured.notes.extend(testimony.notes)
        measured.metrics.update(testimony.metrics)
    reasons = [*causes, *measured.invalid, *(reason for testimony in given for reason in testimony.reasons)]
    return Verdict(
        status="invalid" if reasons else "ok",
        reasons=reasons,
        measured=measured,
        evidence=joined(testimony.evidence for testimony in given),
        limited_by=next((item.limited_by for item in given if item.limited_by is not None), None),
    )


def _compared(
    record: TrialRecord, trial: TrialTask, setting: TrialSetting, verdict: Verdict, references: References
) -> TrialRecord:
    """The record with the verdict, beside theory and what the tester can do; and what limited the trial by these."""
    experiment, combination, kind, params = trial.experiment, trial.combination, setting.kind, setting.params
    topology = experiment.topologies[combination.topology_of(trial.planned.path)]
    asked = kind.agent_params(params)
    # Theory is that of sixbench's own ends.
    theory = (
        {}
        if has_program(params)
        else references.theory(
            kind.served_by, asked, trial.path, topology, experiment.between, combination.events, experiment.pages
        )
    )
    measured, status, reasons = verdict.measured, verdict.status, verdict.reasons
    column, bypass = bypassed_column(kind, params), references.bypass
    tester = {column: bypass.metrics[column]} if bypass and column and column in bypass.metrics else {}
    limited_by = limit_of_goodput(measured, theory, verdict.limited_by)
    if limited_by != "path" and column and is_tester_limited(column, measured.metrics, tester):
        limited_by = "tester"
    if status == "ok" and experiment.bottleneck == "path" and limited_by in ("cpu", "tester"):
        status, reasons = "invalid", [not_the_path(limited_by, measured, theory)]
    return replace(
        record,
        params=params,
        status=status,
        reasons=reasons,
        notes=measured.notes,
        metrics=measured.metrics,
        uncertainty=measured.uncertainty,
        theory=theory,
        bypass=tester,
        limited_by=limited_by,
        histograms=measured.histograms,
        evidence=verdict.evidence,
    )


def failed_outcome(trial: TrialTask, reason: Reason) -> Outcome:
    """The record of a trial that could not start."""
    return Outcome(record=replace(blank_record(trial), reasons=[reason]))
