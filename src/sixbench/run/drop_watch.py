"""Watching where packets are lost during a trial: the kernel's own reports of what it drops, and counters of rules.

The reports come from a program on a tracepoint that runs only when a packet is dropped (docs/protocol.md,
`drops-start`): a trial that loses nothing pays nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from ..agent import Agent
from ..model.errors import AgentError
from ..model.topology import Topology
from .laboratory import Laboratory
from .session import ANSWER_TIMEOUT_S

LIST_COUNTERS = ["nft", "-j", "list", "counters"]


@dataclass(kw_only=True)
class Drops:
    """What was seen to be dropped.

    Attributes:
        reports: the agent's answer to `drops-stop`; None: the kernel did not tell.
        not_told: why it did not.
        rules_before, rules_after: packets that each named counter of a node's ruleset counted, by node.
    """

    reports: list[dict[str, Any]] | None = None
    not_told: str | None = None
    rules_before: dict[str, dict[str, int]] = field(default_factory=dict)
    rules_after: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def rules(self) -> dict[str, dict[str, int]]:
        """By node and named counter, the packets that it counted in the trial, where there were any."""
        rises = {
            node: {name: count - self.rules_before.get(node, {}).get(name, 0) for name, count in counters.items()}
            for node, counters in self.rules_after.items()
        }
        found = {node: {name: rise for name, rise in counters.items() if rise > 0} for node, counters in rises.items()}
        return {node: counters for node, counters in found.items() if counters}


class DropWatch:
    """Watches the nodes of a way for the datagrams of one trial."""

    def __init__(self, laboratory: Laboratory, watched: Mapping[str, Agent], token: str, found: Drops) -> None:
        self._laboratory = laboratory
        self._agents = watched
        self._watcher = next(iter(watched.values()))
        self._token = token
        self._found = found
        self._is_watching = False

    def start(self) -> None:
        """Watches from now on, unless this network's kernel has refused before. Raises `AgentError`."""
        self._found.rules_before = rule_counters(self._laboratory.topology, self._agents)
        self._found.not_told = self._laboratory.unwatchable
        if self._found.not_told is not None:
            return
        inodes = [agent.hello["netns_inode"] for agent in self._agents.values()]
        try:
            self._watcher.call("drops-start", timeout_s=ANSWER_TIMEOUT_S, netns_inodes=inodes, token=self._token)
        except AgentError as error:
            if error.code != "system":
                raise
            self._laboratory.unwatchable = self._found.not_told = str(error)
            return
        self._is_watching = True

    def stop(self) -> None:
        """Keeps what was dropped. Raises `AgentError`."""
        if self._is_watching:
            self._is_watching = False
            self._found.reports = self._watcher.call("drops-stop", timeout_s=ANSWER_TIMEOUT_S)["dropped"]
        self._found.rules_after = rule_counters(self._laboratory.topology, self._agents)


def rule_counters(topology: Topology, agents: Mapping[str, Agent]) -> dict[str, dict[str, int]]:
    """Packets by node and named counter, of the nodes that have a ruleset of ours. Raises `AgentError`."""
    asked: dict[str, Future[dict[str, Any]]] = {
        name: agent.submit("exec", argv=LIST_COUNTERS) for name, agent in agents.items() if topology.nodes[name].filters
    }
    return {
        name: read_counters(agents[name].wait(answer, "exec", ANSWER_TIMEOUT_S)["stdout"])
        for name, answer in asked.items()
    }


def read_counters(listed: str) -> dict[str, int]:
    """Packets by counter, of what `nft -j list counters` writes; of what is no such list, nothing."""
    try:
        items = json.loads(listed)["nftables"]
        counters = [item["counter"] for item in items if "counter" in item]
        return {str(counter["name"]): int(counter["packets"]) for counter in counters}
    except (KeyError, TypeError, ValueError):
        return {}
