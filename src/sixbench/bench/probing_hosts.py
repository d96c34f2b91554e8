"""Capabilities of the hosts of an experiment for it, found out before anything is built on them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ..agent import Agent, AgentHub, Seat
from ..lab.machines import agent_of, hosts_used
from ..model.errors import AgentError, CapabilityError
from ..model.experiment import Experiment
from ..model.host import Host
from ..store import ClockReading, HostFacts
from .clock_sources import read_clocks
from .engines import choose_engines
from .on_host import lendable_of
from .requirements import check_links, check_programs_of

_PROBE = "probe"


def hosts_of(experiment: Experiment) -> list[Host]:
    """The hosts that nodes are on, each once."""
    hosts = {host.name: host for topology in experiment.topologies for host in hosts_used(topology)}
    return list(hosts.values())


def probe_hosts(hub: AgentHub, experiment: Experiment) -> tuple[Experiment, dict[str, HostFacts]]:
    """Starts one node on each host to see that it can be done, and that it can execute the paths with the engines that
    are chosen. Raises `CapabilityError`, which names the host, and `AgentError`.

    Args:
        experiment: its paths have engines.
    """
    hosts = hosts_of(experiment)
    hub.join(hosts)
    facts = {}
    for host in hosts:
        probe = hub.start([_PROBE], {_PROBE: Seat(on=host.name)})[_PROBE]
        try:
            check_programs_of(probe)
            check_links(probe, experiment.topologies)
            experiment = choose_engines(probe, experiment)
        except CapabilityError as error:
            raise CapabilityError(f"on {host.name}: {error}") from error
        finally:
            hub.stop([probe])
        machine = hub.start_here(agent_of(host.name), host.name)
        try:
            facts[host.name] = facts_of(machine, _borrowed(experiment, host))
        except CapabilityError as error:
            raise CapabilityError(f"on {host.name}: {error}") from error
        finally:
            hub.stop([machine])
    return experiment, facts


def _borrowed(experiment: Experiment, host: Host) -> set[str]:
    """The interfaces of a host that its nodes borrow."""
    return {
        device
        for topology in experiment.topologies
        for name, node in topology.nodes.items()
        if node.on == host.name
        for device in topology.borrowed(name)
    }


def facts_of(machine: Agent, interfaces: Collection[str] = ()) -> HostFacts:
    """An agent's report about a host, from the host's own network namespace. Raises `AgentError`, and `CapabilityError`
    where it cannot tell of its interfaces.

    Args:
        interfaces: those that nodes borrow, which are at home.
    """
    readings, missing = read_clocks(machine)
    known = {lendable.interface: lendable.hardware_clock for lendable in lendable_of(machine)} if interfaces else {}
    return HostFacts(
        kernel=str(machine.greeting("kernel")),
        machine=str(machine.greeting("machine")),
        clock=tuple(readings),
        no_clock=missing,
        hardware_clocks={name: known.get(name) for name in sorted(interfaces)},
    )


def with_clocks(hub: AgentHub, facts: Mapping[str, HostFacts]) -> dict[str, HostFacts]:
    """The facts about hosts, with the current state of their clocks. A host that has gone tells nothing more."""
    return {
        name: replace(host_facts, clock=(*host_facts.clock, *_clock_now(hub, name)))
        for name, host_facts in facts.items()
    }


def _clock_now(hub: AgentHub, host: str) -> list[ClockReading]:
    if not hub.has_joined(host):
        return []
    agent = None
    try:
        agent = hub.start_here(agent_of(host), host)
        return read_clocks(agent)[0]
    except (AgentError, CapabilityError):
        return []
    finally:
        if agent is not None:
            hub.stop([agent])
