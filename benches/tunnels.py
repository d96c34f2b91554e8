"""Tunnels against native forwarding of the packets that they carry, through two routers, in pairs of short rounds.

All nodes are on one processor (`together`). So a rate is the inverse of what a packet costs all of them, and no wake-up
of another processor is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

import paired
from measure import SECONDS, WARMUP_S, begin_trial, bytes_per_s, our_trial, topology_of
from table import Figure, Table, show

from sixbench.agent import AgentHub
from sixbench.bench.engines import why_not
from sixbench.bench.laboratory import Laboratory
from sixbench.bench.processors import Processors
from sixbench.engines import ENGINES
from sixbench.mechanisms import MECHANISMS, install
from sixbench.model.errors import LabError
from sixbench.model.network import Network
from sixbench.model.path import Path
from sixbench.model.placement import Placement
from sixbench.model.topology import Topology

BETWEEN = ("h1", "h2")
NEAR_SERVER = "r2"
"""The router beside the server."""
ENDPOINTS = ("[h1, r1]", "[r1, r2]", "[r2, h2]")

STREAM_TARGETS = {"6in4": ">= 0.95"}
OTHER_STREAM_TARGET = ">= 0.92"
PACKETS_TARGET = ">= 0.9"
SLOW_PATH_TARGET = ">= 100"
INSTALL_TARGET = "< 0.1"
SLOW_PATH_TRIALS, SLOW_PATH_SECONDS = 3, 0.5
APART = ("6in4", "4in6")
"""Also measured with the server on a processor of its own."""
SAME_PROGRAMS = frozenset({"tunnel-broker", "dstm"})
"""Packets take the programs of `6in4` and `4in6` once the tunnel stands. So they are measured there."""
SLOW_PATH = "6in4"
"""The slow path is measured with this one: it is the same for all."""
WITH_NAT44 = frozenset({"ds-lite", "lw4o6", "map-e"})
"""They translate addresses too, so what they are made of translates them as well: 4in6 with the kernel's NAT44."""

MESSAGE_BYTES = 512 * 1024
"""Message of a stream. The kernel cuts a message into super-packets of up to 64 KiB, of whole segments. What is left is
a packet of its own if it is a segment or more, and costs as much as a long one. Of 128 KiB the segments of a tunnel
(1408 bytes) leave 1536 bytes, and native ones over IPv4 (1448 bytes) leave 752, which wait for the next message. So
packets of a tunnel were fewer bytes, and that was in its share. Of 512 KiB each path has one such packet in nine."""
RECEIVE_BUFFER_BYTES = 512 * 1024
"""Receive buffer of a stream. With the kernel's own, what is under way grows beyond the processor's cache, or does not,
and rounds scatter by 4 to 8 %. With this one they scatter by 1 to 2 % (2026-11-28)."""
DATAGRAM_BYTES = 64
MOST_BUILDS = 30
"""Most builds of a path, each of which is timed."""
MIN_RUNS = 1000
"""Runs of a program that its mean needs more of."""

NAT44 = """table ip bench {
  chain translation {
    type nat hook postrouting priority srcnat; policy accept;
    oifname != "4in6*" masquerade
  }
}
"""


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """Path that a tunnel is compared with.

    Attributes:
        name: as the table has it.
        path: the way of the packets.
        translates: whether the router beside the server masquerades its connections.
    """

    name: str
    path: Path
    translates: bool = False


