"""The settings of nodes, read back once a network is up: those that hold, whoever set them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..agent import Agent
from ..agent.requests import Sysctl
from ..model.topology import Topology
from .asking import ask, wait_all
from .environment import RECORDED_SYSCTLS
from .requirements import read_sysctls

Settings = dict[str, dict[str, list[str]]]
"""Values by node and setting. There are several where networks differ, in the order in which they were found."""


def read_nodes(topology: Topology, agents: Mapping[str, Agent], names: Iterable[str]) -> dict[str, dict[str, str]]:
    """The values of these settings, and of those that the experiment gives a node, by node. Raises `AgentError`."""
    common = tuple(names)
    asked = {
        node: ask(agent, Sysctl(get=list(dict.fromkeys([*common, *topology.nodes[node].sysctl]))))
        for node, agent in agents.items()
    }
    return {node: answer.values for node, answer in wait_all(asked).items()}


def known_names(agent: Agent) -> tuple[str, ...]:
    """The settings of `RECORDED_SYSCTLS` that nodes on this kernel have. Raises `AgentError`."""
    return tuple(read_sysctls(agent, RECORDED_SYSCTLS))


def merged(*all_settings: Mapping[str, Mapping[str, Iterable[str]]]) -> Settings:
    """All values of several networks, each once."""
    texts: Settings = {}
    for settings in all_settings:
        for node, values in settings.items():
            for name, of_node in values.items():
                known = texts.setdefault(node, {}).setdefault(name, [])
                known.extend(value for value in of_node if value not in known)
    return texts
