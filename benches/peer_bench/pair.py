"""Two namespaces, each held by an agent and on a processor of its own, and one measurement from start to end.

Between them are two veth pairs: on `super-packets` segmentation offload is on, and what crosses is whatever the
sender's kernel made; on `packets` it is off, and every packet is one of the MTU. Commands run as children of the
agents, which end them if we die; all that the agents hold goes with them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv6Interface
from pathlib import Path
from typing import Any, Protocol

from measure import begin_trial, topology_of

from sixbench.agent import Agent, AgentHub
from sixbench.bench.laboratory import Laboratory
from sixbench.model.errors import AgentError, LabError
from sixbench.model.network import Blueprint
from sixbench.model.topology import Interface

from . import capture
from .comparisons import Comparison, Observed, Wire
from .contender import FAMILIES, Command, Contender, Ends, Family, ToolReport, Trial, Unreadable
from .counters import Counters, captures, listens, read_counters
from .memory import Most, children, restart_high_water

TOPOLOGY = """
nodes: {client: host, server: host}
links:
  - {name: super-packets, endpoints: [client, server], offload: true}
  - {name: packets, endpoints: [client, server], offload: false}
"""
CONGESTION = "cubic"
"""Congestion control of every connection. The route sets it, for not every tool can, and a namespace may only set its
default to what the machine's administrator allows (`tcp_allowed_congestion_control`)."""

START_PACKETS = 200
"""So many have arrived: the traffic is under way."""
SETTLE_S = 0.15
MARGIN_S = 0.15
"""First and last part of a measurement: the window is between them."""
GRACE_S = 10.0
"""Time that a tool may take beyond the length that it was given."""
LOOK_S = 0.05
SKIP_NS = 150_000_000


class Failed(Exception):
    """A measurement came to nothing; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Results of one measurement.

    Attributes:
        value: by the comparison's yardstick.
        wire_pps: packets that arrived at the receiver's interface in the window; None where the traffic ended before.
        memory_bytes: the most that any of its processes had resident.
        gap_errors_ns: quantiles of the captured flow's errors, by name; None where nothing was captured.
        command: as it was run: both command lines, or the workload with its parameters.
    """

    value: float
    tool_report: ToolReport
    wire_pps: float | None
    memory_bytes: int | None
    gap_errors_ns: dict[str, float] | None
    command: list[str]


class Pair:
    """The network; a context manager that takes it down."""

    def __init__(self, hub: AgentHub, *, pinned: bool) -> None:
        self._laboratory = Laboratory(hub, Blueprint(topology=topology_of(TOPOLOGY)))
        try:
            self.client, self.server = (self._laboratory.agents[name] for name in ("client", "server"))
            for agent, cpu in ((self.client, 0), (self.server, 1)):
                for link in self._laboratory.topology.links:
                    for family in FAMILIES:
                        _set_congestion(agent, link.end_of(agent.name), family)
                for task in Path(f"/proc/{agent.pid}/task").iterdir() if pinned else ():
                    os.sched_setaffinity(int(task.name), {cpu})
        except BaseException:
            self._laboratory.close()
            raise

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *_: object) -> None:
        self._laboratory.close()

    def measure(self, comparison: Comparison, contender: Contender, family: Family, seconds: int) -> Measured:
        """One measurement. Raises `Failed`."""
        ends, interface = self._ends(comparison.wire, family)
        for agent in (self.client, self.server):
            restart_high_water(agent.pid)
        traffic = contender.traffic(ends, seconds)
        try:
            with contextlib.ExitStack() as stack:
                taken = stack.enter_context(_Capture(self.server, interface, ends)) if comparison.captured else None
                running = _OfAgents(self, ends, traffic) if isinstance(traffic, Trial) else Theirs(self, traffic)
                before = self._counters(interface, family)
                window = stack.enter_context(running).watch(seconds, lambda: self._counters(interface, family))
                finish = running.finish()
                whole = self._counters(interface, family).since(before)
                times = taken.finish() if taken else None
            errors = None if times is None else capture.gap_errors_ns(times, 100_000, SKIP_NS)
            seen = Observed(window=window, whole=whole, tool_report=finish, gap_errors_ns=errors)
            value = comparison.value(seen)
        except (AgentError, Unreadable, LookupError, ValueError) as error:
            raise Failed(str(error)) from error
        if value is None:
            raise Failed("too little arrived" if window else "it ended before the end of the window")
        return Measured(
            value=value,
            tool_report=finish,
            wire_pps=window.a_second(window.rx_packets) if window else None,
            memory_bytes=running.most.bytes,
            gap_errors_ns=None if errors is None else capture.quantiles_ns(errors),
            command=_as_run(traffic),
        )

    def _ends(self, wire: Wire, family: Family) -> tuple[Ends, str]:
        link = next(link for link in self._laboratory.topology.links if link.name == wire)
        client, server = link.end_of("client"), link.end_of("server")
        ends = Ends(family=family, client=str(_address(client, family).ip), server=str(_address(server, family).ip))
        return ends, server.name

    def _counters(self, interface: str, family: int) -> Counters:
        return read_counters(self.server.pid, interface, family)


