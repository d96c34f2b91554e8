"""A program of anyone's as the device of a node."""

from __future__ import annotations

from collections.abc import Mapping

from ...model.observation import DeviceCountersAnswer, DeviceLogAnswer
from ..answers import DeviceAnswer
from .request import Request


class DeviceStart(Request[DeviceAnswer]):
    """Starts it, and waits until it is ready. `name`: what messages call it; None: its command."""

    argv: list[str]
    ready: list[str]
    ready_timeout_ns: int
    memory_bytes: int
    files: Mapping[str, str]
    name: str | None = None


class DeviceCounters(Request[DeviceCountersAnswer]):
    """The resources that it has used, and its end if it has ended; `reset_peak`: the peak of its memory then counts
    from now on."""

    reset_peak: bool | None = None


class DeviceLog(Request[DeviceLogAnswer]):
    """Its output after so many bytes."""

    after: int | None = None
