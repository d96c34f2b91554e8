"""One trial: set up, measured, proved, recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..mechanisms import legs_of
from ..mechanisms.asking import asked_prefix, asks_resolver, with_questions
from ..model.bypass import Bypass, bypassed_column, is_tester_limited
from ..model.errors import AgentError, LabError
from ..model.evidence import NO_EVIDENCE
from ..model.evidence.arrivals import ArrivedSegments
from ..model.evidence.fragments import Fragments
from ..model.evidence.links import LinkEvent
from ..model.experiment import LinkChange
from ..model.metric import METRICS, SESSION_MEMORY, TEARDOWN_RATE
from ..model.network import Network
from ..model.observer import Observer
from ..model.parameter import Scalar
from ..model.path import Path
from ..model.reason import Excuse, Reason, ReasonKind
from ..model.topology import Topology
from ..model.trial import Status, TrialRecord
from ..model.units import format_duration
from ..model.workload import Measured, Result, Workload, WorkloadKind
from ..model.workloads import WORKLOADS
from ..model.workloads.dns64 import PREFIX
from .by_machine import namespaces
from .cpu import clock_step_ns, find_span, processors
from .frame_networks import told_networks
from .frame_stamps import told_stamps
from .laboratory import Laboratory
from .observed import Observed
from .one_way import OneWay
from .parts import parts_of
from .processors import placement_of
from .proof.discovered import dhcp_evidence, discovered_prefixes, without_questions
from .proof.emulation import assess, lost_places
from .proof.fragments import FragmentEvidence, fragment_evidence
from .proof.link_state import link_failures
from .proof.losses import loss_evidence
from .proof.packets import Judgement, judge, middle_of, silent_notes, viewpoints
from .proof.pcapng import to_pcapng
from .proof.programs import ended_programs, program_evidence
from .proof.relays import relay_evidence
from .proof.segments import segment_evidence
from .proof.sessions import judge_sessions, session_evidence, session_memory_bytes, teardown_rate_per_s
from .proof.strays import judge_strays
from .proof.timers import judge_timers, timer_evidence
from .proof.translators import check_translators, translation_notes, translator_evidence
from .proof.tunnels import check_tunnels, drop_notes, program_times, tunnel_evidence
from .record import Trial, blank_record, without_series
from .spent import add_spent, is_saturated
from .traffic import Setting, perform

MAX_CLOCK_STEP_NS = 10 * 10**6
"""NTP may slew by 500 ppm, 2.5 ms in 5 s; a larger difference between the clocks is a step."""

PATH_LIMITED_SHARE = 0.97
"""The share of the theoretical goodput from which on the path was the limit."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A trial in the form in which it is stored."""

    record: TrialRecord
    series: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)


Theory = Callable[[str, Mapping[str, Scalar], Path, Topology, tuple[str, str], Sequence[LinkChange]], dict[str, float]]
"""A function that gives the values that theory expects, by column, from workload, parameters, path, network and
hosts."""


@dataclass(frozen=True, kw_only=True)
class References:
    """References for the results of a trial.

    Attributes:
        bypass: what the tester can do of this workload. None: this is not known.
    """

    theory: Theory
    bypass: Bypass | None = None


