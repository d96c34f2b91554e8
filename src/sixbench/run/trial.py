"""One trial: set up, measured, proved, recorded."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from typing import Any

from ..agent import Agent
from ..mechanisms import MECHANISMS
from ..model.errors import AgentError, LabError
from ..model.experiment import Combination, Experiment, PlannedTrial
from ..model.network import Network
from ..model.path import Path
from ..model.topology import Topology
from ..model.trial import Status, TrialRecord
from ..model.workload import Measured, Scalar, WorkloadKind
from ..model.workloads import WORKLOADS
from .cpu import agent_cores, busy_ns, clock_step_ns, core_shares, find_span, machine_cores
from .evidence import Judgement, Viewpoint, judge, link_traffic, middle_of, viewpoints
from .fragment_evidence import fragment_evidence
from .laboratory import Laboratory
from .pcapng import to_pcapng
from .tunnel_evidence import check_tunnels, drop_notes, program_times, tunnel_evidence

GRACE_NS = 15 * 10**9
"""How long a trial of a given duration may take beyond it before it counts as failed."""

UNTIMED_LIMIT_NS = 600 * 10**9
"""How long a trial of a number of bytes or transactions may take."""

FINISH_TIMEOUT_NS = 5 * 10**9

ANSWER_TIMEOUT_S = 10.0
"""How long an agent may take to answer what takes no time."""

MAX_CLOCK_STEP_NS = 10 * 10**6
"""NTP may slew by 500 ppm, 2.5 ms in 5 s; a larger difference between the clocks is a step."""

CAPTURE_PACKETS = 64
CAPTURE_SNAPLEN_BYTES = 192
"""So many packets of each link prove the path, by their headers: the deepest stack that is measured, VXLAN over IPv6
with TCP's options, takes 186."""
KEPT_PACKETS = 4096
WHOLE_PACKET_BYTES = 65535

PROGRAM_TIME_NS = 200_000_000
"""For so long from the start on, the run time of BPF programs is measured: each run takes some 20 ns longer then."""

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
    captures: list[dict[str, Any]] = field(default_factory=list)
    tunnels_before: dict[str, Any] = field(default_factory=dict)
    tunnels_after: dict[str, Any] = field(default_factory=dict)
    programs: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    cpu_before: dict[str, Any] = field(default_factory=dict)
    cpu_after: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class _Setting:
    """Where a trial takes place.

    Attributes:
        views: where it is observed, from client to server.
        is_bpf: whether programs of ours carry it.
        keeps_packets: whether the packets of every link are kept.
    """

    laboratory: Laboratory
    network: Network
    between: tuple[str, str]
    views: list[Viewpoint]
    is_bpf: bool
    keeps_packets: bool

    @property
    def snaplen_bytes(self) -> int:
        """How much of each packet is captured."""
        return WHOLE_PACKET_BYTES if self.keeps_packets else CAPTURE_SNAPLEN_BYTES

    @property
    def watched(self) -> dict[str, Agent]:
        """The nodes on the way, from client to server."""
        names = [self.between[0], *(view.segment.far for view in self.views)]
        return {name: self.laboratory.agents[name] for name in names}

    @property
    def tunnelling(self) -> dict[str, Agent]:
        """The nodes whose agents carry tunnels themselves."""
        if self.laboratory.engine == "kernel":
            return {}
        return {name: self.laboratory.agents[name] for name in self.network.encapsulators()}


Theory = Callable[[str, Mapping[str, Scalar], Path, Topology, tuple[str, str]], dict[str, float]]
"""What a path should give: workload, parameters, path, network, hosts to values by column."""


