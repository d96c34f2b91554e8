"""Holding a network up on its own, for `sixbench lab`."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from ..agent import AgentHub, find_agent
from ..lab import registry
from ..lab.privileges import in_user_namespace
from ..model.topology import Topology
from .laboratory import Laboratory
from .needs import check_links, check_programs


def hold(topology: Topology, name: str, ready: Callable[[], None]) -> None:
    """Builds a network, calls `ready`, and keeps it up until SIGTERM, SIGINT or SIGHUP. Raises what building raises."""
    check_programs()
    with AgentHub(find_agent()) as hub:
        probe = hub.start(["probe"])["probe"]
        try:
            check_links(probe, [topology])
        finally:
            hub.stop([probe])
        laboratory = Laboratory(hub, topology)
        signals = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        registry.save(_record(laboratory, name))
        try:
            ready()
            signal.sigwait(signals)
        finally:
            registry.remove(name)
            laboratory.close()


def _record(laboratory: Laboratory, name: str) -> registry.LabRecord:
    return registry.LabRecord(
        name=name,
        holder=registry.process(os.getpid()),
        nodes={node: registry.process(agent.pid) for node, agent in laboratory.agents.items()},
        links={link.name: [[end.node, end.name] for end in link.ends] for link in laboratory.topology.links},
        user_namespace=in_user_namespace(),
    )
