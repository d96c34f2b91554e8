"""Watchers of packets, timers and processors while a trial runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from ...model.observation import (
    AwakeAnswer,
    AwakeStarted,
    CaptureAnswer,
    ConnectionLogs,
    DropsAnswer,
    PerfAnswer,
    TimersAnswer,
)
from ..answers import Nothing
from .request import Request


class CaptureStart(Request[Nothing]):
    """Headers of packets on an interface."""

    capture: str
    interface: str
    addresses: list[str]
    after_ns: int
    max_packets: int
    max_ns: int
    snaplen_bytes: int


class CaptureStop(Request[CaptureAnswer]):
    """The end of a capture, answered with its packets."""

    capture: str


class ConnectionLogsStart(Request[Nothing]):
    """Begins to keep secrets of TLS and events of QUIC of the connections that clients of this node make."""


class ConnectionLogsStop(Request[ConnectionLogs]):
    """The end of keeping them, answered with all that was kept."""


class DropsStart(Request[Nothing]):
    """Begins to watch where the kernel drops packets in these namespaces, and which of the trial's packets."""

    netns_inodes: Sequence[int]
    token: str = field(repr=False)


class DropsStop(Request[DropsAnswer]):
    """The end of watching, answered with the drops."""


class TimersStart(Request[Nothing]):
    """Begins to watch the timers of the queueing disciplines of devices: `netns_inode`, `device`, `slack_ns`."""

    devices: Sequence[Mapping[str, Any]]


class TimersStop(Request[TimersAnswer]):
    """The end of watching, answered with how late they were."""


class PerfStart(Request[Nothing]):
    """Begins to count the cycles and instructions of the whole machine."""


class PerfStop(Request[PerfAnswer]):
    """The end of counting, answered with the counts."""


class AwakeStart(Request[AwakeStarted]):
    """Processors that do not sleep from now on, until the agent ends. It gets a session of its own."""

    processors: list[int]


class Awake(Request[AwakeAnswer]):
    """Time for which each of them was busy."""
