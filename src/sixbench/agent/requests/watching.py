"""What watches packets, timers and processors while a trial runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...model.observation import AwakeAnswer, CaptureAnswer, DropsAnswer, PerfAnswer, TimersAnswer
from ..answers import Nothing
from .request import Request


@dataclass(frozen=True, kw_only=True)
class CaptureStart(Request[Nothing]):
    """Headers of packets on an interface."""

    op: ClassVar[str] = "capture-start"
    capture: str
    interface: str
    addresses: list[str]
    after_ns: int
    max_packets: int
    max_ns: int
    snaplen_bytes: int


@dataclass(frozen=True, kw_only=True)
class CaptureStop(Request[CaptureAnswer]):
    """The end of a capture, answered with its packets."""

    op: ClassVar[str] = "capture-stop"
    capture: str


@dataclass(frozen=True, kw_only=True)
class DropsStart(Request[Nothing]):
    """Begins to watch where the kernel drops packets in these namespaces, and which of the trial's packets."""

    op: ClassVar[str] = "drops-start"
    netns_inodes: Sequence[int]
    token: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class DropsStop(Request[DropsAnswer]):
    """The end of watching, answered with the drops."""

    op: ClassVar[str] = "drops-stop"


@dataclass(frozen=True, kw_only=True)
class TimersStart(Request[Nothing]):
    """Begins to watch the timers of the queueing disciplines of devices: `netns_inode`, `device`, `slack_ns`."""

    op: ClassVar[str] = "timers-start"
    devices: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class TimersStop(Request[TimersAnswer]):
    """The end of watching, answered with how late they were."""

    op: ClassVar[str] = "timers-stop"


@dataclass(frozen=True, kw_only=True)
class PerfStart(Request[Nothing]):
    """Begins to count the cycles and instructions of the whole machine."""

    op: ClassVar[str] = "perf-start"


@dataclass(frozen=True, kw_only=True)
class PerfStop(Request[PerfAnswer]):
    """The end of counting, answered with the counts."""

    op: ClassVar[str] = "perf-stop"


@dataclass(frozen=True, kw_only=True)
class AwakeStart(Request[Nothing]):
    """Processors that do not sleep from now on, until the agent ends."""

    op: ClassVar[str] = "awake-start"
    processors: list[int]


@dataclass(frozen=True, kw_only=True)
class Awake(Request[AwakeAnswer]):
    """How long each of them was busy."""

    op: ClassVar[str] = "awake"
