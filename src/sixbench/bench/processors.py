"""The processors of a run: those of each kernel that nodes are on, which of them nodes run on, and that they do not
sleep meanwhile (`kernels`).

Hosts may be one kernel in truth, as containers of one machine are. Its processors are kept awake once and counted once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..agent import Agent, AgentHub
from ..lab.heat import throttle_count, throttle_counters
from ..lab.machines import place_of
from ..lab.placement import pin, processors_of
from ..lab.steering import usable_processors
from ..model.experiment import Experiment
from ..model.observation import LoopTimesAnswer
from ..model.placement import Placement
from ..model.topology import Topology
from ..model.workload import Workload
from ..model.workloads import WORKLOADS
from ..store import HostFacts, ProcessorUse
from .kernels import KernelProcessors
from .on_host import kernel_of


@dataclass(frozen=True, kw_only=True)
class Placed:
    """Placement of nodes. Both are empty where a kernel refused.

    Attributes:
        by_node: the processors of each node.
        by_kernel: those of each kernel that nodes are on.
    """

    by_node: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    by_kernel: Mapping[KernelProcessors, frozenset[int]] = field(default_factory=dict)


class Processors:
    """The processors of a run, from `start` to `close`."""

    def __init__(self, hub: AgentHub) -> None:
        self._hub = hub
        self._wanted: bool | None = False
        self.here = KernelProcessors(usable_processors())
        """Those of this machine."""
        self._of_hosts: dict[str, KernelProcessors] = {}
        self._throttle_counters = throttle_counters(self.here.usable)
        self._pinned = set(self.here.usable)
        self._fastest_ns: dict[int, int] = {}

    def start(self, keep_awake: bool | None, topologies: Sequence[Topology] = ()) -> None:
        """Keeps the processors of this machine awake from now on, if nodes are on it, and those of hosts from `join`
        on. Does nothing where that was begun before.

        Args:
            keep_awake: None: of machines that are virtual.
            topologies: the networks of the run. None of them: nodes are on this machine.
        """
        self._wanted = keep_awake
        if not topologies or any(_has_nodes_here(topology) for topology in topologies):
            self.here.keep_awake(self._hub, None, keep_awake)

    def join(self, agents: Mapping[str, Agent]) -> None:
        """Does so for the hosts of a network's nodes, and once more for those whose connection was lost. Raises
        `AgentError`.

        Args:
            agents: the nodes', which tell of their machines.
        """
        for host, agent in {agent.host: agent for agent in agents.values()}.items():
            if host is not None:
                if host not in self._of_hosts:
                    self._of_hosts[host] = kernel_of(agent, [self.here, *self._of_hosts.values()])
                self._of_hosts[host].keep_awake(self._hub, host, self._wanted)

    def renew(self) -> None:
        """Keeps those awake again whose threads have ended since it was last looked. Raises `AgentError`."""
        for kernel in dict.fromkeys([self.here, *self._of_hosts.values()]):
            kernel.renew(self._hub)

    def of(self, host: str | None) -> KernelProcessors:
        """Those of a host that was joined; None: of this machine."""
        return self.here if host is None else self._of_hosts[host]

    @property
    def use(self) -> ProcessorUse:
        """The manifest's part about this machine's processors."""
        return self.here.use

    def with_use(self, hosts: Mapping[str, HostFacts]) -> dict[str, HostFacts]:
        """The facts about hosts, with the use of their processors. Of one that was not joined nothing changes."""
        joined = {name: self._of_hosts[name] for name in hosts if name in self._of_hosts}
        return dict(hosts) | {
            name: replace(hosts[name], boot_id=kernel.boot_id, processors=kernel.use) for name, kernel in joined.items()
        }

    def throttle_count(self) -> int | None:
        """Number of times that those of this machine were slowed down for heat so far; None where the kernel does not
        count it."""
        return throttle_count(self._throttle_counters)

    def slowdown(self, processor: int, times: LoopTimesAnswer) -> float:
        """Share by which the loop took longer on one of this machine's processors than at its fastest, of all trials so
        far."""
        fastest_ns = min(times.least_ns, self._fastest_ns.get(processor, times.least_ns))
        self._fastest_ns[processor] = fastest_ns
        return times.median_ns / fastest_ns - 1

    def placement(
        self, policy: Placement, agents: Mapping[str, Agent], emulator: tuple[KernelProcessors, int] | None = None
    ) -> Placed:
        """Planned placement of nodes: those of each kernel by the policy.

        Args:
            agents: those of the nodes of a path, from the client to the server.
            emulator: the processor of the emulator, and whose it is.
        """
        server = list(agents)[-1]
        nodes: dict[KernelProcessors, list[str]] = {}
        for name, agent in agents.items():
            nodes.setdefault(self.of(agent.host), []).append(name)
        by_node: dict[str, tuple[int, ...]] = {}
        by_kernel = {}
        for kernel, of_kernel in nodes.items():
            kept = emulator[1] if emulator is not None and emulator[0] is kernel else None
            has_server = server in of_kernel
            placed = processors_of(policy, of_kernel, kernel.usable, kept, has_server=has_server, read=kernel.read)
            by_node |= placed
            by_kernel[kernel] = frozenset(processor for processors in placed.values() for processor in processors)
        return Placed(by_node={name: by_node[name] for name in agents}, by_kernel=by_kernel)

    def keep_off(self, placed: Placed) -> None:
        """Moves this process to processors that no node runs on, where there are some."""
        usable = set(self.here.usable)
        numbers = (usable - placed.by_kernel.get(self.here, frozenset())) or usable
        if numbers != self._pinned and pin(os.getpid(), numbers):
            self._pinned = numbers

    def is_off(self, placed: Placed) -> bool:
        """True if this process keeps off the processors of the nodes."""
        return bool(placed.by_kernel) and self._pinned.isdisjoint(placed.by_kernel.get(self.here, frozenset()))

    def close(self) -> None:
        """Lets them sleep again, and this process run everywhere."""
        usable = set(self.here.usable)
        if self._pinned != usable and pin(os.getpid(), usable):
            self._pinned = usable
        for kernel in dict.fromkeys([self.here, *self._of_hosts.values()]):
            kernel.let_sleep(self._hub)


def placement_of(experiment: Experiment, workload: Workload) -> Placement:
    """Placement of the nodes of a path in the trials of a workload."""
    return experiment.placement or WORKLOADS[workload.kind].placement(workload.params)


def _has_nodes_here(topology: Topology) -> bool:
    return any(place_of(topology, node) is None for node in topology.held)
