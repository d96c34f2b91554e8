"""Both sides of a trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ...model.workload import Result
from ..answers import Nothing, ProgressAnswer, ServeAnswer, check
from ..results import check_program, check_result
from .request import Answered, Request

_HERE = {"here": True}
"""Marks a field that is not sent, because only the orchestrator needs it."""


class _Side(Request[Answered]):
    """Parameters that both sides get."""

    session: str
    workload: str
    address: str
    peer: str | None = None
    also: list[Mapping[str, str]] | None = None
    token: str = field(repr=False)
    params: Mapping[str, Any]
    program: Mapping[str, Any] | None = None


class Serve(_Side[ServeAnswer]):
    """The serving side of a trial."""


class ClientRunRequest(_Side[Result], op="run"):
    """The client's side of a trial; answered with its result when it is over.

    Attributes:
        port, cookie, certificate: as the server answered them.
    """

    port: int
    cookie: bool | None = None
    certificate: str | None = None

    def read(self, answer: object) -> Result:
        """The result as it came. Its form is that of the workload, or of a program."""
        what = f"run of {self.workload}"
        if self.program is not None:
            check_program(answer, what)
        else:
            check_result(self.workload, "client", self.params, answer, what)
        assert isinstance(answer, dict), "the form has been found right"
        return answer


class Finish(Request[Result]):
    """The end of a serving side; answered with its result.

    Attributes:
        workload, params: what was served; they are not sent, and give the result's form. Without a workload the result
            is not checked.
        is_program: whether somebody else's program served it; it is not sent either.
    """

    session: str
    workload: str | None = field(default=None, metadata=_HERE)
    params: Mapping[str, Any] = field(default_factory=dict, metadata=_HERE)
    is_program: bool = field(default=False, metadata=_HERE)
    sent: int | None = None
    timeout_ns: int
    first_silence_ns: int | None = None

    def read(self, answer: object) -> Result:
        """The result as it came. Its form is that of the workload."""
        if self.workload is None:
            check(Nothing, answer, self.op)
        elif self.is_program:
            check_program(answer, f"finish of {self.workload}")
        else:
            check_result(self.workload, "server", self.params, answer, f"finish of {self.workload}")
        assert isinstance(answer, dict), "the form has been found right"
        return answer


class ProgressRequest(Request[ProgressAnswer], op="progress"):
    """Bytes that have arrived at a session so far."""

    session: str


class Cancel(Request[Nothing]):
    """The early end of a session."""

    session: str
