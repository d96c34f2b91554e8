"""Processor time of a trial: of the machine, of its ends, of each packet; and whether they were the limit."""

from __future__ import annotations

from ..model.workload import Measured
from .cpu import (
    SATURATED_CORE,
    Span,
    add_cpu_of_ends,
    agent_cores,
    busy_ns,
    core_shares,
    find_span,
    machine_cores,
    orchestrator_ns,
    spun_ns,
    throttled,
    watched_ns,
)
from .hardware_counters import SPUN, hardware_metrics, hardware_notes
from .kernels import Kernel
from .observed import Observed
from .proof.packets import link_traffic, middle_of
from .traffic import Setting


def add_spent(measured: Measured, setting: Setting, observed: Observed) -> None:
    """Puts in what the trial took."""
    view = setting.views[middle_of(setting.views)]
    client_spun, server_spun = spun_ns(observed.client), spun_ns(observed.server)
    if not setting.laboratory.topology.is_spread:
        _add_cpu_of_machine(measured, setting, observed, client_spun, server_spun)
    add_cpu_of_ends(measured, observed.client, observed.server, client_spun, server_spun)
    if not (observed.cpu and observed.before and observed.after):
        return
    if any(map(throttled, observed.cpu.values())):
        measured.notes.append(
            "processors were slowed down for heat during the trial: its times are those of a slower machine"
        )
    _add_slowdown(measured, observed)
    spent_ns = _spent_ns(observed)
    packets, carried_bytes = link_traffic(view, observed.before, observed.after) or (0, 0)
    _add_hardware(measured, packets, observed)
    if spent_ns is not None and packets and carried_bytes:
        spun = sum(spun_ns(result, with_warmup=True) for result in (observed.client, observed.server))
        spent_ns = max(0.0, spent_ns - spun)
        measured.metrics["cpu_per_packet_ns"] = spent_ns / packets
        measured.metrics["cpu_per_byte_ns"] = spent_ns / carried_bytes


def _add_cpu_of_machine(
    measured: Measured, setting: Setting, observed: Observed, client_spun: int, server_spun: int
) -> None:
    """Processor time of all of the machine while the traffic was measured, where all nodes are on one: of several there
    is no sample of the same time."""
    server_span, client_span = find_span(observed.server), find_span(observed.client)
    span = server_span if "forward_receiver" in observed.server or "unique" in observed.server else client_span
    if span is None:
        return
    are_kept_awake = observed.are_kept_awake(setting.laboratory.processors.here)
    machine = machine_cores(span, client_spun + server_spun, are_kept_awake=are_kept_awake)
    for name, cores in machine.items():
        measured.metrics[f"cpu_{name}_cores"] = cores
    own_both = [
        agent_cores(own, own_spun)
        for own, own_spun in ((client_span, client_spun), (server_span, server_spun))
        if own is not None
    ]
    if machine and None not in own_both:
        # Soft interrupts belong to the network; the remaining user and system time belongs to other programs.
        ours = sum(cores for cores in own_both if cores is not None)
        measured.metrics["cpu_other_cores"] = max(0.0, machine["user"] + machine["system"] - ours)


def _add_slowdown(measured: Measured, observed: Observed) -> None:
    """Slowdown of the slowest of the nodes' processors against its fastest, in the mean of before and after."""
    if len(observed.slowdowns) == 2 and observed.slowdowns[0]:
        before, after = observed.slowdowns
        measured.metrics["core_slowdown_ratio"] = max((before[item] + after[item]) / 2 for item in before)


def _spent_ns(observed: Observed) -> float | None:
    """The CPU time of a trial: the sum over the kernels that its nodes are on; None where one of them does not tell."""
    times_ns = [_spent_on(kernel, span, observed) for kernel, span in observed.cpu.items()]
    known_ns = [time_ns for time_ns in times_ns if time_ns is not None]
    return sum(known_ns) if len(known_ns) == len(observed.cpu_before) else None


def _spent_on(kernel: Kernel, span: Span, observed: Observed) -> float | None:
    """That of one kernel.

    It is that of its nodes' processors, where threads watched these and nothing of ours ran there; else that of the
    whole machine, without what running the trial took.
    """
    is_alone = observed.is_alone or "orchestrator_ns" not in span["from"]
    watched = watched_ns(span, observed.placed.by_kernel.get(kernel, ())) if is_alone else None
    if watched is not None:
        return watched
    spent_ns = busy_ns(span, are_kept_awake=observed.are_kept_awake(kernel))
    return None if spent_ns is None else spent_ns - orchestrator_ns(span)


def _add_hardware(measured: Measured, packets: int, observed: Observed) -> None:
    """Cycles and instructions. They cannot be told apart from those of a spinning sender, as CPU time can."""
    measured.notes.extend(hardware_notes(observed.hardware))
    if observed.hardware.counts is None:
        return
    if any(spun_ns(result, with_warmup=True) for result in (observed.client, observed.server)):
        measured.notes.append(SPUN)
        return
    measured.metrics.update(hardware_metrics(observed.hardware.counts, packets))


def is_saturated(setting: Setting, observed: Observed) -> bool:
    """True if a processor of the receiving end was busy nearly all of the time. One that a sender spins on tells
    nothing."""
    end, span = setting.hosts.server, find_span(observed.server)
    if span is None:
        end, span = setting.hosts.client, find_span(observed.client)
    if span is None or spun_ns(observed.client):
        return False
    kernel = setting.laboratory.processors.of(end.host)
    shares = core_shares(span, are_kept_awake=observed.are_kept_awake(kernel))
    return max(shares, default=0.0) >= SATURATED_CORE
