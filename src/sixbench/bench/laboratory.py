"""A network that is up: agents that hold its nodes, built by `lab`."""

from __future__ import annotations

import contextlib
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from itertools import count
from typing import Any

from ..agent import Agent, AgentHub, Seat
from ..agent.answers import ExecAnswer, SysctlAnswer
from ..agent.requests import ClientRunRequest, DeviceCounters, DeviceLog, Exec, PlaceRequest, Sysctl
from ..engines.agent import DHCP_ASK, DISCOVER
from ..lab.build import Completed, Running, Undo, build_path
from ..lab.emulation import EMULATOR, emulated_links
from ..lab.machines import agent_of, hosts_used, machines_with_links, place_of, place_of_emulator, place_of_host
from ..lab.ports import wanted_addresses
from ..lab.steering import steer
from ..mechanisms import engine_of, install
from ..model.errors import AgentError, LabError, MissingRouteError
from ..model.experiment import Experiment
from ..model.form import ABSENT
from ..model.guest import GUEST_START
from ..model.json_object import JsonObject
from ..model.leg import Address, Legs
from ..model.network import Blueprint, Network
from ..model.observation import DiscoveredPrefixAnswer
from ..model.path import Path
from ..model.placement import Placement
from ..model.quoting import printable
from ..model.stage import DEVICE_START
from ..model.topology import Topology
from ..model.workloads import ping
from .asking import ask
from .carriers import wait_for_carriers
from .emulated import device_start, guest_versions
from .kernels import KernelProcessors
from .node_settings import Settings, known_names, merged, read_nodes
from .processors import Placed, Processors
from .settling import Left, left_by_building
from .watchers import Watchers

MAX_NODES_UP = 512
"""Number of nodes of one experiment that are kept up at a time, unless one network has more. An idle node costs nothing
but 0.7 MiB of memory."""

UNDO_TIMEOUT_S = 5.0

NOT_HOME = 1
"""Exit code of an agent that could not give all interfaces back."""

MAX_OUTPUT_CHARACTERS = 200
"""Characters of what a program said."""

FOREVER_NS = 2**62
"""Some 146 years. A program ends when the agent does."""

ECHO_TIMEOUTS_NS = (500_000_000, 5_000_000_000)
"""Time to wait for answers, at first and at last. On a link that loses packets one answer is enough, and there is no
need to wait long for the others."""

MORE_BUILDS = 2
"""Number of times that a network is built anew where the kernel left out a route. Each time the kernel has made more
room."""

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
        return self._completed(argv, stdin)

    def _completed(self, argv: list[str], stdin: str, timeout_ns: int | None = None) -> Future[Completed]:
        done: Future[Completed] = Future()

        def finished(answer: Future[ExecAnswer]) -> None:
            try:
                ok = answer.result()
                done.set_result(Completed(argv=argv, exit=ok.exit, stdout=ok.stdout, stderr=ok.stderr))
            except AgentError as error:
                done.set_exception(error)

        self.agent.ask(Exec(argv=argv, stdin=stdin, timeout_ns=timeout_ns)).add_done_callback(finished)
        return done

    def start(self, argv: list[str], stdin: str = "") -> Future[Completed]:
        """Starts a program that runs as long as the node is held."""
        return self._completed(argv, stdin, timeout_ns=FOREVER_NS)

    def set_sysctl(self, values: Mapping[str, str]) -> Future[SysctlAnswer]:
        """Writes settings in the node."""
        return self.agent.ask(Sysctl(set=dict(values)))

    def request(self, op: str, fields: Mapping[str, Any]) -> Future[JsonObject]:
        """Sends the agent a request for what no command can do."""
        if op == GUEST_START:
            op, fields = DEVICE_START, device_start(fields)
        return self.agent.submit(op, **fields)


def echoes(client: Agent, legs: Legs, *, count: int, timeout_ns: int) -> int:
    """Number of answered echoes, of so many from end to end. Raises `AgentError`."""
    request = ClientRunRequest(
        session="echo",
        workload=ping.KIND.name,
        address=str(legs[0].source),
        peer=str(legs[0].destination),
        port=0,
        token="00" * 16,
        params={"count": count, "interval_ns": 1_000_000, "timeout_ns": timeout_ns},
    )
    return int(client.answer(request)["received"])


def brought_up(
    hub: AgentHub,
    network: Blueprint,
    engine: str = "kernel",
    processors: Processors | None = None,
    watchers: Watchers | None = None,
) -> Laboratory:
    """A network that is up, built anew where the kernel left out a route. Takes and raises what `Laboratory` does."""
    for _ in range(MORE_BUILDS):
        with contextlib.suppress(MissingRouteError):
            return Laboratory(hub, network, engine, processors, watchers)
    return Laboratory(hub, network, engine, processors, watchers)


