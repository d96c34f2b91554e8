"""The type of an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..model.device import Device
from ..model.stage import Stage


@dataclass(frozen=True, kw_only=True)
class Engine:
    """An executor of mechanisms.

    Attributes:
        make: what makes a device. It is up and has its MTU, and no addresses.
        unfit: why the engine cannot make such a device, as a sentence; None if it can. Only devices for which there is
            no reason are made.
        settled: the device as the engine makes it, where the engine decides what the path left at its default.
        executes: the mechanisms that it can execute although they do not name it, as those do not that were there
            before it.
        is_tried_on_each: whether a machine may let it make one kind of device and not another. If not, it makes all or
            none.
    """

    name: str
    doc: str
    make: Callable[[Device], Stage]
    unfit: Callable[[Device], str | None] = lambda device: None
    settled: Callable[[Device], Device] = lambda device: device
    executes: frozenset[str] = frozenset()
    is_tried_on_each: bool = True
