"""The progress of a trial between two machines: the receivers are asked, interval by interval, what has arrived."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ..agent.answers import ProgressAnswer
from ..agent.requests import Progress
from ..model.errors import AgentError
from ..model.form import ABSENT
from ..model.parameter import Params
from .session import ANSWER_TIMEOUT_S

_Agent = TypeVar("_Agent")

FIRST_LOOK_S = 0.1
"""How often receivers are asked until something has arrived."""

SHORTEST_NS = 100 * 10**6
"""Shorter intervals are only in the results, because the questions use the same network."""


TELLING = ("tcp-stream", "udp-stream")
"""The agent's workloads whose receivers tell of their progress (docs/protocol.md)."""


@dataclass(frozen=True, kw_only=True)
class Arriving:
    """What arrived in an interval, by the receiver's clock.

    Attributes:
        path: of the experiment.
        direction: `forward` or `reverse`.
        from_ns, to_ns: since the first byte arrived.
    """

    path: str
    direction: str
    from_ns: int
    to_ns: int
    received_bytes: int

    @property
    def rate_bps(self) -> float:
        """The rate of payload in the interval."""
        return 8e9 * self.received_bytes / (self.to_ns - self.from_ns)


Watch = Callable[[Arriving], None]


class Asked(Protocol):
    """The part of an agent that is used here."""

    def answer(self, request: Progress, *, timeout_s: float) -> ProgressAnswer:
        """Asks and waits. Raises `AgentError`."""


def receivers_of(params: Params, *, client: _Agent, server: _Agent) -> dict[str, _Agent]:
    """The receivers of a flow, by direction."""
    both = {"forward": server, "reverse": client}
    direction = params.get("direction", "forward")
    return {name: agent for name, agent in both.items() if direction in (name, "both")}


class Watching:
    """Asks receivers about a session, each in a thread of its own, for as long as the context lasts.

    Args:
        receivers: by direction.
        every_ns: length of an interval.
        until_ns: when the measured window ends, counted from the first arrival; None: it is not known. The interval
            that ends with it is in the results, exactly.
        watch: is told of each interval, by those threads one at a time. None: nobody is asked.

    A receiver that does not answer, such as one of an earlier version, is not asked again.
    """

    def __init__(
        self,
        receivers: Mapping[str, Asked],
        session: str,
        path: str,
        *,
        every_ns: int,
        until_ns: int | None,
        watch: Watch | None,
    ) -> None:
        self._session = session
        self._path = path
        self._every_ns = max(SHORTEST_NS, every_ns)
        self._until_ns = until_ns
        self._watch = watch
        self._telling = threading.Lock()
        self._over = threading.Event()
        self._mistakes: list[Exception] = []
        self._threads = [
            threading.Thread(target=self._look, args=(direction, receiver), name=f"arriving-{direction}", daemon=True)
            for direction, receiver in (receivers.items() if watch is not None else ())
        ]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        """Raises what a thread raised, which only a mistake of ours can cause."""
        self._over.set()
        self.wait()
        if self._mistakes:
            raise self._mistakes[0]

    def wait(self) -> None:
        """Waits until no receiver is asked any more."""
        for thread in self._threads:
            thread.join()

    def _look(self, direction: str, receiver: Asked) -> None:
        try:
            self._ask_and_tell(direction, receiver)
        except Exception as mistake:  # noqa: BLE001, raised at the end of the context
            self._mistakes.append(mistake)

    def _ask_and_tell(self, direction: str, receiver: Asked) -> None:
        told_ns, told_bytes, pause_s = 0, 0, FIRST_LOOK_S
        while not self._over.wait(pause_s):
            try:
                answer = receiver.answer(Progress(session=self._session), timeout_s=ANSWER_TIMEOUT_S)
                if ABSENT in (answer.first_ns, answer.received_bytes):
                    continue
                now_ns, now_bytes = answer.now_ns - answer.first_ns, answer.received_bytes
            except AgentError:
                return
            if self._until_ns is not None and now_ns >= self._until_ns:
                return
            if now_ns - told_ns >= self._every_ns // 2:
                self._tell(direction, told_ns, now_ns, now_bytes - told_bytes)
                told_ns, told_bytes = now_ns, now_bytes
            pause_s = (self._every_ns - now_ns % self._every_ns) / 1e9

    def _tell(self, direction: str, from_ns: int, to_ns: int, received_bytes: int) -> None:
        seen = Arriving(
            path=self._path, direction=direction, from_ns=from_ns, to_ns=to_ns, received_bytes=received_bytes
        )
        with self._telling:
            if self._watch is not None and not self._over.is_set():
                self._watch(seen)