class _Running(ABC):
    """Traffic that is going on; leaving the context ends what is left of it."""

    client: Future[dict[str, Any]]

    def __init__(self) -> None:
        self.most = Most()

    @abstractmethod
    def pids(self) -> list[int]:
        """Its processes, as far as they run."""

    def watch(self, seconds: int, read: Callable[[], Counters]) -> Counters | None:
        """Waits for the traffic to begin, and counts what arrives in the middle of it; None where it ended before."""
        first = read()
        deadline = time.monotonic() + GRACE_S
        while read().since(first).rx_packets < START_PACKETS:
            self.most.look(self.pids())
            if self.client.done():
                return None
            if time.monotonic() > deadline:
                raise Failed(f"no traffic within {GRACE_S:g} s")
            time.sleep(0.01)
        time.sleep(SETTLE_S)
        start = read()
        until = time.monotonic() + seconds - SETTLE_S - MARGIN_S
        while (left := until - time.monotonic()) > 0:
            self.most.look(self.pids())
            time.sleep(min(left, LOOK_S))
        window = read().since(start)
        return None if self.client.done() else window


class _OfAgents(_Running):
    """A trial of the agents, ours or of programs that they start."""

    def __init__(self, pair: Pair, ends: Ends, trial: Trial) -> None:
        super().__init__()
        self._pair, self._trial = pair, trial
        self._session, self.client = begin_trial(
            *(pair.client, pair.server, ends.client, ends.server, trial.workload, dict(trial.params)),
            server_program=trial.server,
            client_program=trial.client,
        )

    def __enter__(self) -> _OfAgents:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.client.done():
            for agent in (self._pair.client, self._pair.server):
                with contextlib.suppress(AgentError):
                    agent.call("cancel", session=self._session)

    def pids(self) -> list[int]:
        agents = [self._pair.client.pid, self._pair.server.pid]
        return [pid for agent in agents for pid in children(agent)] if self._trial.has_program else agents

    def finish(self) -> ToolReport:
        client = self._pair.client.wait(self.client, "run", GRACE_S)
        sent = {"sent": client["sent"]} if "sent" in client else {}
        server = self._pair.server.call("finish", session=self._session, timeout_ns=2_000_000_000, **sent)
        self.most.look(self.pids())
        return self._trial.read(client, server)


class Hosts(Protocol):
    """The namespaces that the two programs of a tool run in."""

    client: Agent
    server: Agent


