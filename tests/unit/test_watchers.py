"""Agents that watch kernels for all networks of a run: one a machine, which stays as long as it lives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sixbench.agent import Seat
from sixbench.bench.watchers import WATCHER, Watchers
from sixbench.model.errors import AgentError


@dataclass(eq=False)
class Agent:
    host: str | None
    alive: bool = True
    netns_inode: int = 7
    asked: list[Any] = field(default_factory=list)
    refuses: bool = False

    def ask(self, request: Any) -> None:
        if self.refuses:
            raise AgentError("agent-gone", "it has gone")
        self.asked.append(request)


@dataclass
class Hub:
    started: list[Agent] = field(default_factory=list)
    stopped: list[Agent] = field(default_factory=list)
    refuses: bool = False

    def start(self, names: Sequence[str], seats: Mapping[str, Seat]) -> dict[str, Agent]:
        [name] = names
        self.started.append(Agent(host=seats[name].on, refuses=self.refuses))
        return {name: self.started[-1]}

    def stop(self, agents: Sequence[Agent]) -> None:
        self.stopped += agents


def test_each_machine_has_one_that_loads_its_programs_before_a_trial_needs_them() -> None:
    hub = Hub()
    watchers = Watchers(hub)  # type: ignore[arg-type]
    watchers.prepare([None, "lab1", "lab1"])
    watchers.prepare(["lab1", None])
    assert [item.host for item in hub.started] == [None, "lab1"]
    for agent in hub.started:
        assert [item.op for item in agent.asked] == ["drops-start", "drops-stop", "timers-start", "timers-stop"]
        # It watches its own namespace, in which nothing happens.
        assert agent.asked[0].netns_inodes == [7]
    assert watchers.of("lab1") is hub.started[1]
    assert watchers.of("lab2") is None
    watchers.close()
    assert hub.stopped == hub.started
    assert watchers.of("lab1") is None


def test_one_that_has_gone_with_its_host_is_started_again() -> None:
    hub = Hub()
    watchers = Watchers(hub)  # type: ignore[arg-type]
    watchers.prepare(["lab1"])
    hub.started[0].alive = False
    watchers.prepare(["lab1"])
    assert watchers.of("lab1") is hub.started[1]


def test_one_that_goes_at_once_is_noticed_by_the_trial() -> None:
    hub = Hub(refuses=True)
    watchers = Watchers(hub)  # type: ignore[arg-type]
    watchers.prepare(["lab1"])
    assert watchers.of("lab1") is hub.started[0]


def test_no_node_has_its_name() -> None:
    assert WATCHER.startswith("(")
