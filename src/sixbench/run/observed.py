"""The observations of a trial: what both ends, the nodes and the kernels said of it, before and after the traffic."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model.errors import AgentError
from ..model.evidence.links import LinkEvent
from ..model.observation import (
    CaptureAnswer,
    CountersAnswer,
    DeviceCountersAnswer,
    DeviceLogAnswer,
    EmulateAnswer,
    RelayAnswer,
    TrackingAnswer,
    TranslatorState,
    TunnelState,
)
from ..model.workload import Result
from .cpu import Sample, Span
from .hardware_counters import Counted
from .kernels import Kernel
from .processors import Placed
from .proof.drops import Drops
from .timer_watch import Timers

Tunnels = dict[str, dict[str, TunnelState]]
Translators = dict[str, dict[str, TranslatorState]]
"""Counters by node and device."""


@dataclass(kw_only=True)
class Observed:
    """The observations so far; a failure leaves the rest empty.

    Attributes:
        placed: where the nodes on the path ran.
        is_alone: whether nothing else of the run was on their processors.
        cpu_before, cpu_after: what each kernel that nodes on the path are on had spent.
        slowdowns: by what share longer than at its fastest a loop took on each of their processors, before and after.
        forgotten: the last counters of translators that were taken away meanwhile.
        torn_down: what the nodes that track connections said when they forgot them all at the end.
        unanswered: the requests that agents did not answer, or not in the right form, when the traffic was over.
            Without the answers nothing is proved, so the trial has failed.
    """

    client: Result = field(default_factory=dict)
    server: Result = field(default_factory=dict)
    captures: list[CaptureAnswer] = field(default_factory=list)
    tunnels_before: Tunnels = field(default_factory=dict)
    tunnels_after: Tunnels = field(default_factory=dict)
    translators_before: Translators = field(default_factory=dict)
    translators_after: Translators = field(default_factory=dict)
    forgotten: list[TranslatorState] = field(default_factory=list)
    relays_before: dict[str, RelayAnswer] = field(default_factory=dict)
    relays_after: dict[str, RelayAnswer] = field(default_factory=dict)
    devices_before: dict[str, DeviceCountersAnswer] = field(default_factory=dict)
    devices_after: dict[str, DeviceCountersAnswer] = field(default_factory=dict)
    device_logs: dict[str, DeviceLogAnswer] = field(default_factory=dict)
    sessions_before: dict[str, TrackingAnswer] = field(default_factory=dict)
    sessions_after: dict[str, TrackingAnswer] = field(default_factory=dict)
    torn_down: dict[str, TrackingAnswer] = field(default_factory=dict)
    programs: Tunnels = field(default_factory=dict)
    events: list[LinkEvent] = field(default_factory=list)
    drops: Drops = field(default_factory=Drops)
    timers: Timers = field(default_factory=Timers)
    emulated: dict[str, EmulateAnswer] = field(default_factory=dict)
    before: dict[str, CountersAnswer] = field(default_factory=dict)
    after: dict[str, CountersAnswer] = field(default_factory=dict)
    cpu_before: dict[Kernel, Sample] = field(default_factory=dict)
    cpu_after: dict[Kernel, Sample] = field(default_factory=dict)
    slowdowns: list[dict[int, float]] = field(default_factory=list)
    placed: Placed = field(default_factory=Placed)
    is_alone: bool = False
    hardware: Counted = field(default_factory=Counted)
    unanswered: list[AgentError] = field(default_factory=list)

    @property
    def cpu(self) -> dict[Kernel, Span]:
        """The samples at both ends of the traffic, where there are both."""
        return {
            kernel: {"from": before, "to": self.cpu_after[kernel]}
            for kernel, before in self.cpu_before.items()
            if kernel in self.cpu_after
        }

    @property
    def kept_awake(self) -> bool | None:
        """True if all processors were kept awake from the first sample to the last; None where they were not to be, or
        there are no samples."""
        if not any(kernel.is_to_be_awake for kernel in self.cpu_before):
            return None
        return not self.asleep

    @property
    def asleep(self) -> list[Kernel]:
        """The kernels whose processors were to be kept awake, and were not throughout."""
        return [
            kernel
            for kernel, before in self.cpu_before.items()
            if kernel.is_to_be_awake and not ("watched" in before and "watched" in self.cpu_after.get(kernel, {}))
        ]

    def are_kept_awake(self, kernel: Kernel) -> bool:
        """True if threads of the idle class spin on its processors."""
        return "watched" in self.cpu_before.get(kernel, {})
