"""What a node is asked for itself: who it is, commands, settings and counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...model.observation import CountersAnswer, TrackingAnswer
from ...model.result_form import CpuSample
from ..answers import ExecAnswer, ForgottenAnswer, HelloAnswer, Nothing, SysctlAnswer
from .request import Request


@dataclass(frozen=True, kw_only=True)
class Hello(Request[HelloAnswer]):
    """The first request: the versions must agree."""

    op: ClassVar[str] = "hello"
    protocol: int
    version: str


@dataclass(frozen=True, kw_only=True)
class Exec(Request[ExecAnswer]):
    """A command in the node."""

    op: ClassVar[str] = "exec"
    argv: list[str]
    stdin: str | None = None
    timeout_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class Sysctl(Request[SysctlAnswer]):
    """Settings of the node, written and read."""

    op: ClassVar[str] = "sysctl"
    set: Mapping[str, str] | None = None
    get: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Counters(Request[CountersAnswer]):
    """Counters of interfaces and protocols."""

    op: ClassVar[str] = "counters"


@dataclass(frozen=True, kw_only=True)
class ConnectionTracking(Request[TrackingAnswer]):
    """The connections that the node keeps track of; `forget`: it forgets all of them first."""

    op: ClassVar[str] = "connection-tracking"
    forget: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ForgetPathMtu(Request[ForgottenAnswer]):
    """The node forgets what ICMP told it of paths."""

    op: ClassVar[str] = "forget-path-mtu"


@dataclass(frozen=True, kw_only=True)
class Cpu(Request[CpuSample]):
    """A CPU sample."""

    op: ClassVar[str] = "cpu"


@dataclass(frozen=True, kw_only=True)
class PacketSend(Request[Nothing]):
    """A frame onto an interface; `frame` is hexadecimal, from the Ethernet header on."""

    op: ClassVar[str] = "packet-send"
    interface: str
    frame: str
