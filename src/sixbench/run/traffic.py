"""The traffic of a trial, and its observation: captures on every link, and counters before and after."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from typing import cast

from ..agent import Agent
from ..agent.answers import Nothing
from ..agent.requests import (
    CaptureStart,
    CaptureStop,
    ConnectionTracking,
    Cpu,
    DeviceCounters,
    DeviceLog,
    LoopTimes,
    RelayCounters,
    TranslatorCounters,
    TunnelCounters,
)
from ..agent.requests import Counters as CountersRequest
from ..engines import EBPF, USER
from ..lab.emulation import EMULATOR
from ..model.device import Device
from ..model.errors import AgentError
from ..model.experiment import LinkChange
from ..model.leg import Legs
from ..model.network import Network
from ..model.observation import (
    CountersAnswer,
    DeviceCountersAnswer,
    DeviceLogAnswer,
)
from ..model.observer import Observer
from ..model.parameter import Scalar
from ..model.placement import Placement
from ..model.topology import Family
from ..model.trace import Trace
from ..model.workload import Part, Result, WorkloadKind
from ..model.workloads import bring_up
from . import emulation
from .asking import Asked, ask, ask_all, wait_all
from .bringing_up import BringUps
from .cpu import Sample
from .drop_watch import DropWatch
from .events import Events, forget_path_mtu
from .hardware_counters import HardwareCounters
from .kernels import Kernel
from .laboratory import Laboratory
from .observed import Observed, Translators, Tunnels
from .parts import Hosts, parts_of, run_parts, trial_expected_ns
from .processors import Placed
from .proof.packets import Viewpoint
from .proof.timers import buckets
from .session import ANSWER_TIMEOUT_S, GRACE_NS, UNTIMED_LIMIT_NS
from .settling import Counters, Left, settle, still_ns
from .timer_watch import TimerWatch
from .under_way import delays_by_netem_ns, first_silence_ns, residual_ns

CAPTURE_PACKETS = 64
CAPTURE_SNAPLEN_BYTES = 192
"""So many packets of each link prove the path, by their headers: the deepest stack that is measured, VXLAN over IPv6
with TCP's options, takes 186."""
DHCP_SNAPLEN_BYTES = 590
"""Ethernet, and the longest message that every DHCP client takes (RFC 2131 section 2)."""
SHARED_CAPTURE_PACKETS = 1024
"""Traffic in which one sender may send many packets before the other sends any: flows of two families share the
links."""
KEPT_PACKETS = 4096
WHOLE_PACKET_BYTES = 65535

EVERYBODY = "255.255.255.255"
"""Addresses of DHCP, both ways: the host has no address (RFC 2131 section 4.1)."""

