"""Requests that go out together and are awaited together."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic

from ..agent import Agent
from ..agent.requests.request import Answered, Request
from ..model.errors import AgentError
from .session import ANSWER_TIMEOUT_S


@dataclass(frozen=True, kw_only=True)
class SentRequest(Generic[Answered]):
    """A request that was sent. An agent answers what it was asked in this order, except for what takes it long."""

    agent: Agent
    op: str
    future: Future[Answered]

    def answer(self) -> Answered:
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


def ask(agent: Agent, request: Request[Answered]) -> SentRequest[Answered]:
    """Sends a request."""
    return SentRequest(agent=agent, op=request.op, future=agent.ask(request))


def ask_all(agents: Mapping[str, Agent], request: Request[Answered]) -> dict[str, SentRequest[Answered]]:
    """Sends the same request to several agents."""
    return {name: ask(agent, request) for name, agent in agents.items()}


def wait_all(asked: Mapping[str, SentRequest[Answered]]) -> dict[str, Answered]:
    """Waits for all answers. Raises `AgentError`, that of the first that failed."""
    return {name: item.answer() for name, item in asked.items()}
