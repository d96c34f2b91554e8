"""Holding a network up on its own, for `sixbench lab`."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path as SystemFile

from ..agent import AgentHub, find_agent
from ..lab import registry
from ..lab.names import hosts_file, nsswitch_conf, resolv_confs
from ..lab.privileges import in_user_namespace
from ..model.errors import CapabilityError
from ..model.network import Blueprint
from ..model.node_names import viewers
from ..model.path import Path
from ..plan.yaml_source import Source
from .emulated import check_guests_of
from .emulation import begin, choose_emulators
from .engines import choose_engine
from .laboratory import Laboratory, brought_up
from .ports import check_ports
from .refused_settings import check_settings
from .requirements import check_links, check_programs

_NSSWITCH = SystemFile("/etc/nsswitch.conf")


def hold(blueprint: Blueprint, name: str, ready: Callable[[], None], path: Path | None, source: Source) -> None:
    """Builds a network, calls `ready`, and keeps it up until SIGTERM, SIGINT or SIGHUP. Raises what building raises.

    Args:
        path: the path that is installed in it; None: none.
        source: the file that describes both, for messages.
    """
    check_programs()
    if blueprint.topology.is_spread:
        raise CapabilityError("sixbench lab keeps networks up on this machine only; leave out the hosts of its nodes")
    check_ports([blueprint.topology], source.file, means_it=False)
    if path is not None:
        check_guests_of(blueprint, source.file, path.line, f"paths.{path.name}")
    with registry.claim(name), AgentHub(find_agent()) as hub:
        check_settings(hub, [blueprint.topology], lambda: source)
        probe = hub.start(["probe"])["probe"]
        try:
            check_links(probe, [blueprint.topology])
            (topology,) = choose_emulators(probe, (blueprint.topology,))
            engine = "kernel" if path is None else choose_engine(probe, path, blueprint, source.file)
        finally:
            hub.stop([probe])
        laboratory = brought_up(hub, replace(blueprint, topology=topology), engine)
        begin(laboratory, name)
        signals = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        registry.save(_record(laboratory, name), _etc(blueprint.with_learned(laboratory.learned)))
        try:
            ready()
            signal.sigwait(signals)
        finally:
            registry.remove(name)
            laboratory.close()


def _etc(blueprint: Blueprint) -> dict[str, str]:
    """The files that commands in nodes see in place of the machine's."""
    machine = os.uname().nodename
    files = {"hosts": hosts_file(blueprint, machine)}
    with_own_names = viewers(blueprint) | blueprint.resolvers.keys()
    nodes = [node for node in blueprint.topology.nodes if node in with_own_names]
    by_node = {node: hosts_file(blueprint, machine, node) for node in nodes}
    files |= {registry.own_file("hosts", node): text for node, text in by_node.items() if text != files["hosts"]}
    confs = resolv_confs(blueprint)
    if confs and _NSSWITCH.exists():
        files["nsswitch.conf"] = nsswitch_conf(_NSSWITCH.read_text(encoding="utf-8", errors="replace"))
    return files | {registry.own_file("resolv.conf", node): text for node, text in confs.items()}


def _record(laboratory: Laboratory, name: str) -> registry.LabRecord:
    return registry.LabRecord(
        name=name,
        holder=registry.process(os.getpid()),
        nodes={node: registry.process(agent.pid) for node, agent in laboratory.agents.items()},
        links={link.name: [[end.node, end.name] for end in link.ends] for link in laboratory.topology.links},
        user_namespace=in_user_namespace(),
    )
