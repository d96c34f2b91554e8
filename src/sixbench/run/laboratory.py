"""A network that is up: agents that hold its nodes, built by `lab`."""

from __future__ import annotations

import contextlib
import time
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future
from itertools import count
from typing import Any

from ..agent import Agent, AgentHub
from ..lab.build import Completed, Undo, build_path
from ..lab.emulation import EMULATOR, emulated_links
from ..lab.steering import steer
from ..mechanisms import engine_of, install
from ..model.errors import AgentError, LabError
from ..model.experiment import Experiment
from ..model.network import Blueprint, Ends, Network
from ..model.path import Path

MAX_NODES_UP = 512
"""So many nodes of one experiment are kept up at a time, unless one network has more; an idle one costs nothing but
0.7 MiB of memory."""

UNDO_TIMEOUT_S = 5.0

ECHO_TIMEOUTS_NS = (500_000_000, 5_000_000_000)
"""How long answers are waited for, first and at last: on a link that loses packets one answer is enough, and there is
no need to wait long for the others."""

_NUMBERS = count()


class AgentNode:
    """An agent as `lab` sees it."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    @property
    def pid(self) -> int:
        """The agent's process, which holds the namespace."""
        return self.agent.pid

    def execute(self, argv: list[str], stdin: str = "") -> Future[Completed]:
        """Starts a command in the node."""
        done: Future[Completed] = Future()

        def finished(answer: Future[dict[str, Any]]) -> None:
            try:
                ok = answer.result()
                done.set_result(Completed(argv=argv, exit=ok["exit"], stdout=ok["stdout"], stderr=ok["stderr"]))
            except AgentError as error:
                done.set_exception(error)
            except KeyError as error:
                done.set_exception(AgentError("agent-broken", f"{self.agent.name}: exec was answered without {error}"))

        self.agent.submit("exec", argv=argv, stdin=stdin).add_done_callback(finished)
        return done

    def set_sysctl(self, values: Mapping[str, str]) -> Future[Any]:
        """Writes settings in the node."""
        return self.agent.submit("sysctl", set=dict(values))

    def request(self, op: str, fields: Mapping[str, Any]) -> Future[dict[str, Any]]:
        """Asks the agent for what no command does."""
        return self.agent.submit(op, **fields)


class Laboratory:
    """One network with one path installed, up until it is closed."""

    def __init__(self, hub: AgentHub, network: Blueprint, engine: str = "kernel") -> None:
        """Starts the agents and builds; leaves nothing behind where it raises `LabError`, `AgentError` or
        `CapabilityError`."""
        self._hub = hub
        self.number = next(_NUMBERS)
        self.topology = network.topology
        self.engine = engine
        self.unwatchable: str | None = None
        """Why its kernel does not tell what it drops, once it has refused."""
        self._undo: list[Undo] = []
        self._settled_ns = 0
        started_ns = time.monotonic_ns()
        extra = [EMULATOR] if emulated_links(network.topology) else []
        self.agents = hub.start([*network.topology.nodes, *extra])
        self.emulator = self.agents.pop(EMULATOR, None)
        """Carries the packets of emulated links; None where there are none, or netem does it."""
        try:
            nodes = {name: AgentNode(agent) for name, agent in self._all_agents().items()}
            steer(network.topology, nodes)
            self.install_ns, self._undo = build_path(network, engine, nodes)
        except BaseException:
            self.close()
            raise
        self.build_ns = time.monotonic_ns() - started_ns - self.install_ns

    @property
    def alive(self) -> bool:
        """Whether every node is still held."""
        return all(agent.alive for agent in self._all_agents().values())

    def _all_agents(self) -> dict[str, Agent]:
        return self.agents if self.emulator is None else self.agents | {EMULATOR: self.emulator}

    def unsettle(self, residual_ns: int) -> None:
        """Notes that traffic has ended, of which packets may be under way for so long."""
        self._settled_ns = time.monotonic_ns() + residual_ns

    def settle(self) -> None:
        """Waits until nothing is under way any more of the traffic before."""
        time.sleep(max(0, self._settled_ns - time.monotonic_ns()) / 1e9)

    def check_reachable(self, client: str, server: str, ends: Ends) -> None:
        """An echo from client to server and back: proves the routes, and resolves the neighbours. Raises `LabError`."""
        for timeout_ns in ECHO_TIMEOUTS_NS:
            try:
                result = self.agents[client].call(
                    "run",
                    session="reach",
                    workload="ping",
                    address=str(ends.client),
                    peer=str(ends.server),
                    port=0,
                    token="00" * 16,
                    params={"count": 3, "interval_ns": 1_000_000, "timeout_ns": timeout_ns},
                )
            except AgentError as error:
                raise LabError(f"checking that {client} reaches {server} over IPv{ends.family}: {error}") from error
            if result["received"]:
                return
        raise LabError(
            f"the network is up, but {client} ({ends.client}) gets no answer "
            f"from {server} ({ends.server}) over IPv{ends.family}"
        )

    def close(self) -> None:
        """Gives back what was asked for, and ends the agents; the kernel takes the network with them."""
        for undo in self._undo:
            with contextlib.suppress(AgentError):
                self.agents[undo.node].call(undo.op, timeout_s=UNDO_TIMEOUT_S, **undo.fields)
        self._undo = []
        self._hub.stop(list(self._all_agents().values()))