def run_trial(
    experiment: Experiment,
    combination: Combination,
    planned: PlannedTrial,
    laboratory: Laboratory,
    network: Network,
    sequence: int,
    theory: Theory,
    keeps_packets: bool = False,
) -> Outcome:
    """Runs one trial to its record: `ok`, `invalid` or `failed`. Raises only what stops the whole run: an interrupt.

    Args:
        network: the path's own; its ends are those that the workload uses.
        keeps_packets: whether the packets of every link are kept, whole, instead of headers of one link's.
    """
    path = experiment.path(planned.path)
    kind = WORKLOADS[combination.workload.kind]
    params = dict(combination.workload.params)
    started_realtime_ns, started_ns = time.time_ns(), time.monotonic_ns()
    observed = _Observed()
    views = viewpoints(network, *experiment.between)
    setting = _Setting(
        laboratory=laboratory,
        network=network,
        between=experiment.between,
        views=views,
        is_bpf=path.engine == "ebpf" and bool(network.tunnels),
        keeps_packets=keeps_packets,
    )
    failure: str | None = None
    try:
        _perform(kind, params, planned.key, setting, observed)
    except (AgentError, LabError) as error:
        failure = _with_the_dead(error, laboratory)
    expected = theory(kind.name, params, path, experiment.topologies[combination.topology], experiment.between)
    measured, judgement, status, reasons = _assess(kind, params, path, setting, observed, failure)
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
    return Outcome(record=record, series=measured.series, files=_files(setting, observed))


def _files(setting: _Setting, observed: _Observed) -> dict[str, bytes]:
    """The packets of the link that tells most; of all links where they are to be kept."""
    middle = middle_of(setting.views)
    files = {}
    for index, (view, capture) in enumerate(zip(setting.views, observed.captures, strict=False)):
        packets = capture.get("packets") or []
        if packets and (setting.keeps_packets or index == middle):
            interface = f"{view.end.name} of {view.end.node} on {view.link.name}"
            files[f"{view.link.name}.pcapng"] = to_pcapng(packets, interface, setting.snaplen_bytes)
    return files


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


def _perform(kind: WorkloadKind, params: dict[str, Scalar], key: str, setting: _Setting, observed: _Observed) -> None:
    client, server = (setting.laboratory.agents[name] for name in setting.between)
    ends = setting.network.ends
    timed_ns = expected_ns(params)
    limit_ns = UNTIMED_LIMIT_NS if timed_ns is None else timed_ns + GRACE_NS
    common = {"session": key, "workload": kind.name, "token": secrets.token_hex(16), "params": params}
    serving = {"address": str(ends.server), "peer": str(ends.client_seen)}
    port = server.call("serve", timeout_s=ANSWER_TIMEOUT_S, **serving, **common)["port"]
    captured: list[tuple[Agent, str]] = []
    try:
        _forget_path_mtus(setting)
        observed.tunnels_before = _tunnel_counters(setting)
        observed.before, observed.cpu_before = _counters(setting)
        captured = _start_captures(setting, key, int(params.get("warmup_ns", 0)), limit_ns)
        if setting.is_bpf:
            _tunnel_counters(setting, "start")
        asking = {"address": str(ends.client), "peer": str(ends.server), "port": port}
        running = client.submit("run", **asking, **common)
        if setting.is_bpf:
            wait([running], timeout=PROGRAM_TIME_NS / 1e9)
            observed.programs = _tunnel_counters(setting, "stop")
        observed.client = _wait(client, running, key, limit_ns)
        observed.server = _finish(server, key, observed.client)
    except BaseException:
        _cancel(server, key)
        raise
    finally:
        for agent, name in captured:
            with contextlib.suppress(AgentError):
                observed.captures.append(agent.call("capture-stop", timeout_s=ANSWER_TIMEOUT_S, capture=name))
        with contextlib.suppress(AgentError):
            observed.after, observed.cpu_after = _counters(setting)
            observed.tunnels_after = _tunnel_counters(setting)


def _forget_path_mtus(setting: _Setting) -> None:
    """Lets those who send packets know nothing of the path's MTU, so that a trial does not start with what the one
    before it has learned; a kernel remembers for ten minutes."""
    names = dict.fromkeys([*setting.between, *setting.network.encapsulators()])
    agents = {name: setting.laboratory.agents[name] for name in names}
    waiting = [
        (agent, agent.submit("exec", argv=["ip", family, "route", "flush", "cache"]))
        for agent in agents.values()
        for family in ("-4", "-6")
    ]
    for agent, future in waiting:
        agent.wait(future, "exec", ANSWER_TIMEOUT_S)


