"""What arrives while a trial goes on."""

from __future__ import annotations

from typing import Any

import pytest

from sixbench.agent.answers import ProgressAnswer
from sixbench.agent.requests import Progress
from sixbench.model.errors import AgentError
from sixbench.run.arriving import SHORTEST_NS, Arriving, Watching


class Receiver:
    """Gives one answer after another, and none any more after the last."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def answer(self, request: Progress, *, timeout_s: float) -> ProgressAnswer:
        self.asked.append(f"{request.op} {request.session}")
        if not self._answers:
            raise AgentError("no-session", "it is over")
        return request.read(self._answers.pop(0))


def _at(now_ms: int, received_bytes: int) -> dict[str, Any]:
    """By a clock on which the first of it came at 5 s."""
    return {"now_ns": 5 * 10**9 + now_ms * 10**6, "first_ns": 5 * 10**9, "received_bytes": received_bytes}


def _seen(*answers: dict[str, Any], until_ns: int | None = None) -> list[Arriving]:
    seen: list[Arriving] = []
    receiver = Receiver(*answers)
    watching = Watching(
        {"forward": receiver}, "b001", "ipv6", every_ns=SHORTEST_NS, until_ns=until_ns, watch=seen.append
    )
    with watching:
        watching.wait()
    assert set(receiver.asked) == {"progress b001"}
    return seen


def test_each_interval_is_what_came_since_the_one_before_by_the_receivers_clock() -> None:
    seen = _seen({"now_ns": 1}, _at(20, 2_000), _at(100, 10_000), _at(210, 43_000))
    assert [(one.from_ns // 10**6, one.to_ns // 10**6, one.received_bytes) for one in seen] == [
        (0, 100, 10_000),
        (100, 210, 33_000),
    ]
    assert [one.rate_bps for one in seen] == [800e3, 2.4e6]
    assert {(one.path, one.direction) for one in seen} == {("ipv6", "forward")}


def test_a_flow_that_stands_still_is_told_with_a_rate_of_zero() -> None:
    assert [one.rate_bps for one in _seen(_at(100, 1_000), _at(200, 1_000))] == [80e3, 0]


def test_what_ends_with_the_window_is_left_to_the_results() -> None:
    assert len(_seen(_at(100, 1_000), _at(200, 2_000), _at(300, 3_000), until_ns=200 * 10**6)) == 1


def test_a_receiver_that_cannot_be_asked_is_asked_no_more() -> None:
    assert _seen() == []


def test_a_mistake_of_ours_in_the_thread_that_asks_is_raised_at_the_end() -> None:
    def broken(seen: Arriving) -> None:
        raise ZeroDivisionError

    receiver = Receiver(_at(100, 1_000))
    watching = Watching({"reverse": receiver}, "b001", "ipv6", every_ns=SHORTEST_NS, until_ns=None, watch=broken)
    with pytest.raises(ZeroDivisionError), watching:
        watching.wait()


def test_nobody_is_asked_where_nobody_watches() -> None:
    receiver = Receiver()
    with Watching({"forward": receiver}, "b001", "ipv6", every_ns=SHORTEST_NS, until_ns=None, watch=None):
        pass
    assert receiver.asked == []