class Theirs(_Running):
    """The two programs of a tool; a context manager that ends them."""

    def __init__(self, pair: Hosts, command: Command) -> None:
        super().__init__()
        self._pair, self._command = pair, command
        self._others = set(self._children())
        self._server = _exec(pair.server, command.server)
        self.client = Future()
        try:
            self._wait_for_server()
            self.client = _exec(pair.client, command.client)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Theirs:
        return self

    def __exit__(self, *_: object) -> None:
        self._end(signal.SIGKILL)

    def pids(self) -> list[int]:
        return [pid for pid in self._children() if pid not in self._others]

    def finish(self) -> ToolReport:
        """Waits for the client, and returns what the tool says. Raises `Failed` or `Unreadable`."""
        client = self._pair.client.wait(self.client, "exec", GRACE_S)
        if not self._command.server_ends:
            self._end(signal.SIGINT)
        try:
            server = self._server.result(timeout=2)
        except FutureTimeoutError:
            self._end(signal.SIGKILL)
            server = self._server.result(timeout=2)
        if client["exit"] != 0:
            text = " ".join((client["stderr"] + client["stdout"]).split())[-200:]
            raise Failed(f"{self._command.client[0]} ended with {client['exit']}: {text}")
        return self._command.read(client["stdout"], server["stdout"])

    def _wait_for_server(self) -> None:
        transport, port = self._command.listens
        deadline = time.monotonic() + GRACE_S
        while not listens(self._pair.server.pid, transport, port):
            if self._server.done():
                ended = self._server.result()
                text = " ".join((ended["stderr"] + ended["stdout"]).split())[-200:]
                raise Failed(f"{self._command.server[0]} ended with {ended['exit']} instead of listening: {text}")
            if time.monotonic() > deadline:
                raise Failed(f"{self._command.server[0]} does not listen on {transport} port {port}")
            time.sleep(0.005)

    def _children(self) -> list[int]:
        return children(self._pair.client.pid) + children(self._pair.server.pid)

    def _end(self, number: signal.Signals) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


class _Capture:
    """tcpdump at the receiver while the context lasts."""

    def __init__(self, server: Agent, interface: str, ends: Ends) -> None:
        self._server, self._family = server, ends.family
        self._directory = tempfile.TemporaryDirectory(prefix="sixbench-peers-")
        self._file = Path(self._directory.name, "flow.pcap")
        self._command = capture.command(interface, ends.server, str(self._file))

    def __enter__(self) -> _Capture:
        others = set(children(self._server.pid))
        self._running = _exec(self._server, self._command)
        deadline = time.monotonic() + GRACE_S
        # tcpdump has its socket before it has its file.
        while not (captures(self._server.pid) and self._file.exists()):
            if self._running.done() or time.monotonic() > deadline:
                self.__exit__()
                raise Failed("tcpdump did not begin to capture")
            time.sleep(0.01)
        self._pids = [pid for pid in children(self._server.pid) if pid not in others]
        return self

    def finish(self) -> Any:
        """Ends it; arrival times of the flow."""
        self._end(signal.SIGINT)
        self._running.result(timeout=GRACE_S)
        return capture.flow_times_ns(self._file.read_bytes(), self._family)

    def __exit__(self, *_: object) -> None:
        self._end(signal.SIGKILL)
        self._directory.cleanup()

    def _end(self, number: signal.Signals) -> None:
        for pid in self._pids:
            if not self._running.done():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    _pids: list[int] = []  # noqa: RUF012
    _running: Future[dict[str, Any]] = Future()


def _set_congestion(agent: Agent, interface: Interface, family: Family) -> None:
    address = _address(interface, family)
    source = ["src", str(address.ip)] if family == 4 else []
    route = [str(address.network), "dev", interface.name, "proto", "kernel", *source, "congctl", CONGESTION]
    metric = ["metric", "256"] if family == 6 else ["scope", "link"]
    done = agent.call("exec", argv=["ip", f"-{family}", "route", "replace", *route[:5], *metric, *route[5:]])
    if done["exit"] != 0:
        raise LabError(f"setting the congestion control of {agent.name} to {CONGESTION}: {done['stderr'].strip()}")


def _address(interface: Interface, family: Family) -> IPv4Interface | IPv6Interface:
    address = interface.address(family)
    assert address is not None  # the topology above has both
    return address


def _exec(agent: Agent, argv: list[str]) -> Future[dict[str, Any]]:
    return agent.submit("exec", argv=argv, timeout_ns=int((2 * GRACE_S + 60) * 1e9))


def _as_run(traffic: Command | Trial) -> list[str]:
    if isinstance(traffic, Trial):
        programs = [" ".join(end.argv) for end in (traffic.server, traffic.client) if end is not None]
        return programs or [
            f"{traffic.workload} {' '.join(f'{name}={value}' for name, value in traffic.params.items())}"
        ]
    return [" ".join(traffic.server), " ".join(traffic.client)]