class Laboratory:
    """One network with one path installed, up until it is closed."""

    def __init__(
        self,
        hub: AgentHub,
        network: Blueprint,
        engine: str = "kernel",
        processors: Processors | None = None,
        watchers: Watchers | None = None,
    ) -> None:
        """Starts the agents and builds; leaves nothing behind where it raises `LabError`, `AgentError` or
        `CapabilityError`.

        Args:
            processors: those of the run that it is a part of; None: it has its own.
            watchers: likewise, for networks on several machines; None: its nodes watch their machines themselves.
        """
        self._hub = hub
        self.processors = processors or Processors(hub)
        self._has_own_processors = processors is None
        self._watchers = watchers
        self._placed: dict[str, tuple[int, ...]] = {}
        self.number = next(_NUMBERS)
        self.topology = network.topology
        self._guests = network.guests
        self.engine = engine
        self.unwatchable: str | None = None
        """The reason why its kernel does not report drops, once it has refused to."""
        self.hides_timers = False
        """True if its kernel has refused to tell when its timers run."""
        self._undo: list[Undo] = []
        self._programs: list[Running] = []
        self.learned: Mapping[Address, Address] = {}
        """The addresses that were learned when it was built, each by the one that stands for it in descriptions."""
        self.discovered: dict[str, DiscoveredPrefixAnswer] = {}
        """The last answers of nodes about the prefix of their translator."""
        self._spoiled: list[str] = []
        started_ns = time.monotonic_ns()
        extra = [EMULATOR] if emulated_links(network.topology) else []
        hub.join(hosts_used(self.topology))
        if watchers is not None and self.topology.is_spread:
            watchers.prepare(place_of(self.topology, node) for node in network.topology.held)
        self.agents = hub.start([*network.topology.held, *extra], _seats(self.topology))
        self.emulator = self.agents.pop(EMULATOR, None)
        """Carries the packets of emulated links; None where there are none, or netem does it."""
        self._machines: dict[str, Agent] = {}
        try:
            for host in machines_with_links(self.topology):
                self._machines[agent_of(host)] = hub.start_here(agent_of(host), place_of_host(self.topology, host))
            nodes = {name: AgentNode(agent) for name, agent in self._all_agents().items()}
            self.processors.join(self.agents)
            self._emulator_on = self._steered(nodes)
            installed = build_path(network, engine, nodes)
            self._guest_versions = guest_versions(network.guests.items())
            self.install_ns, self._undo, self._programs = installed.install_ns, installed.undo, installed.programs
            self.learned = installed.learned
            wait_for_carriers(self.topology, nodes)
            clats = {device.node for device in network.translators if device.discovery is not None}
            self.discovered = {
                node: DiscoveredPrefixAnswer.model_validate({**answer, **_asked_before(installed.answers, node)})
                for (node, op), answer in installed.answers.items()
                if op == DISCOVER and node in clats
            }
        except BaseException:
            self.close()
            raise
        ended_ns = time.monotonic_ns()
        self.build_ns = ended_ns - started_ns - self.install_ns
        self.left: Left = left_by_building(ended_ns, has_user_space=self.has_user_space)
        """Packets that the last traffic left behind, or at first the building."""

    @property
    def has_user_space(self) -> bool:
        """True if programs in user space may carry packets."""
        return self.engine != "kernel" or self.emulator is not None

    @property
    def alive(self) -> bool:
        """True if every node is still held, and every program in them runs."""
        return all(agent.alive for agent in self._all_agents().values()) and not self.failures

    @property
    def settable(self) -> dict[str, Agent]:
        """The nodes whose settings are those of their namespace: not those that are emulated machines."""
        return {name: agent for name, agent in self.agents.items() if name not in self._guests}

    @property
    def failures(self) -> list[str]:
        """The programs of the path's mechanism that have ended, and what else has gone, in words."""
        ended = [failure for running in self._programs if (failure := running.failure) is not None]
        return [*ended, *self._spoiled]

    def error_with_causes(self, error: Exception) -> str:
        """The error in a trial. Agents and programs that have died come first: the others only notice that a peer is
        gone."""
        dead = [str(agent.ended) for agent in self._all_agents().values() if agent.ended is not None]
        return "; ".join(dict.fromkeys([*dead, *self.failures, str(error)]))

    @property
    def versions(self) -> dict[str, dict[str, str]]:
        """Versions of others' programs that run in nodes, by node and program; and those of emulator and kernel of
        nodes that are emulated machines."""
        texts = dict(self._guest_versions)
        for program in self._programs:
            if program.version is not None:
                texts.setdefault(program.node, {})[program.program.name or program.program.argv[0]] = program.version
        return texts

    def spoil(self, why: str) -> None:
        """The network is not what it was: it is built again before the next trial."""
        self._spoiled.append(why)

    def watcher(self, agents: Sequence[Agent]) -> Agent:
        """The source of the kernel's counts on the machine of these agents."""
        agent = self._watchers.of(agents[0].host) if self._watchers is not None else None
        return agent or agents[0]

    def _all_agents(self) -> dict[str, Agent]:
        emulator = {} if self.emulator is None else {EMULATOR: self.emulator}
        return self.agents | emulator | self._machines

    def _steered(self, nodes: Mapping[str, AgentNode]) -> tuple[KernelProcessors, int] | None:
        """Gives the emulator a processor of its own. Returns it, and whose it is; None where it has none."""
        if self.emulator is None:
            return None
        kernel = self.processors.of(self.emulator.host)
        processor = steer(self.topology, nodes, kernel.usable)
        return None if processor is None else (kernel, processor)

    def pin_nodes(self, policy: Placement, nodes: Sequence[str]) -> Placed:
        """Puts nodes on processors of their machines, and this process on others where there are some. Raises
        `AgentError` where a node has died."""
        agents = {name: self.agents[name] for name in nodes}
        placed = self.processors.placement(policy, agents, self._emulator_on)
        asked = {
            name: ask(agents[name], PlaceRequest(processors=list(processors)))
            for name, processors in placed.by_node.items()
            if self._placed.get(name) != processors
        }
        refused = [item.refusal() for item in asked.values()]
        if any(refused):
            self._placed.clear()
            return Placed()
        self._placed.update(placed.by_node)
        self.processors.keep_off(placed)
        return placed

    def check_path(self, network: Network) -> None:
        """An echo from end to end; where a relay is on the way, from end to relay to end. Raises `LabError`."""
        try:
            for legs in network.echoed:
                self.check_reachable(legs)
        except LabError as error:
            raise LabError(
                "; ".join(
                    [self.error_with_causes(error), *self._device_outputs(network), *wanted_addresses(self.topology)]
                )
            ) from error

    def _device_outputs(self, network: Network) -> list[str]:
        """Ends of the programs under test, or their last output."""
        names = []
        for node in network.hosting:
            counted = self.agents[node].answer(DeviceCounters())
            texts = self.agents[node].answer(DeviceLog()).text.strip().splitlines()
            last = (
                f"the last output of the device in {node} was: {printable(texts[-1])[:MAX_OUTPUT_CHARACTERS]}"
                if texts
                else None
            )
            names += [words for words in [last if counted.ended is ABSENT else counted.ended] if words is not None]
        return names

    def check_reachable(self, legs: Legs) -> None:
        """An echo from client to server and back: proves the routes, and resolves the neighbours. Raises `LabError`."""
        first = legs[0]
        client, server = first.near, legs[-1].far
        for timeout_ns in ECHO_TIMEOUTS_NS:
            try:
                received = echoes(self.agents[client], legs, count=3, timeout_ns=timeout_ns)
            except AgentError as error:
                raise LabError(f"checking that {client} reaches {server} over IPv{first.family}: {error}") from error
            if received:
                return
        raise LabError(
            f"the network is up, but {client} ({first.source}) gets no answer "
            f"from {server} ({first.destination}) over IPv{first.family}"
        )

    def close(self) -> None:
        """Sends the requests for the end, and ends the agents, which give back what they borrowed. The kernel removes
        the network with them. Raises `LabError` where something was not given back."""
        for undo in self._undo:
            with contextlib.suppress(AgentError):
                self.agents[undo.node].call(undo.op, timeout_s=UNDO_TIMEOUT_S, **undo.fields)
        self._undo = []
        self._hub.stop(list(self._all_agents().values()))
        if self._has_own_processors:
            self.processors.close()
        failed = [name for name, agent in self.agents.items() if agent.exit_code == NOT_HOME]
        kept = [f"{device} of {name}" for name in failed for device in self.topology.borrowed(name)]
        if kept:
            raise LabError(f"not all interfaces were given back: {', '.join(kept)}; see: sixbench-agent lendable")


