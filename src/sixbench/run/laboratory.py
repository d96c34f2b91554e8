"""A network that is up: agents that hold its nodes, built by `lab`."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from ..agent import Agent, AgentHub
from ..lab.build import Completed, build
from ..model.errors import AgentError, LabError
from ..model.topology import Topology

MAX_LABORATORIES = 6
"""So many networks of one experiment are kept up at a time; an idle one costs nothing but memory."""


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


class Laboratory:
    """One network, up until it is closed."""

    def __init__(self, hub: AgentHub, topology: Topology) -> None:
        """Starts the agents and builds; leaves nothing behind where it raises `LabError`, `AgentError` or
        `CapabilityError`."""
        self._hub = hub
        self.topology = topology
        started_ns = time.monotonic_ns()
        self.agents = hub.start(list(topology.nodes))
        try:
            build(topology, {name: AgentNode(agent) for name, agent in self.agents.items()})
        except BaseException:
            self.close()
            raise
        self.build_ns = time.monotonic_ns() - started_ns

    @property
    def alive(self) -> bool:
        """Whether every node is still held."""
        return all(agent.alive for agent in self.agents.values())

    def check_reachable(self, client: str, server: str, families: set[int]) -> None:
        """One echo each way of each family: proves the routes, and resolves the neighbours. Raises `LabError`."""
        for family in sorted(families):
            source, destination = end_addresses(self.topology, client, server, family)
            try:
                result = self.agents[client].call(
                    "run",
                    session=f"reach-{family}",
                    workload="ping",
                    address=source,
                    peer=destination,
                    port=0,
                    token="00" * 16,
                    params={"count": 3, "interval_ns": 1_000_000, "timeout_ns": 5_000_000_000},
                )
            except AgentError as error:
                raise LabError(f"checking that {client} reaches {server} over IPv{family}: {error}") from error
            if not result["received"]:
                raise LabError(
                    f"the network is up, but {client} ({source}) gets no answer "
                    f"from {server} ({destination}) over IPv{family}"
                )

    def close(self) -> None:
        """Ends the agents; the kernel takes the network with them."""
        self._hub.stop(list(self.agents.values()))


def end_addresses(topology: Topology, client: str, server: str, family: int) -> tuple[str, str]:
    """The addresses that client and server use: those of their links on the route between them. Raises `LabError`."""
    route = topology.route(client, server)
    if not route:
        raise LabError(f"no way leads from {client} to {server}")
    ends = (route[0].end_of(client), route[-1].end_of(server))
    addresses = []
    for end in ends:
        address = end.ipv4 if family == 4 else end.ipv6
        if address is None:
            raise LabError(f"{end.name} of {end.node} has no IPv{family} address")
        addresses.append(str(address.ip))
    return addresses[0], addresses[1]


class Laboratories:
    """The networks of one experiment, built when first needed, the least recently used taken down beyond a limit."""

    def __init__(
        self, hub: AgentHub, topologies: tuple[Topology, ...], between: tuple[str, str], families: set[int]
    ) -> None:
        self._hub = hub
        self._topologies = topologies
        self._between = between
        self._families = families
        self._up: OrderedDict[int, Laboratory] = OrderedDict()
        self.build_ns: list[int] = []

    def get(self, index: int) -> Laboratory:
        """The network of that index, built anew if one of its agents has died."""
        laboratory = self._up.pop(index, None)
        if laboratory is not None and not laboratory.alive:
            laboratory.close()
            laboratory = None
        if laboratory is None:
            while len(self._up) >= MAX_LABORATORIES:
                self._up.popitem(last=False)[1].close()
            laboratory = Laboratory(self._hub, self._topologies[index])
            self.build_ns.append(laboratory.build_ns)
            try:
                laboratory.check_reachable(*self._between, self._families)
            except BaseException:
                laboratory.close()
                raise
        self._up[index] = laboratory
        return laboratory

    def close(self) -> None:
        """Takes all of them down."""
        while self._up:
            self._up.popitem()[1].close()