class Up:
    """A network that is up, and its trials."""

    def __init__(
        self,
        hub: AgentHub,
        processors: Processors,
        topology: Topology,
        path: Path,
        placement: Placement = "together",
        translates: bool = False,
    ) -> None:
        self.network: Network = install(path, topology, BETWEEN)
        self.lab = Laboratory(hub, self.network, path.engine or "kernel", processors)
        try:
            first, last = self.network.legs[0], self.network.legs[-1]
            self._addresses = str(first.source), str(first.destination)
            self._client_seen, self._server_own = str(last.source), str(last.destination)
            if translates:
                self._client_seen = self._translate(topology)
            self.lab.pin_nodes(placement, list(self.lab.agents))
            self.lab.check_reachable(self.network.legs)
        except BaseException:
            self.lab.close()
            raise

    def __enter__(self) -> Up:
        return self

    def __exit__(self, *_: object) -> None:
        self.lab.close()

    def goodput_bps(self, seconds: float = SECONDS, warmup_s: float = WARMUP_S) -> float:
        """Goodput of one TCP stream. Raises `LabError` where nothing arrives."""
        stream = {"message_bytes": MESSAGE_BYTES, "rcvbuf_bytes": RECEIVE_BUFFER_BYTES}
        return 8 * bytes_per_s(
            lambda: self._served("tcp-stream", stream, seconds, warmup_s)["forward_receiver"], "a TCP stream"
        )

    def packets_pps(self, seconds: float = SECONDS, warmup_s: float = WARMUP_S) -> float:
        """Datagrams of 64 bytes that arrive of a flood, each sent by a system call of its own. Raises `LabError` where
        none arrives."""
        flood = {"datagram_bytes": DATAGRAM_BYTES, "segmentation": "never", "batch": 1}
        rate = bytes_per_s(lambda: self._served("udp-stream", flood, seconds, warmup_s), "a flood of datagrams")
        return rate / DATAGRAM_BYTES

    def connections(self, params: dict[str, object], patience_s: float) -> dict:
        """Results of the client for connections that it opened, held and asked."""
        agents = [self.lab.agents[name] for name in BETWEEN]
        seen = self._client_seen, self._server_own
        session, running = begin_trial(*agents, *self._addresses, "connections", params, *seen)
        result = agents[0].wait(running, "run", patience_s)
        agents[1].call("finish", session=session, timeout_ns=int(patience_s * 1e9))
        return result

    def _served(self, workload: str, params: dict[str, object], seconds: float, warmup_s: float) -> dict:
        agents = (self.lab.agents[name] for name in BETWEEN)
        _, served = our_trial(
            *agents,
            *self._addresses,
            workload,
            params,
            self._client_seen,
            self._server_own,
            seconds=seconds,
            warmup_s=warmup_s,
        )
        return served

    def _translate(self, topology: Topology) -> str:
        done = self.lab.agents[NEAR_SERVER].call("exec", argv=["nft", "-f", "-"], stdin=NAT44)
        if done["exit"]:
            raise LabError(f"translating addresses for a comparison: nft: {done['stderr'].strip()}")
        link = next(link for link in topology.links if {end.node for end in link.ends} == {NEAR_SERVER, BETWEEN[1]})
        public = link.end_of(NEAR_SERVER).ipv4
        assert public is not None  # every link of the row has both families
        return str(public.ip)


Take = Callable[[Up], float]


def bench_tunnels(hub: AgentHub, table: Table) -> None:
    """The mechanisms by every engine that works here: TCP with offloads; packets, run times, slow path without."""
    with_offload, without = (row_of_routers(word) for word in ("true", "false"))
    tunnels = [name for name, mechanism in MECHANISMS.items() if mechanism.headers and name not in SAME_PROGRAMS]
    bench = Comparing(hub, table)
    for path in working_paths(hub, with_offload, tunnels):
        if path.engine == "user":
            if path.mechanism == SLOW_PATH:
                slow_path(hub, table, without, path)
            continue
        base = baseline(path)
        programs = Programs(path, without) if path.engine == "ebpf" else None
        target = STREAM_TARGETS.get(path.mechanism, OTHER_STREAM_TARGET)
        bench.compare(with_offload, path, base, "TCP", Up.goodput_bps, target, programs=programs)
        if path.mechanism in APART:
            bench.compare(with_offload, path, base, "TCP apart", Up.goodput_bps, target, placement="apart")
        bench.compare(without, path, base, "packets", Up.packets_pps, PACKETS_TARGET, programs=programs)
        if programs is not None:
            programs.tell(hub, table)
    same = Baseline(name="native6", path=native(6))
    bench.compare(with_offload, native(6), same, "TCP", Up.goodput_bps, "")
    bench.compare(without, native(6), same, "packets", Up.packets_pps, "")


def row_of_routers(offload: str) -> Topology:
    """Two hosts and two routers between them, on links as fast as the machine."""
    links = ", ".join(f"{{endpoints: {ends}, offload: {offload}}}" for ends in ENDPOINTS)
    return topology_of(f"nodes: {{h1: host, r1: router, r2: router, h2: host}}\nlinks: [{links}]\n")


def native(family: int) -> Path:
    """Without a tunnel."""
    return Path(name=f"native{family}", mechanism=f"native{family}", family=family)


def baseline(path: Path) -> Baseline:
    """Native forwarding of the family that the tunnel carries, or what the mechanism is made of."""
    if path.mechanism not in WITH_NAT44:
        return Baseline(name="native", path=native(path.family))
    mechanism = MECHANISMS["4in6"]
    softwire = Path(name="4in6", mechanism="4in6", family=4, nodes=mechanism.sample, engine=path.engine)
    return Baseline(name="4in6 + NAT44", path=softwire, translates=True)


