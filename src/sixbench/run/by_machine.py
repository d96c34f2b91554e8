"""Agents by the machines on which they are: each machine's kernel tells of its own namespaces only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from ..agent import Agent
from ..model.observation import DeviceTimers, Drop

_Told = TypeVar("_Told", Drop, DeviceTimers)


def by_machine(agents: Iterable[Agent]) -> list[list[Agent]]:
    """The agents of each machine, in order."""
    found: dict[str | None, list[Agent]] = {}
    for agent in agents:
        found.setdefault(agent.host, []).append(agent)
    return list(found.values())


def with_namespaces(told: Iterable[_Told], agents: Iterable[Agent]) -> list[_Told]:
    """A machine's report about its namespaces, with the numbers of `Agent.namespace` in place of its own."""
    numbers = {agent.netns_inode: agent.namespace for agent in agents}
    return [
        one.model_copy(update={"netns_inode": numbers[one.netns_inode]}) for one in told if one.netns_inode in numbers
    ]


def namespaces(agents: Mapping[str, Agent]) -> dict[int, str]:
    """The nodes by the numbers of their namespaces."""
    return {agent.namespace: name for name, agent in agents.items()}
