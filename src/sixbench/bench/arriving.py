"""The progress of a trial: receivers are asked, interval by interval, what has arrived, and senders how they fare."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from ..agent.answers import ArrivedDatagrams, ProgressAnswer
from ..agent.requests import ProgressRequest
from ..model.errors import AgentError
from ..model.form import ABSENT
from ..model.observer import Arrived, Observer, SenderSample
from ..model.parameter import Params
from ..model.workloads import WORKLOADS
from .session import ANSWER_TIMEOUT_S

FIRST_LOOK_S = 0.1
"""Interval at which receivers are asked until something has arrived."""

SHORTEST_NS = 100 * 10**6
"""Shorter intervals are only in the results, because the questions use the same network."""


class ProgressAgent(Protocol):
    """The part of an agent that is used here."""

    def answer(self, request: ProgressRequest, *, timeout_s: float) -> ProgressAnswer:
        """Asks and waits. Raises `AgentError`."""


@dataclass(frozen=True, kw_only=True)
class Ends:
    """Whom to ask about a direction of a flow.

    Attributes:
        sender: None: it tells nothing.
    """

    receiver: ProgressAgent
    sender: ProgressAgent | None = None


def ends_of(workload: str, params: Params, *, client: ProgressAgent, server: ProgressAgent) -> dict[str, Ends]:
    """The ends of a flow, by direction. Empty where those of its workload tell nothing."""
    telling = WORKLOADS[workload].progress
    if "receiver" not in telling:
        return {}
    both = {"forward": (client, server), "reverse": (server, client)}
    direction = params.get("direction", "forward")
    return {
        name: Ends(receiver=receiver, sender=sender if "sender" in telling else None)
        for name, (sender, receiver) in both.items()
        if direction in (name, "both")
    }


class Watching:
    """Asks both ends about a session, each in a thread of its own, for as long as the context lasts.

    Args:
        ends: by direction.
        key, flow: of the trial and of the flow in it, for the observer.
        every_ns: length of an interval.
        until_ns: when the measured window ends, counted from the first arrival; None: it is not known. The interval
            that ends with it is in the results, exactly.
        observer: is told of each interval and sample, by those threads one at a time. None: nobody is asked.

    Who does not answer, such as one of an earlier version, is not asked again.
    """

    def __init__(
        self,
        ends: Mapping[str, Ends],
        session: str,
        key: str,
        flow: str = "",
        *,
        every_ns: int,
        until_ns: int | None,
        observer: Observer | None,
    ) -> None:
        self._session = session
        self._key = key
        self._flow = flow
        self._every_ns = max(SHORTEST_NS, every_ns)
        self._until_ns = until_ns
        self._observer = observer
        self._telling = threading.Lock()
        self._over = threading.Event()
        self._mistakes: list[Exception] = []
        self._threads: list[threading.Thread] = []
        for direction, end in ends.items() if observer is not None else ():
            self._will(self._ask_receiver, direction, end.receiver)
            if end.sender is not None:
                self._will(self._ask_sender, direction, end.sender)

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
        """Waits until nobody is asked any more."""
        for thread in self._threads:
            thread.join()

    def _will(self, asking: Callable[[str, ProgressAgent], None], direction: str, asked: ProgressAgent) -> None:
        """Prepares a thread."""

        def look() -> None:
            try:
                asking(direction, asked)
            except AgentError:
                pass
            except Exception as mistake:  # noqa: BLE001, raised again at the end of the context
                self._mistakes.append(mistake)

        self._threads.append(threading.Thread(target=look, name=f"watching-{direction}", daemon=True))

    def _ask_receiver(self, direction: str, receiver: ProgressAgent) -> None:
        """Raises `AgentError`."""
        told_ns, progress_answer, pause_s = 0, None, FIRST_LOOK_S
        while not self._over.wait(pause_s):
            answer = receiver.answer(ProgressRequest(session=self._session), timeout_s=ANSWER_TIMEOUT_S)
            if ABSENT in (answer.first_ns, answer.received_bytes):
                continue
            now_ns, now = answer.now_ns - answer.first_ns, answer
            if self._until_ns is not None and now_ns >= self._until_ns:
                return
            if now_ns - told_ns >= self._every_ns // 2:
                self._tell(self._arrived(direction, told_ns, progress_answer, now_ns, now))
                told_ns, progress_answer = now_ns, now
            pause_s = (self._every_ns - now_ns % self._every_ns) / 1e9

    def _arrived(
        self, direction: str, from_ns: int, before: ProgressAnswer | None, to_ns: int, now: ProgressAnswer
    ) -> Arrived:
        seen = Arrived(
            key=self._key,
            flow=self._flow,
            direction=direction,
            from_ns=from_ns,
            to_ns=to_ns,
            received_bytes=now.received_bytes - (0 if before is None else before.received_bytes),
        )
        if now.datagrams == ABSENT:
            return seen
        known = _NO_DATAGRAMS if before is None or before.datagrams == ABSENT else before.datagrams
        datagrams = now.datagrams.unique - known.unique
        return replace(
            seen,
            datagrams=datagrams,
            lost_middle=now.datagrams.lost_middle - known.lost_middle,
            jitter_rfc3550_ns=now.datagrams.jitter_rfc3550_ns if datagrams > 0 else None,
        )

    def _ask_sender(self, direction: str, sender: ProgressAgent) -> None:
        """Raises `AgentError`."""
        told_ns: int | None = None
        while not self._over.wait(self._every_ns / 1e9):
            sample = sender.answer(ProgressRequest(session=self._session), timeout_s=ANSWER_TIMEOUT_S).sending
            if sample == ABSENT or sample.t_ns == told_ns:
                continue
            told_ns = sample.t_ns
            if self._until_ns is not None and told_ns >= self._until_ns:
                return
            seen = SenderSample(
                key=self._key,
                flow=self._flow,
                direction=direction,
                t_ns=told_ns,
                rtt_ns=sample.rtt_ns,
                cwnd_packets=sample.cwnd_packets,
                retransmits=sample.retransmits,
            )
            self._tell(seen)

    def _tell(self, seen: Arrived | SenderSample) -> None:
        with self._telling:
            if self._observer is None or self._over.is_set():
                return
            if isinstance(seen, Arrived):
                self._observer.arrived(seen)
            else:
                self._observer.sampled(seen)


_NO_DATAGRAMS = ArrivedDatagrams(unique=0, lost_middle=0)
