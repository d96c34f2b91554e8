"""Holding a network up on its own, for `sixbench lab`."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace

from ..agent import AgentHub, find_agent
from ..lab import registry
from ..lab.privileges import in_user_namespace
from ..model.network import Blueprint
from ..model.path import Path
from .emulation import begin, choose_emulators
from .engines import choose_engine
from .laboratory import Laboratory
from .needs import check_links, check_programs


def hold(blueprint: Blueprint, name: str, ready: Callable[[], None], path: Path | None = None, file: str = "") -> None:
    """Builds a network, calls `ready`, and keeps it up until SIGTERM, SIGINT or SIGHUP. Raises what building raises.

    Args:
        path: what is installed in it; None: nothing.
        file: where the path is written, for messages.
    """
    check_programs()
    with AgentHub(find_agent()) as hub:
        probe = hub.start(["probe"])["probe"]
        try:
            check_links(probe, [blueprint.topology])
            (topology,) = choose_emulators(probe, (blueprint.topology,))
            engine = "kernel" if path is None else choose_engine(probe, path, blueprint, file)
        finally:
            hub.stop([probe])
        laboratory = Laboratory(hub, replace(blueprint, topology=topology), engine)
        begin(laboratory, name)
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