PROGRAM_TIME_NS = 200_000_000
"""Time for which the run time of BPF programs is measured, from the start on. Meanwhile each run takes some 20 ns
longer."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The place of a trial: its network, and how it is observed.

    Attributes:
        views: where it is observed, from client to server.
        is_bpf: whether programs of ours carry it.
        keeps_packets: whether the packets of every link are kept.
        seed: a text from which the random numbers of emulated links follow.
        events: the changes in the middle of it; with them there is no prediction to hold it against.
        traces: the datagrams of captures, by the name that parameters give.
        placement: where its nodes run.
        others: the legs of the family that is not the path's own, where the workload needs it too.
        prefers_ipv4: whether the client's address selection puts IPv4 first.
    """

    laboratory: Laboratory
    network: Network
    between: tuple[str, str]
    views: list[Viewpoint]
    is_bpf: bool
    keeps_packets: bool
    seed: str
    events: tuple[LinkChange, ...] = ()
    traces: Mapping[str, Trace] = field(default_factory=dict)
    placement: Placement = "free"
    others: Mapping[Family, Legs] = field(default_factory=dict)
    prefers_ipv4: bool = False

    @property
    def snaplen_bytes(self) -> int:
        """Captured part of each packet."""
        if self.keeps_packets:
            return WHOLE_PACKET_BYTES
        return DHCP_SNAPLEN_BYTES if self.has_dhcp else CAPTURE_SNAPLEN_BYTES

    @property
    def has_dhcp(self) -> bool:
        """True if a CLAT asks by DHCP whether it can do without IPv4."""
        clat = self.network.learning
        return clat is not None and clat.discovery is not None and clat.discovery.dhcp is not None

    @property
    def capture_packets(self) -> int:
        """Number of captured packets of each link."""
        if self.keeps_packets:
            return KEPT_PACKETS
        return SHARED_CAPTURE_PACKETS if self.others else CAPTURE_PACKETS

    @property
    def watched(self) -> dict[str, Agent]:
        """The nodes on the path that sixbench holds, from client to server."""
        names = [self.between[0], *(view.crossing.far for view in self.views)]
        return {name: self.laboratory.agents[name] for name in names if name in self.laboratory.agents}

    @property
    def hosts(self) -> Hosts:
        """Both ends, with their addresses in the families that the trial needs."""
        client, server = (self.laboratory.agents[name] for name in self.between)
        own = self.network.family
        return Hosts(
            client=client,
            server=server,
            own=own,
            legs={**self.others, own: self.network.legs},
            first_silence_ns=first_silence_ns(self.network),
            prefers_ipv4=self.prefers_ipv4,
        )

    @property
    def has_one_clock(self) -> bool:
        """True if client and server are on one machine."""
        client, server = (self.laboratory.agents[name] for name in self.between)
        return client.host == server.host

    @property
    def tunnelling(self) -> dict[str, Agent]:
        """The nodes whose agents may carry tunnels themselves."""
        return self._carrying(self.network.tunnels)

    @property
    def translating(self) -> dict[str, Agent]:
        """The nodes whose agents are translators themselves."""
        is_ours = self.laboratory.engine in (EBPF.name, USER.name)
        return self._carrying(self.network.translators) if is_ours else {}

    @property
    def relaying(self) -> dict[str, Agent]:
        """The nodes whose agents are relays."""
        return self._carrying(self.network.relays)

    @property
    def hosting(self) -> dict[str, Agent]:
        """The nodes that have a program under test."""
        return {name: self.laboratory.agents[name] for name in self.network.hosting}

    @property
    def tracking(self) -> dict[str, Agent]:
        """The nodes that track connections."""
        return {name: self.laboratory.agents[name] for name in self.network.tracking}

    def _carrying(self, devices: Sequence[Device]) -> dict[str, Agent]:
        if self.laboratory.engine == "kernel":
            return {}
        return {device.node: self.laboratory.agents[device.node] for device in devices}


