"""Watching where packets are lost during a trial: the kernel's own reports of what it drops, and counters of rules.

The reports come from a program on a tracepoint that runs only when a packet is dropped (docs/protocol.md,
`drops-start`): a trial that loses nothing pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..agent import Agent
from ..agent.answers import ExecAnswer
from ..agent.requests import DropsStart, DropsStop, Exec
from ..model.topology import Topology
from .asking import Asked, ask, ask_all, wait_all
from .by_machine import by_machine, with_namespaces
from .laboratory import Laboratory
from .proof.drops import Drops, read_counters

LIST_COUNTERS = ["nft", "-j", "list", "counters"]


class DropWatch:
    """Watches the nodes of a path for the datagrams of one trial."""

    def __init__(self, laboratory: Laboratory, watched: Mapping[str, Agent], token: str, found: Drops) -> None:
        self._laboratory = laboratory
        self._agents = watched
        self._machines = by_machine(watched.values())
        self._token = token
        self._found = found
        self._watching: list[tuple[Agent, list[Agent]]] = []

    def start(self) -> Callable[[], None]:
        """Asks to watch from now on, unless this network's kernel has refused before. What it returns waits until that
        is so, and raises `AgentError`."""
        rules = _ask_rules(self._laboratory.topology, self._agents)
        self._found.not_told = self._laboratory.unwatchable
        machines = self._machines if self._found.not_told is None else []
        watching = [(self._laboratory.watcher(agents), agents) for agents in machines]
        asked = [ask(watcher, _start(agents, self._token)) for watcher, agents in watching]
        self._watching = watching

        def started() -> None:
            self._found.rules_before = _read_rules(rules)
            self._watching = []
            for both, item in zip(watching, asked, strict=True):
                refusal = item.refusal()
                if refusal is None:
                    self._watching.append(both)
                else:
                    self._laboratory.unwatchable = self._found.not_told = refusal

        return started

    def stop(self) -> Callable[[], None]:
        """Asks to stop watching. What it returns waits and keeps the drops, and raises `AgentError`."""
        asked = [(agents, ask(watcher, DropsStop())) for watcher, agents in self._watching]
        self._watching = []
        rules = _ask_rules(self._laboratory.topology, self._agents)

        def stopped() -> None:
            drops = [
                with_namespace
                for agents, answer in asked
                for with_namespace in with_namespaces(answer.answer().dropped, agents)
            ]
            if asked and self._found.not_told is None:
                self._found.reports = drops
            self._found.rules_after = _read_rules(rules)

        return stopped


def _start(agents: Sequence[Agent], token: str) -> DropsStart:
    return DropsStart(netns_inodes=[agent.netns_inode for agent in agents], token=token)


def rule_counters(topology: Topology, agents: Mapping[str, Agent]) -> dict[str, dict[str, int]]:
    """Packets by node and named counter, of the nodes that have a ruleset of ours. Raises `AgentError`."""
    return _read_rules(_ask_rules(topology, agents))


def _ask_rules(topology: Topology, agents: Mapping[str, Agent]) -> dict[str, Asked[ExecAnswer]]:
    filtering = {name: agent for name, agent in agents.items() if topology.nodes[name].filters}
    return ask_all(filtering, Exec(argv=LIST_COUNTERS))


def _read_rules(asked: Mapping[str, Asked[ExecAnswer]]) -> dict[str, dict[str, int]]:
    return {name: read_counters(answer.stdout) for name, answer in wait_all(asked).items()}
