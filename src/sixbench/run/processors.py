"""The processors of a run: which of them nodes run on, and that they do not sleep meanwhile.

A processor that sleeps has to be woken. On a virtual machine that takes until its host has time: 75 us in the median,
2.9 ms in one of a hundred (measured). An agent of its own therefore keeps every processor awake by a thread of the idle
class that yields to all others (docs/protocol.md, `awake-start`), and `/dev/cpu_dma_latency` keeps processors of a real
machine out of deep sleep.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..agent import Agent, AgentHub
from ..agent.requests import Awake, AwakeStart
from ..lab.heat import governors, throttle_count, throttle_counters
from ..lab.placement import pin
from ..lab.steering import usable_processors
from ..model.errors import AgentError, CapabilityError
from ..model.experiment import Experiment
from ..model.observation import AwakeAnswer
from ..model.placement import Placement
from ..model.workload import Workload
from ..model.workloads import WORKLOADS
from ..store import ProcessorUse
from .session import ANSWER_TIMEOUT_S

AWAKE = "(processors)"
"""The name of the agent that keeps them awake."""

LATENCY_DEVICE = Path("/dev/cpu_dma_latency")
"""While it is open, processors wake within the microseconds that were written to it
(Documentation/power/pm_qos_interface of Linux)."""


class Processors:
    """The processors of a run, from `start` to `close`."""

    def __init__(self, hub: AgentHub) -> None:
        self._hub = hub
        self.usable = usable_processors()
        self._throttle_counters = throttle_counters(self.usable)
        self._agent: Agent | None = None
        self._latency: int | None = None
        self._refused: str | None = None
        self._own = set(self.usable)
        self._awake: tuple[int, ...] = ()

    def start(self, keep_awake: bool | None) -> None:
        """Keeps the processors awake from now on. Does nothing where that was begun before.

        Args:
            keep_awake: None: where this machine is virtual.
        """
        if self._agent is not None or keep_awake is False:
            return
        if self._latency is None:
            with contextlib.suppress(OSError):
                self._latency = os.open(LATENCY_DEVICE, os.O_WRONLY | os.O_CLOEXEC)
                os.write(self._latency, bytes(4))
        if keep_awake is None and not is_virtual():
            return
        agent = None
        try:
            [agent] = self._hub.start([AWAKE]).values()
            agent.answer(AwakeStart(processors=sorted(self.usable)), timeout_s=ANSWER_TIMEOUT_S)
        except (AgentError, CapabilityError) as error:
            self._refused = str(error)
            if agent is not None:
                self._hub.stop([agent])
            return
        self._agent = agent
        self._awake = tuple(sorted(self.usable))

    @property
    def use(self) -> ProcessorUse:
        """What the manifest says of it."""
        return ProcessorUse(
            usable=tuple(sorted(self.usable)),
            kept_awake=self._awake,
            not_kept_awake=self._refused,
            latency_ns=0 if self._latency is not None else None,
            governors=governors(self.usable),
        )

    def throttle_count(self) -> int | None:
        """How often they were slowed down for heat so far; None where the kernel does not count it."""
        return throttle_count(self._throttle_counters)

    def sample(self) -> AwakeAnswer | None:
        """How long each was busy so far, to the microsecond; None where no thread watches it.

        Where the agent that keeps them awake has died, they may sleep from then on, and the manifest says why. Raises
        `AgentError` where it lives, and refuses or gives an answer of another form.
        """
        if self._agent is None:
            return None
        try:
            return self._agent.answer(Awake(), timeout_s=ANSWER_TIMEOUT_S)
        except AgentError:
            if self._agent.ended is None:
                raise
            self._refused, self._awake, self._agent = str(self._agent.ended), (), None
            return None

    def keep_off(self, placed: Mapping[str, Sequence[int]]) -> None:
        """Moves this process to processors that no node runs on, where there are some."""
        used = {one for processors in placed.values() for one in processors}
        own = (set(self.usable) - used) or set(self.usable)
        if own != self._own and pin(os.getpid(), own):
            self._own = own

    def is_off(self, placed: Mapping[str, Sequence[int]]) -> bool:
        """Whether this process keeps off the processors of the nodes."""
        return bool(placed) and self._own.isdisjoint(one for processors in placed.values() for one in processors)

    def close(self) -> None:
        """Lets them sleep again, and this process run everywhere."""
        if self._own != set(self.usable) and pin(os.getpid(), self.usable):
            self._own = set(self.usable)
        if self._latency is not None:
            os.close(self._latency)
            self._latency = None
        if self._agent is not None:
            self._hub.stop([self._agent])
            self._agent = None


def kept_awake(experiment: Experiment) -> bool | None:
    """Whether processors are kept awake. On several machines those of one would be, and the others not."""
    return False if any(topology.is_spread for topology in experiment.topologies) else experiment.keep_awake


def placement_of(experiment: Experiment, workload: Workload) -> Placement:
    """Where the nodes of a path run in the trials of a workload."""
    return experiment.placement or WORKLOADS[workload.kind].placement(workload.params)


def is_virtual(cpuinfo: Path = Path("/proc/cpuinfo"), vendor: Path = Path("/sys/class/dmi/id/sys_vendor")) -> bool:
    """Whether this machine is virtual, and no emulated machine of ours. There the clock stands still while nothing
    runs, and a thread that spins would make it run.

    Args:
        cpuinfo: has the flag `hypervisor` where the processor says so (x86).
        vendor: the maker of the machine, by its firmware.
    """
    from .environment import GUEST

    if GUEST in os.environ:
        return False
    with contextlib.suppress(OSError):
        for line in cpuinfo.read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "flags":
                return "hypervisor" in value.split()
    with contextlib.suppress(OSError):
        maker = vendor.read_text(errors="replace").strip()
        return maker in ("QEMU", "Amazon EC2", "Google", "Microsoft Corporation", "VMware, Inc.", "Xen", "innotek GmbH")
    return False