def working_paths(hub: AgentHub, topology: Topology, mechanisms: Collection[str]) -> list[Path]:
    """A path of each of these mechanisms by each engine of ours or of the kernel's that works here."""
    probe = hub.start(["probe"])["probe"]
    paths = []
    for mechanism in (MECHANISMS[name] for name in mechanisms):
        for engine in (name for name in mechanism.engines if mechanism.sample and name in ENGINES):
            path = Path(
                name=f"{mechanism.name}-{engine}",
                mechanism=mechanism.name,
                family=mechanism.family({}),
                nodes=mechanism.sample,
                engine=engine,
            )
            reason = why_not(probe, install(path, topology, BETWEEN), engine)
            if reason is None:
                paths.append(path)
            elif engine != "kernel":
                show(f"{path.name}: {reason}", "", "", "", "")
    hub.stop([probe])
    return paths


class Programs:
    """Time that it takes to install a path, in each network of its comparisons, and the mean run time of its programs
    over a flood of datagrams, in those without offloads. If the first of them do not decide the time, the path is
    installed alone.

    Args:
        without: the topology without offloads.
    """

    def __init__(self, path: Path, without: Topology) -> None:
        self.name = f"{path.name}, installing, s"
        self._path = path
        self._without = without
        self._installing = Figure(self.name, INSTALL_TARGET, MOST_BUILDS)
        self._runs: dict[str, Figure] = {}
        if install(path, without, BETWEEN).tunnels:
            names = ("encapsulate", "decapsulate")
            self._runs = {name: Figure(f"{path.name}, {name}, ns a run") for name in names}
        self._is_told = False

    def look_at(self, up: Up, topology: Topology) -> None:
        """Adds what a network shows of them. Once they are printed they need no more."""
        if self._is_told:
            return
        self._installing.values.append(up.lab.install_ns / 1e9)
        if not self._runs or topology is not self._without:
            return
        agents = [up.lab.agents[node] for node in up.network.device_nodes]
        for agent in agents:
            agent.call("tunnel-counters", run_time="start")
        up.packets_pps()
        measured = [agent.call("tunnel-counters", run_time="stop")["tunnels"] for agent in agents]
        for program, figure in self._runs.items():
            times = [device["programs"][program] for devices in measured for device in devices.values()]
            figure.values += [time["run_time_ns"] / time["runs"] for time in times if time["runs"] > MIN_RUNS]

    def tell(self, hub: AgentHub, table: Table) -> None:
        """Prints them, or measures on."""

        def measure() -> None:
            with closing(Processors(hub)) as processors, Up(hub, processors, self._without, self._path) as up:
                self.look_at(up, self._without)

        table.measure([self], measure, first=0)

    def look(self) -> bool:
        """True if the time is decided."""
        return self._installing.look()

    def show(self, *, is_over: bool) -> None:
        """Prints them."""
        self._is_told = True
        for figure in (self._installing, *self._runs.values()):
            figure.show(is_over=is_over)


class Comparing:
    """Both networks up at the same time, measured in turn."""

    def __init__(self, hub: AgentHub, table: Table) -> None:
        self._hub = hub
        self._table = table

    def compare(
        self,
        topology: Topology,
        path: Path,
        base: Baseline,
        what: str,
        take: Take,
        target: str,
        *,
        placement: Placement = "together",
        programs: Programs | None = None,
    ) -> None:
        """The path over its baseline. What its programs take is measured after the rounds, in the same network."""

        @contextmanager
        def build() -> Iterator[paired.Pair]:
            # Of both: they are to be on the same ones.
            with closing(Processors(self._hub)) as processors, ExitStack() as stack:
                enter_context = stack.enter_context(Up(self._hub, processors, topology, path, placement))
                translates = base.translates
                other = stack.enter_context(Up(self._hub, processors, topology, base.path, placement, translates))
                yield lambda: take(enter_context), lambda: take(other)
                if programs is not None:
                    programs.look_at(enter_context, topology)

        ratio = Figure(f"{path.name}, {what} / {base.name}", target)
        first = paired.BUILDS if target else paired.BUILDS_WITHOUT_TARGET
        self._table.measure([ratio], lambda: ratio.values.extend(paired.ratios(build)), first)


def slow_path(hub: AgentHub, table: Table, topology: Topology, path: Path) -> None:
    """Datagrams of 64 bytes through both ends in user space. Each has a thread of its own, so nothing is pinned."""
    figure = Figure(f"{path.name}, thousand packets/s", SLOW_PATH_TARGET)

    def measure() -> None:
        with closing(Processors(hub)) as processors, Up(hub, processors, topology, path, "free") as up:
            for _ in range(SLOW_PATH_TRIALS):
                figure.values.append(up.packets_pps(SLOW_PATH_SECONDS, warmup_s=0.2) / 1000)

    table.measure([figure], measure, paired.BUILDS)
