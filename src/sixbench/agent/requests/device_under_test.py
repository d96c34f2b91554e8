"""A program of anyone's as the device of a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...model.observation import DeviceCountersAnswer, DeviceLogAnswer
from ...model.stage import DEVICE_START
from ..answers import DeviceAnswer
from .request import Request


@dataclass(frozen=True, kw_only=True)
class DeviceStart(Request[DeviceAnswer]):
    """Starts it, and waits until it is ready. `name`: what messages call it; None: its command."""

    op: ClassVar[str] = DEVICE_START
    argv: list[str]
    ready: list[str]
    ready_timeout_ns: int
    memory_bytes: int
    files: Mapping[str, str]
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class DeviceCounters(Request[DeviceCountersAnswer]):
    """What it has used, and whether it has ended; `reset_peak`: the peak of its memory then counts from now on."""

    op: ClassVar[str] = "device-counters"
    reset_peak: bool | None = None


@dataclass(frozen=True, kw_only=True)
class DeviceLog(Request[DeviceLogAnswer]):
    """What it said after so many bytes."""

    op: ClassVar[str] = "device-log"
    after: int | None = None
