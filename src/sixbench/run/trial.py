"""One trial: set up, measured, proved, recorded."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from ..agent import Agent
from ..lab.mechanisms import MECHANISMS
from ..model.errors import AgentError, LabError
from ..model.experiment import Combination, Experiment, PlannedTrial
from ..model.path import Path
from ..model.topology import Topology
from ..model.trial import Status, TrialRecord
from ..model.workload import Measured, Scalar, WorkloadKind
from ..model.workloads import WORKLOADS
from .cpu import agent_cores, busy_ns, clock_step_ns, core_shares, find_span, machine_cores
from .evidence import (
    CAPTURE_PACKETS,
    CAPTURE_SNAPLEN_BYTES,
    Judgement,
    Viewpoint,
    judge,
    link_traffic,
    to_pcap,
    viewpoint,
)
from .laboratory import Laboratory, end_addresses

GRACE_NS = 15 * 10**9
"""How long a trial of a given duration may take beyond it before it counts as failed."""

UNTIMED_LIMIT_NS = 600 * 10**9
"""How long a trial of a number of bytes or transactions may take."""

FINISH_TIMEOUT_NS = 5 * 10**9

ANSWER_TIMEOUT_S = 10.0
"""How long an agent may take to answer what takes no time."""

MAX_CLOCK_STEP_NS = 10 * 10**6
"""NTP may slew by 500 ppm, 2.5 ms in 5 s; a larger difference between the clocks is a step."""

SATURATED_CORE = 0.97
PATH_LIMITED_SHARE = 0.97
"""From this share of the theoretical goodput on, the path was the limit."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A trial as it is to be stored."""

    record: TrialRecord
    series: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass(kw_only=True)
class _Observed:
    """What was gathered so far; a failure leaves the rest empty."""

    client: dict[str, Any] = field(default_factory=dict)
    server: dict[str, Any] = field(default_factory=dict)
    capture: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    cpu_before: dict[str, Any] = field(default_factory=dict)
    cpu_after: dict[str, Any] = field(default_factory=dict)


Theory = Callable[[str, Mapping[str, Scalar], Path, Topology, tuple[str, str]], dict[str, float]]
"""What a path should give: workload, parameters, path, network, hosts to values by column."""


def run_trial(
    experiment: Experiment,
    combination: Combination,
    planned: PlannedTrial,
    laboratory: Laboratory,
    sequence: int,
    theory: Theory,
) -> Outcome:
    """Runs one trial to its record: `ok`, `invalid` or `failed`. Raises only what stops the whole run: an interrupt."""
    path = experiment.path(planned.path)
    kind = WORKLOADS[combination.workload.kind]
    params = dict(combination.workload.params)
    started_realtime_ns, started_ns = time.time_ns(), time.monotonic_ns()
    observed = _Observed()
    view = viewpoint(laboratory.topology, *experiment.between)
    failure: str | None = None
    try:
        _perform(experiment, kind, params, path, planned.key, laboratory, view, observed)
    except (AgentError, LabError) as error:
        failure = _with_the_dead(error, laboratory)
    expected = theory(kind.name, params, path, laboratory.topology, experiment.between)
    measured, judgement, status, reasons = _assess(kind, params, path, view, observed, failure)
    limited_by = _limited_by(measured, expected, observed)
    if status == "ok" and experiment.bottleneck == "path" and limited_by == "cpu":
        status = "invalid"
        reasons = [f"the machine's CPU rather than the path was the limit: {_goodput_words(measured, expected)}"]
    record = replace(
        _record(experiment, combination, planned, sequence),
        status=status,
        reasons=reasons,
        notes=measured.notes,
        started_realtime_ns=started_realtime_ns,
        elapsed_ns=time.monotonic_ns() - started_ns,
        metrics=measured.metrics,
        theory=expected,
        limited_by=limited_by,
        histograms=measured.histograms,
        evidence=judgement.evidence,
        client=_without_series(observed.client),
        server=_without_series(observed.server),
    )
    packets = observed.capture.get("packets") or []
    files = {f"{view.link.name}.pcap": to_pcap(packets)} if packets else {}
    return Outcome(record=record, series=measured.series, files=files)


def failed_outcome(
    experiment: Experiment, combination: Combination, planned: PlannedTrial, sequence: int, reason: str
) -> Outcome:
    """The record of a trial that could not even start."""
    return Outcome(record=replace(_record(experiment, combination, planned, sequence), reasons=[reason]))