def perform(
    kind: WorkloadKind,
    params: dict[str, Scalar],
    key: str,
    setting: Setting,
    observed: Observed,
    observer: Observer | None = None,
) -> None:
    """Runs the workload and fills `observed`, which keeps its observations where this raises `AgentError` or
    `LabError`."""
    parts = [_with_trace(part, setting) for part in parts_of(kind, params)]
    timed_ns = trial_expected_ns(kind, params)
    limit_ns = UNTIMED_LIMIT_NS if timed_ns is None else timed_ns + GRACE_NS * len(parts)
    token = secrets.token_hex(16)
    captured: dict[str, Agent] = {}
    hardware = HardwareCounters(setting.hosts.client, observed.hardware)
    drops = DropWatch(setting.laboratory, setting.watched, token, observed.drops)
    # A change of a link may change its bucket.
    observed.timers.watched = [] if setting.events else buckets(view.link for view in setting.views)
    timers = TimerWatch(setting.laboratory, setting.watched, observed.timers)
    try:
        observed.placed = setting.laboratory.pin_nodes(setting.placement, list(setting.watched))
        observed.is_alone = setting.laboratory.processors.is_off(observed.placed)
        observed.before = _settled(setting)
        observed.tunnels_before = _tunnel_counters(setting)
        observed.translators_before = _translator_counters(setting)
        observed.relays_before = wait_all(ask_all(setting.relaying, RelayCounters()))
        observed.devices_before = wait_all(ask_all(setting.hosting, DeviceCounters(reset_peak=True)))
        observed.sessions_before = wait_all(ask_all(setting.tracking, ConnectionTracking(forget=True)))
        watching = [drops.start(), timers.start()]
        capturing = _start_captures(setting, key, int(params.get("warmup_ns", 0)), limit_ns, captured)
        forget_path_mtu(setting.laboratory, dict.fromkeys([*setting.between, *setting.network.device_nodes]))
        if setting.is_bpf:
            _tunnel_counters(setting, "start")
        emulation.begin(setting.laboratory, setting.seed, token)
        wait_all(capturing)
        for started in watching:
            started()
        setting.laboratory.processors.renew()
        observed.slowdowns.append(_slowdowns(setting, observed.placed))
        observed.cpu_before = _cpu(setting)
        if not setting.laboratory.topology.is_spread:
            hardware.start()
        with Events(setting.laboratory, setting.events) as events:

            def begun(running: Sequence[Future[Result]]) -> None:
                events.start()
                observed.events = events.done
                if setting.is_bpf:
                    wait(running, timeout=PROGRAM_TIME_NS / 1e9)
                    observed.programs = _tunnel_counters(setting, "stop")

            if kind.brings_up:
                begun([])
                ups = BringUps(laboratory=setting.laboratory, network=setting.network, forgotten=observed.forgotten)
                count = int(bring_up.REPETITIONS.of(params))
                observed.client, observed.server = ups.run(kind.served_by, kind.agent_params(params), count, key, token)
            else:
                observed.client, observed.server = run_parts(parts, setting.hosts, key, token, begun, observer)
    finally:
        with _noting(observed.unanswered):
            hardware.stop()
        if observed.cpu_before:
            with _noting(observed.unanswered):
                observed.cpu_after = _cpu(setting)
                observed.slowdowns.append(_slowdowns(setting, observed.placed))
        ended = [ask(agent, CaptureStop(capture=name)) for name, agent in captured.items()]
        watched = [drops.stop(), timers.stop()]
        for item in ended:
            with _noting(observed.unanswered):
                observed.captures.append(item.answer())
        for stopped in watched:
            with _noting(observed.unanswered):
                stopped()
        looked: Counters = {}
        with _noting(observed.unanswered):
            looked = _look(setting)
            observed.after = {name: looked[name] for name in setting.watched}
            observed.tunnels_after = _tunnel_counters(setting)
            observed.translators_after = _translator_counters(setting)
            observed.relays_after = wait_all(ask_all(setting.relaying, RelayCounters()))
            observed.devices_after = wait_all(ask_all(setting.hosting, DeviceCounters()))
            observed.device_logs = _device_logs(setting, observed.devices_before)
            observed.sessions_after = wait_all(ask_all(setting.tracking, ConnectionTracking()))
            if kind.fills_tables:
                observed.torn_down = wait_all(ask_all(setting.tracking, ConnectionTracking(forget=True)))
        observed.emulated = emulation.end(setting.laboratory, observed.unanswered)
        setting.laboratory.left = _left(setting, looked)


@contextlib.contextmanager
def _noting(unanswered: list[AgentError]) -> Iterator[None]:
    """Notes an agent's missing answer, so that all others are still asked."""
    try:
        yield
    except AgentError as error:
        unanswered.append(error)


def _left(setting: Setting, looked: Counters) -> Left:
    topology = setting.network.topology
    return Left(
        ended_ns=time.monotonic_ns(),
        counters=looked,
        least_ns=delays_by_netem_ns(topology),
        most_ns=residual_ns(topology),
        still_ns=still_ns(has_user_space=setting.laboratory.has_user_space),
    )


def _with_trace(part: Part, setting: Setting) -> Part:
    """The parameters with the datagrams of a capture in place of its name."""
    if "trace" not in part.params:
        return part
    datagrams: Scalar = setting.traces[str(part.params["trace"])].datagrams
    return replace(part, params=part.params | {"trace": datagrams})


def _start_captures(
    setting: Setting, key: str, after_ns: int, limit_ns: int, captured: dict[str, Agent]
) -> dict[str, Asked[Nothing]]:
    """Asks for a capture on every link. `captured` gets the agents by the names of the captures."""
    addresses = _all_addresses(setting)
    started = {}
    for index, view in enumerate(setting.views):
        agent, name = setting.laboratory.agents[view.end.node], f"{key}-{index}"
        captured[name] = agent
        request = CaptureStart(
            capture=name,
            interface=view.end.name,
            addresses=addresses,
            after_ns=0 if setting.keeps_packets else after_ns,
            max_packets=setting.capture_packets,
            max_ns=limit_ns,
            snaplen_bytes=setting.snaplen_bytes,
        )
        started[name] = ask(agent, request)
    return started


