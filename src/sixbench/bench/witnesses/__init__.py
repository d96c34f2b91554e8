"""The witnesses of a trial: a kind of evidence is a file here, and a line in `WITNESSES`.

Each witness gives its part of `model.evidence`, and `report.evidence` adds that up over the trials of a path.
Long judgements are in `bench.proof`, which knows no agents.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future

from ...model.errors import AgentError
from ...model.parameter import Scalar
from ...model.reason import Reason
from ...model.trial import TrialRecord
from ...model.workload import Result
from ..proof.case import Case, EndResults, Observations, Testimony
from ..setting import TrialSetting
from .captures import CaptureWitness
from .clocks import ClockWitness
from .connection_logs import ConnectionLogWitness
from .counters import CounterWitness
from .discovery import DiscoveryWitness
from .emulation import EmulationWitness
from .events import EventWitness
from .fragments import FragmentWitness
from .losses import LossWitness
from .machine import MachineWitness
from .moves import MoveWitness
from .packet_logs import PacketLogWitness
from .processors import ProcessorWitness
from .programs import ProgramWitness
from .relays import RelayWitness
from .sessions import SessionWitness
from .slowness import SlownessWitness
from .strays import StrayWitness
from .timers import TimerWitness
from .transactions import TransactionWitness
from .translators import TranslatorWitness
from .tunnels import TunnelWitness
from .witness import Waiting, Witness

WITNESSES: tuple[type[Witness], ...] = (
    ClockWitness,
    CounterWitness,
    EventWitness,
    FragmentWitness,
    CaptureWitness,
    ConnectionLogWitness,
    DiscoveryWitness,
    EmulationWitness,
    SessionWitness,
    RelayWitness,
    ProgramWitness,
    TimerWitness,
    LossWitness,
    MoveWitness,
    TransactionWitness,
    TunnelWitness,
    TranslatorWitness,
    SlownessWitness,
    ProcessorWitness,
    MachineWitness,
    StrayWitness,
    PacketLogWitness,
)
"""All kinds of evidence, in the order in which they ask before the traffic, and judge after it.

The clocks send packets, so they come before the counters. The last to ask are those that time processors, which nobody
else may keep busy then. Fragments say which links packets cannot reach, before the captures are judged.
"""


class Witnesses:
    """The witnesses of one trial."""

    def __init__(self, witnesses: Sequence[Witness] = ()) -> None:
        """Nobody has asked yet."""
        self._all = witnesses
        self.unanswered: list[AgentError] = []
        """The requests that agents did not answer, or not in the right form, when the traffic was over. Without the
        answers nothing is proved, so the trial has failed."""

    @classmethod
    def of(cls, setting: TrialSetting) -> Witnesses:
        """Those that have anything to see."""
        return cls([witness(setting) for witness in WITNESSES if witness.sees(setting)])

    @property
    def params(self) -> dict[str, Scalar]:
        """Parameters that they add to those of the workload."""
        return {name: value for witness in self._all for name, value in witness.params.items()}

    @contextlib.contextmanager
    def observing(self) -> Iterator[None]:
        """They look before the context and after it, and watch in between. Raises `AgentError` where a look before it
        fails. All others are asked after it, also where it failed."""
        is_performed = False
        try:
            _wait([witness.look_before() for witness in self._all])
            _wait([witness.begin() for witness in self._all])
            yield
            is_performed = True
        finally:
            for witness in self._all:
                witness.is_cut_short = not is_performed
            self._ask_all(lambda witness: witness.end())
            self._ask_all(lambda witness: witness.look_after())

    def watch(self, running: Sequence[Future[Result]]) -> None:
        """They watch the traffic, once its first flows have begun. Raises `AgentError`."""
        for witness in self._all:
            witness.watch(running)

    @property
    def failure(self) -> Reason | None:
        """The reason why the trial has failed, as one of them saw."""
        return next((failure for witness in self._all if (failure := witness.failure()) is not None), None)

    @property
    def causes(self) -> list[Reason]:
        """Reasons that explain all others, also where the trial has failed."""
        return [reason for witness in self._all for reason in witness.causes()]

    @property
    def observations(self) -> Observations:
        """The observations that they share."""
        return Observations(witness.observation() for witness in self._all)

    def testimonies(self, case: Case) -> Iterator[Testimony]:
        """The judgement of each. Nobody is asked."""
        for witness in self._all:
            testimony = witness.judge(case)
            case = case.after(testimony)
            yield testimony

    def add_to(self, record: TrialRecord) -> TrialRecord:
        """The record with what each adds to it beside its evidence, also where the trial has failed."""
        for witness in self._all:
            record = witness.add_to(record)
        return record

    @property
    def files(self) -> dict[str, bytes]:
        """Files to be kept beside the record, by name."""
        return {name: data for witness in self._all for name, data in witness.files().items()}

    def _ask_all(self, ask: Callable[[Witness], Waiting]) -> None:
        """Asks in the reverse order. An answer that is missing is noted, so that all others are still asked."""
        waiting = []
        for witness in reversed(self._all):
            with self._noting():
                waiting.append(ask(witness))
        _wait(waiting, self._noting)

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except AgentError as error:
            self.unanswered.append(error)


def judge_results(results: EndResults) -> Iterator[Testimony]:
    """The judgement of each kind on a trial that had no witnesses: between two machines with no network of ours."""
    return (kind.judge_results(results) for kind in WITNESSES)


def _wait(
    waiting: Sequence[Waiting],
    each: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
) -> None:
    for answered in waiting:
        with each():
            answered()