def run_trial(
    trial: Trial,
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
    experiment, combination, planned = trial.experiment, trial.combination, trial.planned
    path, kind, bypass = trial.path, trial.kind, references.bypass
    placement = placement_of(experiment, combination.workload)
    params = kind.placed(_with_seed(kind, combination.workload.params, experiment.seed + planned.block), placement)
    if kind.asks_resolver:
        params = {PREFIX.column: str(asked_prefix(path)), **params}
    if asks_resolver(Workload(kind=kind.name, params=params)):
        network = with_questions(path, network)
    params |= told_networks(kind, params, network)
    params |= told_stamps(kind, network)
    started_realtime_ns, started_ns = time.time_ns(), time.monotonic_ns()
    observed = Observed()
    others = {
        family: legs_of(network.topology, experiment.between, family)
        for family in kind.families(params)
        if family != network.family
    }
    views = viewpoints(network, others.values())
    setting = Setting(
        laboratory=laboratory,
        network=network,
        between=experiment.between,
        views=views,
        is_bpf=path.engine == "ebpf",
        keeps_packets=keeps_packets,
        seed=f"{experiment.seed}/{planned.block}/{planned.combination}",
        events=combination.events,
        placement=placement,
        traces=experiment.traces,
        others=others,
        prefers_ipv4=params.get("prefer", path.options.get("prefer")) == "ipv4",
    )
    one_way = OneWay.of(kind, setting, planned.key)
    performed = params | one_way.asked
    failure: Reason | None = None
    try:
        one_way.look_before()
        perform(kind, performed, planned.key, setting, observed, observer)
        one_way.look_after()
    except (AgentError, LabError) as error:
        kind_of_failure = ReasonKind.AGENT_FAILED if isinstance(error, AgentError) else ReasonKind.NETWORK_FAILED
        failure = Reason(kind=kind_of_failure, text=laboratory.with_the_dead(error))
    if failure is None and observed.unanswered:
        failure = Reason(kind=ReasonKind.AGENT_FAILED, text=laboratory.with_the_dead(observed.unanswered[0]))
    ended = ended_programs(observed.devices_after)
    if ended:
        failure = ended[0]
        laboratory.spoil(failure.text)
    topology = experiment.topologies[combination.topology_of(planned.path)]
    asked = kind.agent_params(params)
    expected = references.theory(kind.served_by, asked, path, topology, experiment.between, combination.events)
    measured, judgement, status, reasons = _assess(
        kind,
        performed,
        path,
        setting,
        observed,
        failure,
        experiment.statistics.margin_of(combination.workload.kind),
        one_way,
    )
    column = bypassed_column(kind, params)
    tester = {column: bypass.metrics[column]} if bypass and column and column in bypass.metrics else {}
    limited_by = _limited_by(measured, expected, setting, observed)
    if limited_by != "path" and column and is_tester_limited(column, measured.metrics, tester):
        limited_by = "tester"
    if status == "ok" and experiment.bottleneck == "path" and limited_by in ("cpu", "tester"):
        status = "invalid"
        reasons = [_not_the_path(limited_by, _goodput_words(measured, expected))]
    packets: dict[str, bytes] = {}
    if params.get("packet_log") and failure is None:
        from ..store.packet_log import packet_log_files

        packets = packet_log_files(observed.client, observed.server)
    record = replace(
        blank_record(trial),
        params=params,
        status=status,
        reasons=reasons,
        notes=measured.notes,
        started_realtime_ns=started_realtime_ns,
        elapsed_ns=time.monotonic_ns() - started_ns,
        metrics=measured.metrics,
        uncertainty=measured.uncertainty,
        theory=expected,
        bypass=tester,
        limited_by=limited_by,
        kept_awake=observed.kept_awake,
        histograms=measured.histograms,
        evidence=judgement.evidence,
        client=without_series(observed.client),
        server=without_series(observed.server),
    )
    return Outcome(record=record, series=measured.series, files=_files(setting, observed) | packets)


def _with_seed(kind: WorkloadKind, params: Mapping[str, Scalar], seed: int) -> dict[str, Scalar]:
    """The parameters with the seed of random traffic, unless that is given. All paths of a block get the same
    traffic."""
    return {"seed": seed % 2**63} | dict(params) if kind.is_drawn(params) else dict(params)


def _files(setting: Setting, observed: Observed) -> dict[str, bytes]:
    """The packets of the most telling link, or of all links where they are kept; and what programs under test said."""
    middle = middle_of(setting.views)
    files: dict[str, bytes] = {}
    for node, device_log_answer in observed.device_logs.items():
        if device_log_answer.text:
            omitted = (
                f"({device_log_answer.omitted_bytes} bytes before this are gone)\n"
                if device_log_answer.omitted_bytes
                else ""
            )
            files[f"{node}.log"] = (omitted + device_log_answer.text).encode()
    for index, (view, capture) in enumerate(zip(setting.views, observed.captures, strict=False)):
        if capture.packets and (setting.keeps_packets or index == middle):
            interface = f"{view.end.name} of {view.end.node} on {view.link.name}"
            files[f"{view.link.name}.pcapng"] = to_pcapng(capture.packets, interface, setting.snaplen_bytes)
    return files


def failed_outcome(trial: Trial, reason: Reason) -> Outcome:
    """The record of a trial that could not start."""
    return Outcome(record=replace(blank_record(trial), reasons=[reason]))


def _assess(
    kind: WorkloadKind,
    params: dict[str, Scalar],
    path: Path,
    setting: Setting,
    observed: Observed,
    failure: Reason | None,
    margin: float,
    one_way: OneWay,
) -> tuple[Measured, Judgement, Status, list[Reason]]:
    broken = link_failures(setting.views, observed.before, observed.after)
    if failure is not None:
        return Measured(), Judgement(evidence=NO_EVIDENCE), "failed", [*broken, failure]
    measured = one_way.summarise(kind, params, observed.client, observed.server)
    traffic = kind.traffic(params, observed.client, observed.server)
    fragments = FragmentEvidence(fragments=Fragments())
    if not setting.events:
        fragments = fragment_evidence(
            kind.served_by,
            kind.agent_params(params),
            setting.network,
            path,
            observed.client,
            observed.server,
            observed.before,
            observed.after,
        )
    unreached = fragments.unreached
    if "df" in params and (setting.events or observed.client.get("sent") == 0):
        # Packets may reach no link after an event, or if the sender's DF policy refused them.
        unreached = frozenset(view.link.name for view in setting.views)
    captures = without_questions(setting.network, observed.captures)
    judgement = judge(setting.views, captures, observed.before, observed.after, traffic, unreached)
    dhcp, unproved = dhcp_evidence(setting.network, setting.views, observed.captures if kind.brings_up else None)
    judgement.invalid.extend(unproved)
    evidence = judgement.evidence
    measured.notes.extend(silent_notes(evidence.silent or {}))
    emulated = assess(setting.laboratory.topology, observed.emulated)
    judgement.invalid.extend(emulated.invalid)
    if setting.events:
        for words in event_failures(setting.events, observed.events):
            measured.reject(ReasonKind.EVENT_FAILED, words)
    if fragments.is_loss_foretold:
        measured.excuse(Excuse.FORETOLD_LOSS)
    measured.notes.extend(fragments.notes)
    tunnels = tunnel_evidence(
        setting.network,
        observed.tunnels_before,
        observed.tunnels_after,
        {node: counters.interfaces for node, counters in (evidence.counters or {}).items()},
    )
    translators = None
    if setting.translating:
        translators = translator_evidence(
            setting.network, observed.translators_before, observed.translators_after, observed.forgotten
        )
    sessions = session_evidence(observed.sessions_before, observed.sessions_after)
    tracking = setting.network.tracking
    names, refused = judge_sessions(tracking, sessions, observed.sessions_before, is_meant=kind.fills_tables)
    measured.notes.extend(names)
    judgement.invalid.extend(refused)
    carried = traffic.of(setting.network.family)
    relayed = relay_evidence(
        setting.network, observed.relays_before, observed.relays_after, carried, is_meant=kind.fills_tables
    )
    measured.notes.extend(relayed.notes)
    judgement.invalid.extend(relayed.invalid)
    memory_bytes = session_memory_bytes(sessions)
    if memory_bytes is not None and SESSION_MEMORY in kind.metrics:
        measured.metrics[METRICS[SESSION_MEMORY].column] = memory_bytes
    torn_down_per_s = teardown_rate_per_s(sessions, observed.torn_down)
    if torn_down_per_s is not None and TEARDOWN_RATE in kind.metrics:
        measured.metrics[METRICS[TEARDOWN_RATE].column] = torn_down_per_s
    nodes = namespaces(setting.laboratory.agents)
    losses = loss_evidence(
        {WORKLOADS[part.workload].transport for part in parts_of(kind, params)},
        setting.network.topology,
        nodes,
        observed.client,
        observed.server,
        observed.drops,
        observed.before,
        observed.after,
        lost_places(setting.laboratory.topology, observed.emulated),
    )
    watched, timers = observed.timers, None
    if watched.seen is not None:
        timers = timer_evidence(watched.watched, watched.seen, nodes)
        measured_ns = int(params.get("duration_ns", 0)) or watched.elapsed_ns
        remarks, too_late = judge_timers(timers, measured_ns, margin)
        measured.notes.extend(remarks)
        judgement.invalid.extend(too_late)
    evidence = replace(
        evidence,
        fragments=fragments.fragments,
        filters=observed.drops.rules,
        emulation=emulated.links or None,
        events=tuple(observed.events) if setting.events else None,
        tunnels=tunnels,
        translators=translators,
        discovered=discovered_prefixes(setting.laboratory.discovered) or None,
        dhcp=dhcp,
        versions=setting.laboratory.versions or None,
        relays=relayed.relays or None,
        programs=program_evidence(observed.devices_before, observed.devices_after, setting.network.guests) or None,
        sessions={**sessions, **relayed.sessions} or None,
        losses=losses.losses,
        timers=timers,
        processors=dict(observed.placed.by_node),
        clocks=one_way.clocks,
    )
    measured.notes.extend(losses.notes)
    judgement.invalid.extend(check_tunnels(setting.network, tunnels, carried))
    if translators is not None:
        judgement.invalid.extend(check_translators(setting.network, translators, carried))
    measured.notes.extend(drop_notes(tunnels))
    measured.notes.extend(translation_notes(translators or {}))
    measured.metrics.update(program_times(observed.programs))
    add_spent(measured, setting, observed)
    measured.notes.extend(_asleep_notes(observed))
    changes = machine_changes(observed.client, observed.server)
    arrived = _arrived_segments(kind, params, setting, observed, nodes)
    evidence = replace(evidence, arrived=arrived)
    notes, too_many = judge_strays(observed.client, observed.server, own_packets=traffic.packets, arrived=arrived)
    measured.notes.extend(notes)
    reasons = [*broken, *measured.invalid, *judgement.invalid, *changes, *too_many]
    return measured, replace(judgement, evidence=evidence), "invalid" if reasons else "ok", reasons


def _arrived_segments(
    kind: WorkloadKind, params: Mapping[str, Scalar], setting: Setting, observed: Observed, netns: Mapping[int, str]
) -> dict[str, ArrivedSegments] | None:
    """The segments of TCP that came to both hosts. None where others than the hosts may send some by right: relays,
    programs under test, equipment, filters, tables that overflow, and links that copy packets."""
    topology = setting.network.topology
    impaired = [direction.impairments for link in topology.links for state in link.states for direction in state]
    others = (
        kind.fills_tables,
        setting.network.relays,
        setting.network.hosting,
        setting.network.guests,
        len(topology.held) < len(topology.nodes),
        any(node.filters for node in topology.nodes.values()),
        any(item.duplicate is not None for item in impaired),
    )
    transports = {WORKLOADS[part.workload].transport for part in parts_of(kind, params)}
    if "tcp" not in transports or any(others):
        return None
    return segment_evidence(setting.between, netns, observed.before, observed.after, observed.drops.reports)


def _asleep_notes(observed: Observed) -> list[str]:
    """Notes on processors that were to be kept awake and were not."""
    return [
        f"processors were not kept awake throughout the trial: {kernel.why_not or 'the threads that do so ended'}"
        for kernel in observed.asleep
    ]


def event_failures(due: Sequence[LinkChange], happened: Sequence[LinkEvent]) -> list[str]:
    """The events that failed, and those that did not happen, in words."""
    failed = [f"the event of {done.link} failed: {done.failed}" for done in happened if done.failed is not None]
    missing = [
        f"the event of {event.link} after {format_duration(event.at_ns)} did not happen: the trial was over"
        for event in due[len(happened) :]
    ]
    return failed + missing


def machine_changes(client: Result, server: Result) -> list[Reason]:
    """The reason why a trial is invalid during which a machine's clock was stepped, or its processors became more or
    fewer."""
    spans = [span for span in map(find_span, (client, server)) if span]
    reasons = []
    step_ns = max(map(clock_step_ns, spans), key=abs, default=0)
    if abs(step_ns) > MAX_CLOCK_STEP_NS:
        words = f"the realtime clock was stepped by {step_ns / 1e6:.1f} ms during the trial"
        reasons.append(Reason(kind=ReasonKind.CLOCK_STEP, text=words))
    for before, after in map(processors, spans):
        if before and after and before != after:
            words = f"the machine had {before} processors at the start of the trial and {after} at its end"
            reasons.append(Reason(kind=ReasonKind.PROCESSORS_CHANGED, text=words))
    return list(dict.fromkeys(reasons))


def _limited_by(measured: Measured, expected: Mapping[str, float], setting: Setting, observed: Observed) -> str | None:
    goodput, limit = measured.metrics.get("goodput_bps"), expected.get("goodput_bps")
    if goodput is None:
        return None
    if limit is not None and goodput >= PATH_LIMITED_SHARE * limit:
        return "path"
    if is_saturated(setting, observed):
        return "cpu"
    return None


def _not_the_path(limited_by: str, goodput: str) -> Reason:
    """The reason why a trial is invalid whose path was to be the limit."""
    if limited_by == "cpu":
        kind, what = ReasonKind.CPU_LIMITED, "the machine's CPU"
    else:
        kind, what = ReasonKind.TESTER_LIMITED, "the tester"
    return Reason(kind=kind, text=f"{what} rather than the path was the limit: {goodput}")


def _goodput_words(measured: Measured, expected: Mapping[str, float]) -> str:
    goodput, limit = measured.metrics.get("goodput_bps", 0.0), expected.get("goodput_bps")
    words = f"{goodput / 1e6:.1f} Mbit/s"
    return words + (f", where the path allows {limit / 1e6:.1f} Mbit/s" if limit else "")
