"""Agents by the machines on which they are: each machine's kernel tells of its own namespaces only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from ..agent import Agent
from ..model.observation import DeviceTimers, Drop

_Report = TypeVar("_Report", Drop, DeviceTimers)


def by_machine(agents: Iterable[Agent]) -> list[list[Agent]]:
    """The agents of each machine, in order."""
    results: dict[str | None, list[Agent]] = {}
    for agent in agents:
        results.setdefault(agent.host, []).append(agent)
    return list(results.values())


def with_namespaces(answers: Iterable[_Report], agents: Iterable[Agent]) -> list[_Report]:
    """A machine's report about its namespaces, with the numbers of `Agent.namespace` in place of its own."""
    numbers = {agent.netns_inode: agent.namespace for agent in agents}
    return [
        answer.model_copy(update={"netns_inode": numbers[answer.netns_inode]})
        for answer in answers
        if answer.netns_inode in numbers
    ]


def namespaces(agents: Mapping[str, Agent]) -> dict[int, str]:
    """The nodes by the numbers of their namespaces."""
    return {agent.namespace: name for name, agent in agents.items()}