class Laboratories:
    """The networks of one experiment, built when first needed, the least recently used taken down beyond a limit.

    Paths share a network where theirs are the same: IPv4 and IPv6 from end to end do.
    """

    def __init__(self, hub: AgentHub, experiment: Experiment) -> None:
        self._hub = hub
        self._experiment = experiment
        self._up: OrderedDict[tuple[object, ...], Laboratory] = OrderedDict()
        self._networks: dict[tuple[str, int], Network] = {}
        self._reached: set[tuple[int, str]] = set()
        self.build_ns: list[int] = []
        self.install_ns: dict[str, list[int]] = {}

    def get(self, path: Path, index: int) -> tuple[Laboratory, Network]:
        """The network of that index with the path installed, built anew if one of its agents has died; and what the
        path's own network is, whose ends may differ where a network is shared."""
        network = self._networks.get((path.name, index))
        if network is None:
            network = install(path, self._experiment.topologies[index], self._experiment.between)
            self._networks[path.name, index] = network
        key: tuple[object, ...] = (index,)
        if network.tunnels:
            key = (index, path.mechanism, path.nodes, path.engine, *sorted(path.options.items()))
        laboratory = self._up.pop(key, None)
        if laboratory is not None and not laboratory.alive:
            laboratory.close()
            laboratory = None
        if laboratory is None:
            laboratory = self._built(path, network)
        self._up[key] = laboratory
        if (laboratory.number, path.name) not in self._reached:
            try:
                laboratory.check_reachable(*self._experiment.between, network.ends)
            except BaseException:
                self._up.pop(key).close()
                raise
            self._reached.add((laboratory.number, path.name))
        return laboratory, network

    def _built(self, path: Path, network: Network) -> Laboratory:
        size = len(network.topology.nodes)
        while self._up and size + sum(len(one.agents) for one in self._up.values()) > MAX_NODES_UP:
            self._up.popitem(last=False)[1].close()
        laboratory = Laboratory(self._hub, network, engine_of(path))
        self.build_ns.append(laboratory.build_ns)
        if network.tunnels:
            self.install_ns.setdefault(path.name, []).append(laboratory.install_ns)
        return laboratory

    def forget_times(self) -> None:
        """What is built from now on belongs to another run."""
        self.build_ns = []
        self.install_ns = {}

    def close(self) -> None:
        """Takes all of them down."""
        while self._up:
            self._up.popitem()[1].close()