_Key = tuple[int, str, int]
"""The form of the network, the engine, and which of the blueprints with these."""


def _asked_before(answers: Mapping[tuple[str, str], Mapping[str, Any]], node: str) -> dict[str, Any]:
    """The answer to what a node asked by DHCP before it looked for its prefix, if it did."""
    dhcp_answer = answers.get((node, DHCP_ASK))
    return {} if dhcp_answer is None else {"dhcp": dhcp_answer}


def _seats(topology: Topology) -> dict[str, Seat]:
    """Machines of a network's agents, of those that are not just on this machine."""
    if not topology.is_spread and not topology.ports:
        return {}
    at_ports = {node for node, _ in topology.ports}
    seats = {
        # The user has confirmed the use of a named port (`bench.ports`).
        node: Seat(on=place_of(topology, node), borrows=topology.borrowed(node), even_in_use=node in at_ports)
        for node in topology.held
    }
    return seats | ({EMULATOR: Seat(on=place_of_emulator(topology))} if emulated_links(topology) else {})


class Laboratories:
    """The networks of one experiment. They are built when first needed. Beyond a limit, the least recently used are
    taken down.

    Paths share a network where their blueprints are equal, as those of native IPv4 and IPv6 are. Of networks with
    interfaces of machines only one is up at a time.
    """

    def __init__(self, hub: AgentHub, experiment: Experiment) -> None:
        self.hub = hub
        self._experiment = experiment
        self.processors = Processors(hub)
        self._watchers = Watchers(hub)
        self._up: OrderedDict[_Key, Laboratory] = OrderedDict()
        self._networks: dict[tuple[str, int], tuple[Network, _Key]] = {}
        self._blueprints: dict[tuple[int, str], list[Blueprint]] = {}
        """The blueprints that differ, by form of the network and engine."""
        self._reached: set[tuple[int, str]] = set()
        self.build_ns: list[int] = []
        self.install_ns: dict[str, list[int]] = {}
        self.settings: Settings = {}
        """Settings that held in the nodes of the networks that were used."""
        self._settings_of: dict[int, dict[str, dict[str, str]]] = {}
        self._names: tuple[str, ...] | None = None
        self._noted: set[int] = set()

    @property
    def topologies(self) -> Sequence[Topology]:
        """The networks of the experiment, as they are without a path."""
        return self._experiment.topologies

    def get(self, path: Path, index: int) -> tuple[Laboratory, Network]:
        """The network of that index with the path installed, which is built again if one of its agents has died; and
        the description of the path's own network, whose legs may differ where networks are shared."""
        known = self._networks.get((path.name, index))
        if known is None:
            network = install(path, self._experiment.topologies[index], self._experiment.between)
            known = self._networks[path.name, index] = network, self._key(path, index, network.blueprint)
        network, key = known
        laboratory = self._up.pop(key, None)
        if laboratory is not None and not laboratory.alive:
            laboratory.close()
            laboratory = None
        if laboratory is None:
            laboratory = self._built(path, network)
        self._up[key] = laboratory
        network = network.with_learned(laboratory.learned)
        if (laboratory.number, path.name) not in self._reached:
            try:
                laboratory.check_path(network)
            except BaseException:
                self._up.pop(key).close()
                raise
            self._reached.add((laboratory.number, path.name))
        self._note_settings(laboratory)
        return laboratory, network

    def _key(self, path: Path, index: int, blueprint: Blueprint) -> _Key:
        """Settings that the paths of one network have in common."""
        engine = engine_of(path)
        alike = self._blueprints.setdefault((index, engine), [])
        if blueprint not in alike:
            alike.append(blueprint)
        return index, engine, alike.index(blueprint)

    def _note_settings(self, laboratory: Laboratory) -> None:
        """Reads them back from a network that is new."""
        if laboratory.number not in self._settings_of:
            if self._names is None:
                self._names = known_names(next(iter(laboratory.agents.values())))
            texts = read_nodes(laboratory.topology, laboratory.settable, self._names)
            self._settings_of[laboratory.number] = texts
        elif laboratory.number in self._noted:
            return
        self._noted.add(laboratory.number)
        noted = self._settings_of[laboratory.number]
        as_lists = {node: {name: [value] for name, value in values.items()} for node, values in noted.items()}
        self.settings = merged(self.settings, as_lists)

    def _built(self, path: Path, network: Network) -> Laboratory:
        size = len(network.topology.nodes)
        if network.topology.is_exclusive:
            # An interface of a machine, or a VXLAN identifier, can be in only one network at a time.
            for key in [key for key, item in self._up.items() if item.topology.is_exclusive]:
                self._up.pop(key).close()
        while self._up and size + sum(len(item.agents) for item in self._up.values()) > MAX_NODES_UP:
            self._up.popitem(last=False)[1].close()
        laboratory = brought_up(self.hub, network, engine_of(path), self.processors, self._watchers)
        self.build_ns.append(laboratory.build_ns)
        if not network.is_plain:
            self.install_ns.setdefault(path.name, []).append(laboratory.install_ns)
        return laboratory

    def forget_times(self) -> None:
        """Forgets times and settings: what is built from now on belongs to another run."""
        self.build_ns = []
        self.install_ns = {}
        self.settings = {}
        self._noted = set()

    def close(self) -> None:
        """Takes all networks down."""
        while self._up:
            self._up.popitem()[1].close()
        self._watchers.close()
        self.processors.close()
