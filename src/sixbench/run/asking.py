"""Requests that go out together and are awaited together."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from ..agent import Agent
from ..model.errors import AgentError
from .session import ANSWER_TIMEOUT_S


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request that was sent. An agent wait_all what it was asked in this order, except for what takes it long."""

    agent: Agent
    op: str
    future: Future[dict[str, Any]]

    def answer(self) -> dict[str, Any]:
        """Waits for the answer. Raises `AgentError`."""
        return self.agent.wait(self.future, self.op, ANSWER_TIMEOUT_S)

    def refusal(self) -> str | None:
        """Waits for an answer that holds nothing: why the kernel refused, in words; None where it did not. Raises
        `AgentError` for any other failure."""
        try:
            self.answer()
        except AgentError as error:
            if error.code != "system":
                raise
            return str(error)
        return None


def ask(agent: Agent, op: str, **fields: Any) -> Asked:
    """Sends a request."""
    return Asked(agent=agent, op=op, future=agent.submit(op, **fields))


def ask_all(agents: Mapping[str, Agent], op: str, **fields: Any) -> dict[str, Asked]:
    """Sends the same request to several agents."""
    return {name: ask(agent, op, **fields) for name, agent in agents.items()}


def wait_all(asked: Mapping[str, Asked]) -> dict[str, dict[str, Any]]:
    """Waits for all wait_all. Raises `AgentError`, that of the first that failed."""
    return {name: one.answer() for name, one in asked.items()}