def _tunnel_counters(setting: Setting, run_time: str | None = None) -> Tunnels:
    """The tunnels' counters, by node and device."""
    asked = ask_all(setting.tunnelling, TunnelCounters(run_time=run_time))
    return {name: answer.tunnels for name, answer in wait_all(asked).items()}


def _translator_counters(setting: Setting) -> Translators:
    """The translators' counters, by node and device."""
    asked = ask_all(setting.translating, TranslatorCounters())
    return {name: answer.translators for name, answer in wait_all(asked).items()}


def _device_logs(setting: Setting, before: Mapping[str, DeviceCountersAnswer]) -> dict[str, DeviceLogAnswer]:
    """Output of the programs under test in the trial, by node."""
    return wait_all(
        {
            name: ask(agent, DeviceLog(after=before[name].log_bytes))
            for name, agent in setting.hosting.items()
            if name in before
        }
    )


def _settled(setting: Setting) -> dict[str, CountersAnswer]:
    """The counters of the nodes on the path, once nothing of an earlier trial or of the building is under way."""
    looked = settle(setting.laboratory.left, lambda: _look(setting))
    return {name: looked[name] for name in setting.watched}


def _look(setting: Setting) -> dict[str, CountersAnswer]:
    """The counters of the nodes on the path, and of the node that emulates links."""
    emulator = setting.laboratory.emulator
    return wait_all(ask_all(setting.watched | ({} if emulator is None else {EMULATOR: emulator}), CountersRequest()))


def _cpu(setting: Setting) -> dict[Kernel, Sample]:
    """A sample of each kernel that nodes on the path are on, and the CPU time that this process itself has spent until
    then."""
    processors = setting.laboratory.processors
    tellers: dict[Kernel, Agent] = {}
    for agent in (setting.hosts.client, *setting.watched.values()):
        tellers.setdefault(processors.of(agent.host), agent)
    asked = {kernel: (agent.submit(Cpu.op), kernel.ask()) for kernel, agent in tellers.items()}
    samples: dict[Kernel, Sample] = {}
    for kernel, (answer, watching) in asked.items():
        sample = samples[kernel] = cast(Sample, tellers[kernel].wait(answer, Cpu.op, ANSWER_TIMEOUT_S))
        watched = kernel.told(watching)
        if watched is not None:
            sample["watched"] = watched
    if processors.here in samples:
        sample, throttled = samples[processors.here], processors.throttle_count()
        sample["orchestrator_ns"] = time.process_time_ns()
        if throttled is not None:
            sample["throttled"] = throttled
    return samples


def _slowdowns(setting: Setting, placed: Placed) -> dict[int, float]:
    """Share by which a loop takes longer now than at its fastest, for each of the processors that nodes on the path
    have. Empty where nodes are on several machines, or may run anywhere."""
    if setting.laboratory.topology.is_spread:
        return {}
    first: dict[int, Agent] = {}
    for name, agent in setting.watched.items():
        processors = placed.by_node.get(name, ())
        if len(processors) == 1:
            first.setdefault(processors[0], agent)
    asked = {processor: ask(agent, LoopTimes()) for processor, agent in first.items()}
    here = setting.laboratory.processors
    return {processor: here.slowdown(processor, item.answer()) for processor, item in asked.items()}


def _all_addresses(setting: Setting) -> list[str]:
    """The addresses of all nodes on the path, of both families, so that packets of the wrong family are seen too; and
    those that stand for the hosts on the legs behind translators. Where a CLAT asks by DHCP, that of everybody too."""
    topology = setting.network.topology
    results = {
        str(address.ip): None
        for node in setting.watched
        for link in topology.links_of(node)
        for address in (link.end_of(node).ipv4, link.end_of(node).ipv6)
        if address is not None
    }
    for legs in (setting.network.legs, *setting.others.values()):
        results |= {str(address): None for leg in legs for address in (leg.source, leg.destination)}
    return [*results, *([EVERYBODY] if setting.has_dhcp else [])]
