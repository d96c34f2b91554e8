"""The traffic of a trial, and what is observed of it meanwhile: captures on every link, counters before and after."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from typing import Any

from ..agent import Agent
from ..lab.queues import queue_bytes
from ..model.direction import Direction
from ..model.errors import AgentError
from ..model.experiment import LinkChange
from ..model.network import Ends, Network
from ..model.topology import Family, Link, Topology
from ..model.trace import Trace
from ..model.workload import Part, Scalar, WorkloadKind
from . import emulation
from .cpu import ORCHESTRATOR
from .drop_watch import Drops, DropWatch
from .events import Events, forget_path_mtu
from .evidence import Viewpoint
from .hardware_counters import Counted, HardwareCounters
from .laboratory import Laboratory
from .parts import Hosts, parts_of, run_parts, trial_expected_ns
from .session import ANSWER_TIMEOUT_S, GRACE_NS, UNTIMED_LIMIT_NS

CAPTURE_PACKETS = 64
CAPTURE_SNAPLEN_BYTES = 192
"""So many packets of each link prove the path, by their headers: the deepest stack that is measured, VXLAN over IPv6
with TCP's options, takes 186."""
SHARED_CAPTURE_PACKETS = 1024
"""Where flows of two families share the links, one may send many packets before the other sends any."""
KEPT_PACKETS = 4096
WHOLE_PACKET_BYTES = 65535

LONGEST_PACKET_BYTES = 65535
MAX_RESIDUAL_NS = 2_000_000_000
BUSY_NS = 300_000_000
"""What forwarding a packet may take on a machine that is busy with other things, all nodes together."""

PROGRAM_TIME_NS = 200_000_000
"""For so long from the start on, the run time of BPF programs is measured: each run takes some 20 ns longer then."""


@dataclass(kw_only=True)
class Observed:
    """What was gathered so far; a failure leaves the rest empty."""

    client: dict[str, Any] = field(default_factory=dict)
    server: dict[str, Any] = field(default_factory=dict)
    captures: list[dict[str, Any]] = field(default_factory=list)
    tunnels_before: dict[str, Any] = field(default_factory=dict)
    tunnels_after: dict[str, Any] = field(default_factory=dict)
    programs: dict[str, Any] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    drops: Drops = field(default_factory=Drops)
    emulated: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    cpu_before: dict[str, Any] = field(default_factory=dict)
    cpu_after: dict[str, Any] = field(default_factory=dict)
    hardware: Counted = field(default_factory=Counted)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Where a trial takes place.

    Attributes:
        views: where it is observed, from client to server.
        is_bpf: whether programs of ours carry it.
        keeps_packets: whether the packets of every link are kept.
        seed: what the choices of emulated links depend on, in words.
        events: what changes in its midst; then there is no prediction to hold it against.
        traces: what is sent of captures, by the name that parameters give.
        others: the addresses of the family that is not the path's own, where the workload needs it too.
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
    others: Mapping[Family, Ends] = field(default_factory=dict)
    prefers_ipv4: bool = False

    @property
    def snaplen_bytes(self) -> int:
        """How much of each packet is captured."""
        return WHOLE_PACKET_BYTES if self.keeps_packets else CAPTURE_SNAPLEN_BYTES

    @property
    def capture_packets(self) -> int:
        """How many packets of each link are captured."""
        if self.keeps_packets:
            return KEPT_PACKETS
        return SHARED_CAPTURE_PACKETS if self.others else CAPTURE_PACKETS

    @property
    def watched(self) -> dict[str, Agent]:
        """The nodes on the way, from client to server."""
        names = [self.between[0], *(view.segment.far for view in self.views)]
        return {name: self.laboratory.agents[name] for name in names}

    @property
    def hosts(self) -> Hosts:
        """Both ends, with their addresses in the families that the trial needs."""
        client, server = (self.laboratory.agents[name] for name in self.between)
        own = self.network.ends.family
        return Hosts(
            client=client,
            server=server,
            own=own,
            ends={**self.others, own: self.network.ends},
            first_silence_ns=first_silence_ns(self.network),
            prefers_ipv4=self.prefers_ipv4,
        )

    @property
    def tunnelling(self) -> dict[str, Agent]:
        """The nodes whose agents carry tunnels themselves."""
        if self.laboratory.engine == "kernel":
            return {}
        return {name: self.laboratory.agents[name] for name in self.network.encapsulators()}


