"""Requests about a node itself: identity, commands, settings and counters."""

from __future__ import annotations

from collections.abc import Mapping

from ...model.observation import CountersAnswer, LoopTimesAnswer, TrackingAnswer
from ...model.result_form import CpuSample
from ..answers import ExecAnswer, ForgottenAnswer, HelloAnswer, Nothing, SysctlAnswer
from .request import Request


class Hello(Request[HelloAnswer]):
    """The first request: the versions must agree."""

    protocol: int
    version: str


class Exec(Request[ExecAnswer]):
    """A command in the node."""

    argv: list[str]
    stdin: str | None = None
    timeout_ns: int | None = None


class Sysctl(Request[SysctlAnswer]):
    """Settings of the node, written and read."""

    set: Mapping[str, str] | None = None
    get: list[str] | None = None


class Counters(Request[CountersAnswer]):
    """Counters of interfaces and protocols."""


class ConnectionTracking(Request[TrackingAnswer]):
    """The connections that the node keeps track of; `forget`: it forgets all of them first."""

    forget: bool | None = None


class ForgetPathMtu(Request[ForgottenAnswer]):
    """The node forgets what ICMP told it of paths."""


class Cpu(Request[CpuSample]):
    """A CPU sample."""


class LoopTimes(Request[LoopTimesAnswer]):
    """Time that a loop takes that keeps all units of the node's core busy."""


class PlaceRequest(Request[Nothing], op="place"):
    """The node, and the programs that it has started, run on these processors from now on."""

    processors: list[int]


class PacketSend(Request[Nothing]):
    """A frame onto an interface; `frame` is hexadecimal, from the Ethernet header on."""

    interface: str
    frame: str
