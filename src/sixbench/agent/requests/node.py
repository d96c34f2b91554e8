"""What a node is asked for itself: who it is, commands, settings and counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...model.form import Form
from ...model.result_form import CpuSample
from ..answers import CountersAnswer, ExecAnswer, ForgottenAnswer, HelloAnswer, SysctlAnswer, TrackingAnswer
from .request import Request


@dataclass(frozen=True, kw_only=True)
class Hello(Request):
    """The first request: the versions must agree."""

    op: ClassVar[str] = "hello"
    answer: ClassVar[type[Form]] = HelloAnswer
    protocol: int
    version: str


@dataclass(frozen=True, kw_only=True)
class Exec(Request):
    """A command in the node."""

    op: ClassVar[str] = "exec"
    answer: ClassVar[type[Form]] = ExecAnswer
    argv: list[str]
    stdin: str | None = None
    timeout_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class Sysctl(Request):
    """Settings of the node, written and read."""

    op: ClassVar[str] = "sysctl"
    answer: ClassVar[type[Form]] = SysctlAnswer
    set: Mapping[str, str] | None = None
    get: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Counters(Request):
    """Counters of interfaces and protocols."""

    op: ClassVar[str] = "counters"
    answer: ClassVar[type[Form]] = CountersAnswer


@dataclass(frozen=True, kw_only=True)
class ConnectionTracking(Request):
    """The connections that the node keeps track of; `forget`: it forgets all of them first."""

    op: ClassVar[str] = "connection-tracking"
    answer: ClassVar[type[Form]] = TrackingAnswer
    forget: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ForgetPathMtu(Request):
    """The node forgets what ICMP told it of paths."""

    op: ClassVar[str] = "forget-path-mtu"
    answer: ClassVar[type[Form]] = ForgottenAnswer


@dataclass(frozen=True, kw_only=True)
class Cpu(Request):
    """A CPU sample."""

    op: ClassVar[str] = "cpu"
    answer: ClassVar[type[Form]] = CpuSample
