"""The settings of nodes that this machine's kernel refuses, found out before anything of an experiment is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path

from ..agent import Agent, AgentHub
from ..agent.requests import Sysctl
from ..lab.machines import place_of
from ..lab.render import node_sysctl
from ..model.errors import AgentError
from ..model.quoting import shown
from ..model.topology import Node, Topology
from ..plan.setting_problems import Refusals, problems_of_settings
from ..plan.yaml_source import Source
from .requirements import read_sysctls

SYSCTLS = Path("/proc/sys")

LOADED_LATER = ("net.netfilter.", "net.nf_conntrack_", "net.bridge.")
"""Settings that exist once their kernel module is loaded, which a network that is built may do."""

_OF_AN_INTERFACE = re.compile(r"^net\.(ipv4|ipv6|mpls)\.(conf|neigh)\.(?!(all|default|lo)\.)")

_THROW_AWAY = "probe"


def check_settings(hub: AgentHub, topologies: Iterable[Topology], source: Callable[[], Source]) -> None:
    """Tries the user's settings in throw-away nodes. Raises `ExperimentError` with `file:line` where the kernel refuses
    one, `AgentError` or `CapabilityError` where no node can be made.

    Args:
        source: gives the file that says them; it is read only if one is refused.
    """
    nodes = _distinct(topologies)
    if not nodes:
        return
    shared = hub.start([_THROW_AWAY])[_THROW_AWAY]
    refusals: Refusals = {}
    try:
        for node in nodes:
            # A node with leftovers of other settings may refuse a value that a new node accepts.
            if _refused(shared, node):
                refusals |= _refused_by_new(hub, node)
    finally:
        hub.stop([shared])
    _raise(source, refusals)


def check_setting_names(topologies: Iterable[Topology], source: Callable[[], Source]) -> None:
    """Does the same where no node can be made: settings that this machine does not have are none of its nodes' either.
    Nothing is said of values. Raises `ExperimentError`."""
    if not (SYSCTLS / "net").is_dir():
        return
    refusals: Refusals = {}
    for node in _distinct(topologies):
        for name in node.sysctl:
            if not name.replace("/", ".").startswith(LOADED_LATER) and not _file(name).exists():
                refusals[node.name, name] = _has_none(name)
    _raise(source, refusals)


def _raise(source: Callable[[], Source], refusals: Refusals) -> None:
    if refusals:
        raise problems_of_settings(source(), refusals)


def _distinct(topologies: Iterable[Topology]) -> list[Node]:
    """The nodes with settings of the user's, each once in any number of networks."""
    nodes: dict[tuple[object, ...], Node] = {}
    for topology in topologies:
        for node in topology.nodes.values():
            # The kernel of another machine refuses a value when the network is built there.
            if node.sysctl and place_of(topology, node.name) is None:
                nodes.setdefault((node.name, *node.sysctl.items()), node)
    return list(nodes.values())


def _refused_by_new(hub: AgentHub, node: Node) -> Refusals:
    """Settings that are refused in a node in which nothing was tried before."""
    fresh = hub.start([_THROW_AWAY])[_THROW_AWAY]
    try:
        return _refused(fresh, node)
    finally:
        hub.stop([fresh])


def _refused(probe: Agent, node: Node) -> Refusals:
    """The settings of the user's that the kernel refuses, in the order in which they are made when it is built."""
    refusals: Refusals = {}
    for name, value in node_sysctl(node).items():
        try:
            probe.answer(Sysctl(set={name: value}))
        except AgentError as error:
            if error.code != "system":
                raise
            if name in node.sysctl:
                text = str(error).rpartition("failed: ")[2].partition(" (os error")[0]
                refused = f"refuses {shown(value)} for {name}: {text}"
                refusals[node.name, name] = refused if read_sysctls(probe, [name]) else _has_none(name)
    return refusals


def _has_none(name: str) -> str:
    """That the kernel lacks a setting, with the name that was probably meant."""
    words = f"has no setting {name}"
    if _OF_AN_INTERFACE.search(name.replace("/", ".")):
        return f"{words}; settings are made before interfaces are, so name all or default in place of an interface"
    directory = _file(name).parent
    there = [path.name for path in directory.iterdir()] if directory.is_dir() else []
    close = get_close_matches(_file(name).name[:100], there, n=1)
    meant = f'did you mean "{name[: -len(_file(name).name)]}{close[0]}"?' if close else "see: sysctl -a --pattern ^net"
    return f"{words}; {meant}"


def _file(name: str) -> Path:
    return SYSCTLS / (name if "/" in name else name.replace(".", "/"))