def _record(experiment: Experiment, combination: Combination, planned: PlannedTrial, sequence: int) -> TrialRecord:
    """What a trial is, before anything is known of how it went."""
    path = experiment.path(planned.path)
    return TrialRecord(
        key=planned.key,
        sequence=sequence,
        block=planned.block,
        combination=combination.name,
        path=path.name,
        mechanism=path.mechanism,
        engine=path.engine or MECHANISMS[path.mechanism].engines[0],
        workload=combination.workload.kind,
        params=dict(combination.workload.params),
        levels=dict(combination.levels),
        status="failed",
        started_realtime_ns=time.time_ns(),
        elapsed_ns=0,
    )


def expected_ns(params: Mapping[str, Scalar]) -> int | None:
    """How long the measuring of a trial takes; None where it is not given as a time."""
    if "duration_ns" not in params:
        return None
    return int(params["duration_ns"]) + int(params.get("warmup_ns", 0))


def _perform(
    experiment: Experiment,
    kind: WorkloadKind,
    params: dict[str, Scalar],
    path: Path,
    key: str,
    laboratory: Laboratory,
    view: Viewpoint,
    observed: _Observed,
) -> None:
    client_name, server_name = experiment.between
    client, server = laboratory.agents[client_name], laboratory.agents[server_name]
    observer = laboratory.agents[view.end.node]
    watched = _nodes_on_the_way(laboratory, client_name, server_name)
    client_address, server_address = end_addresses(laboratory.topology, client_name, server_name, path.family)
    token = secrets.token_hex(16)
    timed_ns = expected_ns(params)
    limit_ns = UNTIMED_LIMIT_NS if timed_ns is None else timed_ns + GRACE_NS

    common = {"session": key, "workload": kind.name, "token": token, "params": params}

    port = server.call("serve", timeout_s=ANSWER_TIMEOUT_S, address=server_address, peer=client_address, **common)[
        "port"
    ]
    try:
        observed.before, observed.cpu_before = _counters(watched, observer)
        observer.call(
            "capture-start",
            timeout_s=ANSWER_TIMEOUT_S,
            capture=key,
            interface=view.end.name,
            addresses=_all_addresses(laboratory.topology, client_name, server_name),
            after_ns=int(params.get("warmup_ns", 0)),
            max_packets=CAPTURE_PACKETS,
            max_ns=limit_ns,
            snaplen_bytes=CAPTURE_SNAPLEN_BYTES,
        )
        running = client.submit("run", address=client_address, peer=server_address, port=port, **common)
        observed.client = _wait(client, running, key, limit_ns)
        observed.server = _finish(server, key, observed.client)
    except BaseException:
        _cancel(server, key)
        raise
    finally:
        with contextlib.suppress(AgentError):
            observed.capture = observer.call("capture-stop", timeout_s=ANSWER_TIMEOUT_S, capture=key)
        with contextlib.suppress(AgentError):
            observed.after, observed.cpu_after = _counters(watched, observer)


def _finish(server: Agent, key: str, client_result: Mapping[str, Any]) -> dict[str, Any]:
    timeout_s = FINISH_TIMEOUT_NS / 1e9 + ANSWER_TIMEOUT_S
    sent = client_result.get("sent")
    try:
        return server.call("finish", timeout_s=timeout_s, session=key, sent=sent, timeout_ns=FINISH_TIMEOUT_NS)
    except AgentError as error:
        raise AgentError(error.code, f"after the client had finished, {error}") from error


def _wait(client: Agent, running: Future[dict[str, Any]], key: str, limit_ns: int) -> dict[str, Any]:
    try:
        return client.wait(running, "run", limit_ns / 1e9)
    except AgentError as error:
        if error.code != "agent-silent":
            raise
        _cancel(client, key)
        raise AgentError("timeout", f"the trial took longer than {limit_ns / 1e9:.0f} s and was stopped") from None
    except BaseException:
        _cancel(client, key)
        raise


def _cancel(agent: Agent, key: str) -> None:
    with contextlib.suppress(AgentError):
        agent.call("cancel", session=key, timeout_s=5)


def _with_the_dead(error: Exception, laboratory: Laboratory) -> str:
    """What went wrong, and first which agents have died: the others only notice that a peer is gone."""
    dead = [str(agent.ended) for agent in laboratory.agents.values() if agent.ended is not None]
    return "; ".join(dict.fromkeys([*dead, str(error)]))


def _counters(watched: dict[str, Agent], observer: Agent) -> tuple[dict[str, Any], dict[str, Any]]:
    futures = {name: agent.submit("counters") for name, agent in watched.items()}
    cpu = observer.submit("cpu")
    return {
        name: watched[name].wait(future, "counters", ANSWER_TIMEOUT_S) for name, future in futures.items()
    }, observer.wait(cpu, "cpu", ANSWER_TIMEOUT_S)


