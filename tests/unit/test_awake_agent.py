"""The agent that keeps processors awake: what is made of its answers, and of its death."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sixbench.agent.requests.request import Request
from sixbench.model.errors import AgentError
from sixbench.run.processors import Processors


def kept_awake(error: AgentError, ended: AgentError | None) -> Processors:
    """Processors whose agent fails when it is asked how long they were busy."""

    def answer(request: Request[Any], **_: Any) -> None:
        if request.op == "awake":
            raise error

    agent = SimpleNamespace(answer=answer, ended=ended)
    hub: Any = SimpleNamespace(start=lambda names: dict.fromkeys(names, agent))
    processors = Processors(hub)
    processors.start(keep_awake=True)
    return processors


def test_processors_whose_agent_died_may_sleep_and_the_manifest_says_why() -> None:
    died = AgentError("agent-died", "it was killed by signal 9")
    processors = kept_awake(died, ended=died)
    assert processors.sample() is None
    assert processors.use.kept_awake == ()
    assert processors.use.not_kept_awake == "it was killed by signal 9"
    assert processors.sample() is None


def test_an_answer_of_another_form_is_no_death() -> None:
    processors = kept_awake(AgentError("agent-broken", "awake was answered without clock_ns"), ended=None)
    with pytest.raises(AgentError, match="without clock_ns"):
        processors.sample()
    assert processors.use.kept_awake
    assert processors.use.not_kept_awake is None
