"""Processor time of a trial: of the machine, of its ends, of each packet; and whether processors were the limit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from ...agent import Agent
from ...agent.requests import Cpu
from ...model.evidence import Evidence
from ...model.trial import TrialRecord
from ..cpu import (
    SATURATED_CORE,
    ResourceSample,
    Span,
    agent_cores,
    busy_ns,
    core_shares,
    cpu_of_ends,
    find_span,
    machine_cores,
    orchestrator_ns,
    spun_ns,
    throttled,
    watched_ns,
)
from ..hardware_counters import SPUN, HardwareCounters, hardware_metrics, hardware_notes
from ..kernels import KernelProcessors
from ..proof.case import Case, EndResults, Testimony
from ..proof.packets import link_traffic
from ..proof.viewpoints import middle_of
from ..session import ANSWER_TIMEOUT_S
from ..setting import TrialSetting
from .counters import CounterLooks
from .witness import Waiting, Witness, nothing


@dataclass(frozen=True, kw_only=True)
class _ProcessorTimes:
    """Samples of each kernel that nodes on the path are on, before and after the traffic."""

    before: Mapping[KernelProcessors, ResourceSample] = field(default_factory=dict)
    after: Mapping[KernelProcessors, ResourceSample] = field(default_factory=dict)

    @property
    def spans(self) -> dict[KernelProcessors, Span]:
        """The samples at both ends of the traffic, where there are both."""
        return {
            kernel: {"from": before, "to": self.after[kernel]}
            for kernel, before in self.before.items()
            if kernel in self.after
        }

    @property
    def kept_awake(self) -> bool | None:
        """True if all processors were kept awake from the first sample to the last; None where they were not to be, or
        there are no samples."""
        if not any(kernel.is_to_be_awake for kernel in self.before):
            return None
        return not self.asleep

    @property
    def asleep(self) -> list[KernelProcessors]:
        """The kernels whose processors were to be kept awake, and were not throughout."""
        return [
            kernel
            for kernel, before in self.before.items()
            if kernel.is_to_be_awake and not ("watched" in before and "watched" in self.after.get(kernel, {}))
        ]

    def are_kept_awake(self, kernel: KernelProcessors) -> bool:
        """True if threads of the idle class spin on its processors."""
        return "watched" in self.before.get(kernel, {})


class ProcessorWitness(Witness):
    """Reads the time that processors have spent, and their cycles, right before the traffic and right after it."""

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self._before: dict[KernelProcessors, ResourceSample] = {}
        self._after: dict[KernelProcessors, ResourceSample] = {}
        self._hardware = HardwareCounters(setting.hosts.client)
        self._here = setting.laboratory.processors.here
        self._of_client, self._of_server = (
            setting.laboratory.processors.of(agent.host) for agent in (setting.hosts.client, setting.hosts.server)
        )

    def begin(self) -> Waiting:
        def began() -> None:
            self.setting.laboratory.processors.renew()
            self._before = _samples(self.setting)
            if not self.setting.laboratory.topology.is_spread:
                self._hardware.start()

        return began

    def end(self) -> Waiting:
        try:
            self._hardware.stop()
        finally:
            if self._before:
                self._after = _samples(self.setting)
        return nothing

    def add_to(self, record: TrialRecord) -> TrialRecord:
        return replace(record, kept_awake=self._times.kept_awake)

    @classmethod
    def judge_results(cls, results: EndResults) -> Testimony:
        spans = [span for span in map(find_span, (results.client, results.server)) if span is not None]
        shares = [share for span in spans for share in core_shares(span)]
        return Testimony(
            metrics=cpu_of_ends(results.client, results.server),
            limited_by="cpu" if max(shares, default=0.0) >= SATURATED_CORE else None,
        )

    def judge(self, case: Case) -> Testimony:
        times, looks = self._times, case.seen(CounterLooks)
        metrics = self._of_machine(case, times) | cpu_of_ends(
            case.client, case.server, spun_ns(case.client), spun_ns(case.server)
        )
        notes = []
        if times.spans and looks.before and looks.after:
            if any(map(throttled, times.spans.values())):
                notes.append(
                    "processors were slowed down for heat during the trial: its times are those of a slower machine"
                )
            view = case.views[middle_of(case.views)]
            packets, carried_bytes = link_traffic(view, looks.before, looks.after) or (0, 0)
            spun = sum(spun_ns(result, with_warmup=True) for result in (case.client, case.server))
            notes += hardware_notes(self._hardware.counted)
            if self._hardware.counted.counts is not None:
                # They cannot be told apart from those of a spinning sender, as CPU time can.
                if spun:
                    notes.append(SPUN)
                else:
                    metrics |= hardware_metrics(self._hardware.counted.counts, packets)
            spent_ns = self._spent_ns(times)
            if spent_ns is not None and packets and carried_bytes:
                spent_ns = max(0.0, spent_ns - spun)
                metrics |= {"cpu_per_packet_ns": spent_ns / packets, "cpu_per_byte_ns": spent_ns / carried_bytes}
        return Testimony(
            evidence=Evidence(processors=dict(self.setting.placed.by_node)),
            notes=[*notes, *_asleep_notes(times)],
            metrics=metrics,
            limited_by="cpu" if self._is_saturated(case, times) else None,
        )

    @property
    def _times(self) -> _ProcessorTimes:
        return _ProcessorTimes(before=self._before, after=self._after)

    def _of_machine(self, case: Case, times: _ProcessorTimes) -> dict[str, float]:
        """Processor time of all of the machine while the traffic was measured, where all nodes are on one: of several
        there is no sample of the same time."""
        if case.network.topology.is_spread:
            return {}
        ends = [(find_span(result), spun_ns(result)) for result in (case.client, case.server)]
        (client_span, client_spun), (server_span, server_spun) = ends
        has_receiver = "forward_receiver" in case.server or "unique" in case.server
        span = server_span if has_receiver else client_span
        if span is None:
            return {}
        machine = machine_cores(span, client_spun + server_spun, are_kept_awake=times.are_kept_awake(self._here))
        metrics = {f"cpu_{name}_cores": cores for name, cores in machine.items()}
        agents = [agent_cores(span, spun) for span, spun in ends if span is not None]
        if machine and None not in agents:
            # Soft interrupts belong to the network; the remaining user and system time belongs to other programs.
            ours = sum(cores for cores in agents if cores is not None)
            metrics["cpu_other_cores"] = max(0.0, machine["user"] + machine["system"] - ours)
        return metrics

    def _spent_ns(self, times: _ProcessorTimes) -> float | None:
        """The CPU time of a trial: the sum over the kernels that its nodes are on; None where one of them does not
        tell."""
        times_ns = [self._spent_on(kernel, span, times) for kernel, span in times.spans.items()]
        known_ns = [time_ns for time_ns in times_ns if time_ns is not None]
        return sum(known_ns) if len(known_ns) == len(times.before) else None

    def _spent_on(self, kernel: KernelProcessors, span: Span, times: _ProcessorTimes) -> float | None:
        """The CPU time on one kernel.

        It is that of its nodes' processors, where threads watched these and nothing of ours ran there; else that of the
        whole machine, without what running the trial took.
        """
        is_alone = self.setting.is_alone or "orchestrator_ns" not in span["from"]
        watched = watched_ns(span, self.setting.placed.by_kernel.get(kernel, ())) if is_alone else None
        if watched is not None:
            return watched
        spent_ns = busy_ns(span, are_kept_awake=times.are_kept_awake(kernel))
        return None if spent_ns is None else spent_ns - orchestrator_ns(span)

    def _is_saturated(self, case: Case, times: _ProcessorTimes) -> bool:
        """True if a processor of the receiving end was busy nearly all of the time. One that a sender spins on tells
        nothing."""
        kernel, span = self._of_server, find_span(case.server)
        if span is None:
            kernel, span = self._of_client, find_span(case.client)
        if span is None or spun_ns(case.client):
            return False
        shares = core_shares(span, are_kept_awake=times.are_kept_awake(kernel))
        return max(shares, default=0.0) >= SATURATED_CORE


def _samples(setting: TrialSetting) -> dict[KernelProcessors, ResourceSample]:
    """A sample of each kernel that nodes on the path are on, and the CPU time that this process itself has spent until
    then."""
    processors = setting.laboratory.processors
    tellers: dict[KernelProcessors, Agent] = {}
    for agent in (setting.hosts.client, *setting.watched.values()):
        tellers.setdefault(processors.of(agent.host), agent)
    asked = {kernel: (agent.submit(Cpu.op), kernel.ask()) for kernel, agent in tellers.items()}
    samples: dict[KernelProcessors, ResourceSample] = {}
    for kernel, (answer, watching) in asked.items():
        sample = samples[kernel] = cast(ResourceSample, tellers[kernel].wait(answer, Cpu.op, ANSWER_TIMEOUT_S))
        watched = kernel.busy_times(watching)
        if watched is not None:
            sample["watched"] = watched
    if processors.here in samples:
        sample, throttled = samples[processors.here], processors.throttle_count()
        sample["orchestrator_ns"] = time.process_time_ns()
        if throttled is not None:
            sample["throttled"] = throttled
    return samples


def _asleep_notes(times: _ProcessorTimes) -> list[str]:
    """Notes on processors that were to be kept awake and were not."""
    return [
        f"processors were not kept awake throughout the trial: {kernel.why_not or 'the threads that do so ended'}"
        for kernel in times.asleep
    ]
