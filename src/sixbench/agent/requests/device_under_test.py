"""A program of anyone's as the device of a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...model.form import Form
from ...model.stage import DEVICE_START
from ..answers import DeviceAnswer, DeviceCountersAnswer, DeviceLogAnswer
from .request import Request


@dataclass(frozen=True, kw_only=True)
class DeviceStart(Request):
    """Starts it, and waits until it is ready."""

    op: ClassVar[str] = DEVICE_START
    answer: ClassVar[type[Form]] = DeviceAnswer
    argv: list[str]
    ready: list[str]
    ready_timeout_ns: int
    memory_bytes: int
    files: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class DeviceCounters(Request):
    """What it has used, and whether it has ended; `reset_peak`: the peak of its memory then counts from now on."""

    op: ClassVar[str] = "device-counters"
    answer: ClassVar[type[Form]] = DeviceCountersAnswer
    reset_peak: bool | None = None


@dataclass(frozen=True, kw_only=True)
class DeviceLog(Request):
    """What it said after so many bytes."""

    op: ClassVar[str] = "device-log"
    answer: ClassVar[type[Form]] = DeviceLogAnswer
    after: int | None = None
