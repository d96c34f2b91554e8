"""An agent on each machine that tells what the kernel there does to packets of all networks of a run.

To load the programs for it takes a kernel half a second (docs/measurements/hosts.md). Networks on hosts are built again
and again, so it is not paid by the first trial of each: these agents stay, and load while a network is being built.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from ..agent import Agent, AgentHub, Seat
from ..agent.requests import DropsStart, DropsStop, TimersStart, TimersStop
from ..model.errors import AgentError

WATCHER = "(watch)"
"""The name of such an agent. No node of a user's can have it."""


class Watchers:
    """Those of a run, by their machines."""

    def __init__(self, hub: AgentHub) -> None:
        self._hub = hub
        self._by_host: dict[str | None, Agent] = {}

    def prepare(self, hosts: Iterable[str | None]) -> None:
        """Sees to it that each of these machines, which must have been joined, has one that is ready or will be soon.
        Raises `AgentError` and `CapabilityError`."""
        for host in dict.fromkeys(hosts):
            agent = self._by_host.get(host)
            if agent is None or not agent.alive:
                self._by_host[host] = self._started(host)

    def of(self, host: str | None) -> Agent | None:
        """The one of a machine; None: it has none."""
        return self._by_host.get(host)

    def close(self) -> None:
        self._hub.stop(list(self._by_host.values()))
        self._by_host.clear()

    def _started(self, host: str | None) -> Agent:
        agent = self._hub.start([WATCHER], {WATCHER: Seat(on=host)})[WATCHER]
        inode = agent.netns_inode
        # Nobody needs the answers. A refusal comes again in the first trial, which reports it.
        with contextlib.suppress(AgentError):
            agent.ask(DropsStart(netns_inodes=[inode], token="00" * 16))
            agent.ask(DropsStop())
            agent.ask(TimersStart(devices=[{"netns_inode": inode, "device": "lo", "slack_ns": 0}]))
            agent.ask(TimersStop())
        return agent