def perform(kind: WorkloadKind, params: dict[str, Scalar], key: str, setting: Setting, observed: Observed) -> None:
    """Runs the workload and fills `observed`. Raises `AgentError` or `LabError`, with what was seen so far kept."""
    parts = [_with_trace(part, setting) for part in parts_of(kind, params)]
    timed_ns = trial_expected_ns(kind, params)
    limit_ns = UNTIMED_LIMIT_NS if timed_ns is None else timed_ns + GRACE_NS * len(parts)
    token = secrets.token_hex(16)
    captured: list[tuple[Agent, str]] = []
    hardware = HardwareCounters(setting.hosts.client, observed.hardware)
    drops = DropWatch(setting.laboratory, setting.watched, token, observed.drops)
    try:
        setting.laboratory.settle()
        forget_path_mtu(setting.laboratory, dict.fromkeys([*setting.between, *setting.network.encapsulators()]))
        observed.tunnels_before = _tunnel_counters(setting)
        observed.before = _counters(setting)
        drops.start()
        captured = _start_captures(setting, key, int(params.get("warmup_ns", 0)), limit_ns)
        if setting.is_bpf:
            _tunnel_counters(setting, "start")
        emulation.begin(setting.laboratory, setting.seed, token)
        observed.cpu_before = _cpu(setting)
        hardware.start()
        with Events(setting.laboratory, setting.events) as events:

            def started(running: Sequence[Future[dict[str, Any]]]) -> None:
                events.start()
                observed.events = events.done
                if setting.is_bpf:
                    wait(running, timeout=PROGRAM_TIME_NS / 1e9)
                    observed.programs = _tunnel_counters(setting, "stop")

            observed.client, observed.server = run_parts(parts, setting.hosts, key, token, started)
    finally:
        with contextlib.suppress(AgentError):
            hardware.stop()
        with contextlib.suppress(AgentError):
            observed.cpu_after = _cpu(setting)
        for agent, name in captured:
            with contextlib.suppress(AgentError):
                observed.captures.append(agent.call("capture-stop", timeout_s=ANSWER_TIMEOUT_S, capture=name))
        with contextlib.suppress(AgentError):
            drops.stop()
        with contextlib.suppress(AgentError):
            observed.after = _counters(setting)
            observed.tunnels_after = _tunnel_counters(setting)
        observed.emulated = emulation.end(setting.laboratory)
        setting.laboratory.unsettle(residual_ns(setting.network.topology))


def first_silence_ns(network: Network) -> int:
    """How long after a flow's end its first datagram may still come, where none has: each link's delay and the time on
    the wire of the longest packet that there is, and what a busy machine takes."""
    return BUSY_NS + _crossing_ns(network.topology, lambda link, direction: LONGEST_PACKET_BYTES)


def residual_ns(topology: Topology) -> int:
    """How long packets may still be under way when a trial is over, at most the two seconds of RFC 2544 section 23:
    what the queues hold, at their rates, and the delays."""
    return min(_crossing_ns(topology, queue_bytes), MAX_RESIDUAL_NS)


def _crossing_ns(topology: Topology, sent_bytes: Callable[[Link, Direction], int]) -> int:
    """The longest delay of every link, and the time that so many bytes take at its rate, where it has one; of its
    directions, and of what events make of them, the slowest."""
    return sum(
        max(_passing_ns(link, direction, sent_bytes) for state in link.states for direction in state)
        for link in topology.wires
    )


def _passing_ns(link: Link, direction: Direction, sent_bytes: Callable[[Link, Direction], int]) -> int:
    sending_ns = 8 * sent_bytes(link, direction) * 10**9 // direction.rate_bps if direction.rate_bps is not None else 0
    return direction.impairments.longest_delay_ns + sending_ns


def _with_trace(part: Part, setting: Setting) -> Part:
    """The datagrams of a capture in the place of its name."""
    if "trace" not in part.params:
        return part
    datagrams: Any = setting.traces[str(part.params["trace"])].datagrams
    return replace(part, params=part.params | {"trace": datagrams})


def _start_captures(setting: Setting, key: str, after_ns: int, limit_ns: int) -> list[tuple[Agent, str]]:
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
            max_packets=setting.capture_packets,
            max_ns=limit_ns,
            snaplen_bytes=setting.snaplen_bytes,
        )
        started.append((agent, name))
    return started


def _tunnel_counters(setting: Setting, run_time: str | None = None) -> dict[str, Any]:
    """By node and device."""
    agents = setting.tunnelling
    futures = {name: agent.submit("tunnel-counters", run_time=run_time) for name, agent in agents.items()}
    return {
        name: agents[name].wait(future, "tunnel-counters", ANSWER_TIMEOUT_S)["tunnels"]
        for name, future in futures.items()
    }


def _counters(setting: Setting) -> dict[str, Any]:
    watched = setting.watched
    futures = {name: agent.submit("counters") for name, agent in watched.items()}
    return {name: watched[name].wait(future, "counters", ANSWER_TIMEOUT_S) for name, future in futures.items()}


def _cpu(setting: Setting) -> dict[str, Any]:
    """A sample of the whole machine, and what this process itself has spent until then."""
    sample = setting.hosts.client.call("cpu", timeout_s=ANSWER_TIMEOUT_S)
    return sample | {ORCHESTRATOR: time.process_time_ns()}


def _all_addresses(setting: Setting) -> list[str]:
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
