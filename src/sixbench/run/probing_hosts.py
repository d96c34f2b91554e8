"""What the hosts of an experiment can do for it, found out before anything is built on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..agent import Agent, AgentHub, Seat
from ..lab.machines import agent_of, hosts_used
from ..model.errors import AgentError, CapabilityError
from ..model.experiment import Experiment
from ..model.host import Host
from ..store import ClockReading, HostFacts
from .clocks import read_clock
from .engines import choose_engines
from .requirements import check_links, check_programs_of

_PROBE = "probe"


def hosts_of(experiment: Experiment) -> list[Host]:
    """The hosts that nodes are on, each once."""
    found = {host.name: host for topology in experiment.topologies for host in hosts_used(topology)}
    return list(found.values())


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
            facts[host.name] = facts_of(probe)
        except CapabilityError as error:
            raise CapabilityError(f"on {host.name}: {error}") from error
        finally:
            hub.stop([probe])
    return experiment, facts


def facts_of(agent: Agent) -> HostFacts:
    """What an agent on a host tells of it. Raises `AgentError`."""
    return HostFacts(kernel=str(agent.hello["kernel"]), machine=str(agent.hello["machine"]), clock=(read_clock(agent),))


def with_clocks(hub: AgentHub, facts: Mapping[str, HostFacts]) -> dict[str, HostFacts]:
    """What is known of hosts, with their clocks as they stand now. A host that has gone tells nothing more."""
    return {name: replace(one, clock=(*one.clock, *_clock_now(hub, name))) for name, one in facts.items()}


def _clock_now(hub: AgentHub, host: str) -> list[ClockReading]:
    if not hub.has_joined(host):
        return []
    agent = None
    try:
        agent = hub.start_here(agent_of(host), host)
        return [read_clock(agent)]
    except (AgentError, CapabilityError):
        return []
    finally:
        if agent is not None:
            hub.stop([agent])
