"""The type of a witness: one kind of evidence about one trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, ClassVar, Generic

from ...agent import Agent
from ...agent.requests.request import Answered, Request
from ...model.device import Device
from ...model.parameter import Scalar
from ...model.reason import Reason
from ...model.trial import TrialRecord
from ...model.workload import Result
from ..asking import ask_all, wait_all
from ..proof.case import Case, EndResults, Testimony
from ..setting import TrialSetting

Waiting = Callable[[], None]
"""Waits for the answers to what was asked, and keeps them. Raises `AgentError`."""


def nothing() -> None:
    """Waits for nothing."""


class Witness:
    """A kind of evidence about a trial: it asks before and after the traffic, and then judges what it saw.

    Each method that asks returns what waits for the answers, so that all witnesses ask before anybody waits. They ask
    in the order of the list before the traffic, and in the reverse order after it.

    Attributes:
        is_cut_short: whether the traffic failed. Then nothing is judged.
    """

    def __init__(self, setting: TrialSetting) -> None:
        """It has not asked yet."""
        self.setting = setting
        self.is_cut_short = False

    @classmethod
    def sees(cls, setting: TrialSetting) -> bool:
        """True if there is anything to see in such a trial."""
        return True

    @property
    def params(self) -> Mapping[str, Scalar]:
        """Parameters that it adds to those of the workload."""
        return {}

    def look_before(self) -> Waiting:
        """Looks while nothing of the trial is under way. Raises `AgentError`."""
        return nothing

    def begin(self) -> Waiting:
        """Begins to watch. Raises `AgentError`."""
        return nothing

    def watch(self, running: Sequence[Future[Result]]) -> None:
        """Watches the traffic, once its first flows have begun. Raises `AgentError`.

        Args:
            running: these flows.
        """

    def end(self) -> Waiting:
        """Ends watching, also where the traffic failed. Raises `AgentError`."""
        return nothing

    def look_after(self) -> Waiting:
        """Looks once more, also where the traffic failed. Raises `AgentError`."""
        return nothing

    def failure(self) -> Reason | None:
        """The reason why the whole trial has failed, by what was seen."""
        return None

    def causes(self) -> list[Reason]:
        """Reasons that explain all others. They come first, also where the trial has failed."""
        return []

    def observation(self) -> object | None:
        """All that was seen, for other witnesses that need it (`Case.seen`); None: nobody else does."""
        return None

    def judge(self, case: Case) -> Testimony:
        """Holds what was seen against what the path claims. Asks nobody."""
        return self.judge_results(case)

    @classmethod
    def judge_results(cls, results: EndResults) -> Testimony:
        """The judgement where nobody could be asked but both ends: between two machines with no network of ours."""
        return Testimony()

    def add_to(self, record: TrialRecord) -> TrialRecord:
        """The record with what this witness adds to it beside its evidence, also where the trial has failed."""
        return record

    def files(self) -> dict[str, bytes]:
        """Files to be kept beside the record, by name."""
        return {}


class CountingWitness(Witness, Generic[Answered]):
    """A witness that asks nodes for their counts before the traffic and after it.

    Attributes:
        before, after: the answers by node.
    """

    request: ClassVar[Request[Any]]
    """Its request to each node."""
    first_request: ClassVar[Request[Any] | None] = None
    """Its request before the traffic, where that is another one."""

    def __init__(self, setting: TrialSetting) -> None:
        super().__init__(setting)
        self.before: dict[str, Answered] = {}
        self.after: dict[str, Answered] = {}

    @property
    def nodes(self) -> Mapping[str, Agent]:
        """The nodes that it asks."""
        raise NotImplementedError

    def look_before(self) -> Waiting:
        return self._ask(self.first_request or self.request, self.before)

    def look_after(self) -> Waiting:
        return self._ask(self.request, self.after)

    def _ask(self, request: Request[Any], answers: dict[str, Answered]) -> Waiting:
        asked = ask_all(self.nodes, request)

        def answered() -> None:
            answers.update(wait_all(asked))

        return answered


def carrying(setting: TrialSetting, devices: Sequence[Device]) -> dict[str, Agent]:
    """The nodes whose agents may carry such devices themselves; none where the kernel does."""
    if setting.laboratory.engine == "kernel":
        return {}
    return {device.node: setting.laboratory.agents[device.node] for device in devices}
