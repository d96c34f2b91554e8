"""Trials between two machines: no network is built, nothing is captured.

Such a trial proves less than one in a lab. The family is that of its sockets, the receiver counts what arrived, and a
generator that could not keep its rate is noticed. Nothing proves which path the packets took.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ..agent.requests import ClientRunRequest, Serve
from ..model.errors import AgentError, CapabilityError
from ..model.evidence import Evidence
from ..model.experiment import Experiment, PlannedTrial
from ..model.observer import Observer
from ..model.parameter import Scalar
from ..model.reason import Reason, ReasonKind
from ..model.workload import Result, WorkloadKind
from ..model.workloads import WORKLOADS
from ..plan.schedule import all_trials
from .arriving import Watching, ends_of
from .limits import limit_of_goodput
from .machines import Machines, MeasuredAddresses
from .proof.case import EndResults
from .record import TrialTask, blank_record, without_series
from .session import ANSWER_TIMEOUT_S, cancel, finish, longest_ns, wait_for_run
from .trial import Outcome, Verdict, judge
from .witnesses import judge_results

WATCHED_NS = 10**9
"""The interval of progress reports, unless the workload has one."""

_REFUSALS = ("over-limit", "busy", "refused", "bad-params", "unknown-workload", "bad-request")
"""The errors of a server that refuses a request for good."""


@dataclass(kw_only=True)
class _Results:
    client: Result = field(default_factory=dict)
    server: Result = field(default_factory=dict)


def measure(experiment: Experiment, machines: Machines, observer: Observer | None = None) -> Iterator[Outcome]:
    """Runs the trials of an experiment of `plan.measure_experiment`, and yields each when it has ended. Ends early,
    with a failed trial, where the other machine has gone away.

    Args:
        observer: is told what arrives and how senders fare, by other threads. None: nobody is asked.

    Raises `CapabilityError` where the other machine refuses such trials.
    """
    for sequence, planned in enumerate(all_trials(experiment), start=1):
        yield _trial(experiment, planned, sequence, machines, observer)
        if machines.server.ended is not None or machines.client.ended is not None:
            return


def _trial(
    experiment: Experiment, planned: PlannedTrial, sequence: int, machines: Machines, observer: Observer | None
) -> Outcome:
    [combination] = experiment.combinations
    kind = WORKLOADS[combination.workload.kind]
    params = dict(combination.workload.params)
    addresses = machines.addresses[experiment.path(planned.path).family]
    trial = TrialTask(experiment=experiment, combination=combination, planned=planned, sequence=sequence)
    record = blank_record(trial)
    started_ns = time.monotonic_ns()
    results = _Results()
    try:
        _perform(kind, params, planned, machines, addresses, results, observer)
    except AgentError as error:
        reason = Reason(kind=ReasonKind.AGENT_FAILED, text=_why(error, machines))
        verdict = Verdict(status="failed", reasons=[reason])
    else:
        verdict = assess(kind, params, results.client, results.server)
    measured = verdict.measured
    record = replace(
        record,
        status=verdict.status,
        reasons=verdict.reasons,
        notes=measured.notes,
        elapsed_ns=time.monotonic_ns() - started_ns,
        metrics=measured.metrics,
        limited_by=verdict.limited_by,
        histograms=measured.histograms,
        evidence=Evidence(proved=False, client=addresses.client, server=addresses.server),
        client=without_series(results.client),
        server=without_series(results.server),
    )
    return Outcome(record=record, series=measured.series)


def _perform(
    kind: WorkloadKind,
    params: dict[str, Scalar],
    planned: PlannedTrial,
    machines: Machines,
    addresses: MeasuredAddresses,
    results: _Results,
    observer: Observer | None,
) -> None:
    """Runs the workload and fills `results`. Raises `AgentError`, or `CapabilityError` where the server refuses."""
    client, server, key = machines.client, machines.server, planned.key
    asked = kind.agent_params(params)
    serve = Serve(
        session=key, workload=kind.served_by, token=secrets.token_hex(16), params=asked, address=addresses.server
    )
    try:
        served = server.answer(serve, timeout_s=ANSWER_TIMEOUT_S)
    except AgentError as error:
        if error.code in _REFUSALS:
            raise CapabilityError(str(error)) from error
        raise
    watching = Watching(
        ends_of(kind.served_by, asked, client=client, server=server),
        key,
        key,
        every_ns=int(params.get("interval_ns", WATCHED_NS)),
        until_ns=int(params["duration_ns"]) if "duration_ns" in params else None,
        observer=observer,
    )
    try:
        running = client.ask(
            ClientRunRequest(
                session=key,
                workload=serve.workload,
                token=serve.token,
                params=asked,
                address=addresses.with_zone(addresses.client),
                peer=addresses.server,
                port=served.port,
                cookie=served.cookie,
                certificate=served.certificate,
            )
        )
        with watching:
            results.client = wait_for_run(client, running, key, longest_ns(params))
        results.server = finish(server, key, kind.served_by, asked, results.client)
    except BaseException:
        cancel(server, key)
        raise


def assess(kind: WorkloadKind, params: dict[str, Scalar], client: Result, server: Result) -> Verdict:
    """The judgement on a trial by the results of both agents, as all kinds of evidence have it. Only traffic that went
    as fast as it could has a limit."""
    traffic = kind.traffic(params, client, server)
    results = EndResults(kind=kind, params=params, client=client, server=server, traffic=traffic)
    verdict = judge(results, judge_results(results))
    limited_by = None if params.keys() & {"rate_bps", "rate_pps"} else verdict.limited_by
    return replace(verdict, limited_by=limit_of_goodput(verdict.measured, {}, limited_by))


def _why(error: AgentError, machines: Machines) -> str:
    """The error of a trial. Where the other machine has gone away, that comes first: the agent here only notices that
    its peer has."""
    if machines.server.ended is None:
        return str(error)
    text = machines.server.last_sentence
    return f"{machines.target.host} was lost during the trial: {text or machines.server.ended}"