def _nodes_on_the_way(laboratory: Laboratory, client: str, server: str) -> dict[str, Agent]:
    route = laboratory.topology.route(client, server) or []
    names = [client]
    for link in route:
        names.append(link.other_end(names[-1]).node)
    return {name: laboratory.agents[name] for name in names}


def _all_addresses(topology: Topology, client: str, server: str) -> list[str]:
    """Of both hosts and both families, so that packets of the wrong family are seen too."""
    return [
        str(address.ip)
        for node in (client, server)
        for link in topology.links_of(node)
        for address in (link.end_of(node).ipv4, link.end_of(node).ipv6)
        if address is not None
    ]


def _assess(
    kind: WorkloadKind, params: dict[str, Scalar], path: Path, view: Viewpoint, observed: _Observed, failure: str | None
) -> tuple[Measured, Judgement, Status, list[str]]:
    if failure is not None:
        return Measured(), Judgement(evidence={}), "failed", [failure]
    try:
        measured = kind.summarise(params, observed.client, observed.server)
        traffic = kind.traffic(params, observed.client, observed.server)
        judgement = judge(view, MECHANISMS[path.mechanism], observed.capture, observed.before, observed.after, traffic)
        _add_cpu(measured, view, observed)
        steps_ns = [clock_step_ns(span) for span in map(find_span, (observed.client, observed.server)) if span]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        words = f"the agents' results are not of the expected form: {error!r}"
        return Measured(), Judgement(evidence={}), "failed", [words]
    strays = observed.server.get("strays") or {}
    measured.notes.extend(f"{count} stray {what} were refused or ignored" for what, count in strays.items() if count)
    reasons = [*measured.invalid, *judgement.invalid]
    step_ns = max(steps_ns, key=abs, default=0)
    if abs(step_ns) > MAX_CLOCK_STEP_NS:
        reasons.append(f"the realtime clock was stepped by {step_ns / 1e6:.1f} ms during the trial")
    return measured, judgement, "invalid" if reasons else "ok", reasons


def _add_cpu(measured: Measured, view: Viewpoint, observed: _Observed) -> None:
    server_span, client_span = find_span(observed.server), find_span(observed.client)
    span = server_span if "forward_receiver" in observed.server or "unique" in observed.server else client_span
    if span is not None:
        machine = machine_cores(span)
        for name, cores in machine.items():
            measured.metrics[f"cpu_{name}_cores"] = cores
        own_both = [agent_cores(own) for own in (client_span, server_span) if own is not None]
        if machine and None not in own_both:
            # Soft interrupts are the network's; what is left of user and system time is other programs'.
            ours = sum(cores for cores in own_both if cores is not None)
            measured.metrics["cpu_other_cores"] = max(0.0, machine["user"] + machine["system"] - ours)
    for side, own in (("client", client_span), ("server", server_span)):
        own_cores = None if own is None else agent_cores(own)
        if own_cores is not None:
            measured.metrics[f"cpu_{side}_cores"] = own_cores
    if not (observed.cpu_before and observed.cpu_after and observed.before and observed.after):
        return
    spent_ns = busy_ns({"from": observed.cpu_before, "to": observed.cpu_after})
    packets, carried_bytes = link_traffic(view, observed.before, observed.after) or (0, 0)
    if spent_ns is not None and packets and carried_bytes:
        measured.metrics["cpu_per_packet_ns"] = spent_ns / packets
        measured.metrics["cpu_per_byte_ns"] = spent_ns / carried_bytes


def _limited_by(measured: Measured, expected: Mapping[str, float], observed: _Observed) -> str | None:
    goodput, limit = measured.metrics.get("goodput_bps"), expected.get("goodput_bps")
    if goodput is None:
        return None
    if limit is not None and goodput >= PATH_LIMITED_SHARE * limit:
        return "path"
    span = find_span(observed.server) or find_span(observed.client)
    shares = core_shares(span) if span is not None else []
    if shares and max(shares) >= SATURATED_CORE:
        return "cpu"
    return None


def _goodput_words(measured: Measured, expected: Mapping[str, float]) -> str:
    goodput, limit = measured.metrics.get("goodput_bps", 0.0), expected.get("goodput_bps")
    words = f"{goodput / 1e6:.1f} Mbit/s with a core saturated"
    return words + (f", where the path allows {limit / 1e6:.1f} Mbit/s" if limit else "")


def _without_series(result: dict[str, Any]) -> dict[str, Any]:
    """A result as a record keeps it: without what is stored elsewhere (series, histograms' buckets)."""
    kept = {}
    for key, value in result.items():
        if not isinstance(value, dict):
            kept[key] = value
        elif key != "series" and "buckets" not in value:
            kept[key] = _without_series(value)
    return kept
