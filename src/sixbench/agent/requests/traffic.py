"""Both sides of a trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...model.form import Form
from ..answers import ProgressAnswer, ServeAnswer
from ..results import check_result
from .request import Request

_HERE = {"here": True}
"""Marks a field that is not sent, because only the orchestrator needs it."""


@dataclass(frozen=True, kw_only=True)
class Serve(Request):
    """The serving side of a trial."""

    op: ClassVar[str] = "serve"
    answer: ClassVar[type[Form]] = ServeAnswer
    session: str
    workload: str
    address: str
    peer: str | None = None
    also: list[Mapping[str, str]] | None = None
    token: str = field(repr=False)
    params: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Run(Serve):
    """The client's side of a trial; answered with its result when it is over."""

    op: ClassVar[str] = "run"
    port: int
    cookie: bool | None = None

    def check(self, answer: object) -> dict[str, Any]:
        """The result, as of any request. Its form is that of the workload."""
        check_result(self.workload, "client", self.params, answer, f"run of {self.workload}")
        assert isinstance(answer, dict), "the form has been found right"
        return answer


@dataclass(frozen=True, kw_only=True)
class Finish(Request):
    """The end of a serving side; answered with its result.

    Attributes:
        workload, params: what was served; they are not sent, and give the result's form. Without a workload the result
            is not checked.
    """

    op: ClassVar[str] = "finish"
    session: str
    workload: str | None = field(default=None, metadata=_HERE)
    params: Mapping[str, Any] = field(default_factory=dict, metadata=_HERE)
    sent: int | None = None
    timeout_ns: int
    first_silence_ns: int | None = None

    def check(self, answer: object) -> dict[str, Any]:
        """The result, as of any request. Its form is that of the workload."""
        if self.workload is None:
            return super().check(answer)
        check_result(self.workload, "server", self.params, answer, f"finish of {self.workload}")
        assert isinstance(answer, dict), "the form has been found right"
        return answer


@dataclass(frozen=True, kw_only=True)
class Progress(Request):
    """What has arrived at a session so far."""

    op: ClassVar[str] = "progress"
    answer: ClassVar[type[Form]] = ProgressAnswer
    session: str


@dataclass(frozen=True, kw_only=True)
class Cancel(Request):
    """The early end of a session."""

    op: ClassVar[str] = "cancel"
    session: str