def _start_captures(setting: _Setting, key: str, after_ns: int, limit_ns: int) -> list[tuple[Agent, str]]:
    addresses = _all_addresses(setting)
    started = []
    for index, view in enumerate(setting.views):
        agent, name = setting.laboratory.agents[view.end.node], f"{key}-{index}"
        agent.call(
            "capture-start",
            timeout_s=ANSWER_TIMEOUT_S,
            capture=name,
            interface=view.end.name,
            addresses=addresses,
            after_ns=0 if setting.keeps_packets else after_ns,
            max_packets=KEPT_PACKETS if setting.keeps_packets else CAPTURE_PACKETS,
            max_ns=limit_ns,
            snaplen_bytes=setting.snaplen_bytes,
        )
        started.append((agent, name))
    return started


def _tunnel_counters(setting: _Setting, run_time: str | None = None) -> dict[str, Any]:
    """By node and device."""
    agents = setting.tunnelling
    futures = {name: agent.submit("tunnel-counters", run_time=run_time) for name, agent in agents.items()}
    return {
        name: agents[name].wait(future, "tunnel-counters", ANSWER_TIMEOUT_S)["tunnels"]
        for name, future in futures.items()
    }


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


def _counters(setting: _Setting) -> tuple[dict[str, Any], dict[str, Any]]:
    watched = setting.watched
    futures = {name: agent.submit("counters") for name, agent in watched.items()}
    first = next(iter(watched.values()))
    cpu = first.submit("cpu")
    return {
        name: watched[name].wait(future, "counters", ANSWER_TIMEOUT_S) for name, future in futures.items()
    }, first.wait(cpu, "cpu", ANSWER_TIMEOUT_S)


def _all_addresses(setting: _Setting) -> list[str]:
    """Of all nodes on the way and of both families, so that packets of the wrong family are seen too."""
    topology = setting.network.topology
    found = {
        str(address.ip): None
        for node in setting.watched
        for link in topology.links_of(node)
        for address in (link.end_of(node).ipv4, link.end_of(node).ipv6)
        if address is not None
    }
    return list(found)


def _assess(
    kind: WorkloadKind,
    params: dict[str, Scalar],
    path: Path,
    setting: _Setting,
    observed: _Observed,
    failure: str | None,
) -> tuple[Measured, Judgement, Status, list[str]]:
    if failure is not None:
        return Measured(), Judgement(evidence={}), "failed", [failure]
    try:
        measured = kind.summarise(params, observed.client, observed.server)
        traffic = kind.traffic(params, observed.client, observed.server)
        fragments = fragment_evidence(
            kind.name,
            params,
            setting.network,
            setting.between,
            path,
            observed.client,
            observed.server,
            observed.before,
            observed.after,
        )
        judgement = judge(
            setting.views, observed.captures, observed.before, observed.after, traffic, fragments.unreached
        )
        judgement.evidence["fragments"] = fragments.evidence
        if fragments.is_loss_foretold:
            foretold = [reason for reason in measured.invalid if not reason.startswith("tester-limited")]
            measured.notes.extend(foretold)
            measured.invalid[:] = [reason for reason in measured.invalid if reason not in foretold]
        measured.notes.extend(fragments.notes)
        tunnels = tunnel_evidence(
            setting.network,
            observed.tunnels_before,
            observed.tunnels_after,
            {node: kept["interfaces"] for node, kept in judgement.evidence["counters"].items()},
        )
        judgement.evidence["tunnels"] = tunnels
        judgement.invalid.extend(check_tunnels(setting.network, setting.between, tunnels, traffic))
        measured.notes.extend(drop_notes(tunnels))
        measured.metrics.update(program_times(observed.programs))
        _add_cpu(measured, setting.views[middle_of(setting.views)], observed)
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
