"""Sources of the offset of a host's realtime clock from another one. A source is a file and its line in `SOURCES`.

A source is asked of an agent in the host's own network namespace. It gives a reading, or raises `CapabilityError` where
the host has no such source, and `AgentError`. One tells of two hosts, and is asked before and after each trial between
these: `link`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...agent import Agent
from ...model.errors import CapabilityError
from ...store import CONTROL, PTP, ClockReading
from .control import read_control
from .ptp import read_ptp

SOURCES: Mapping[str, Callable[[Agent], ClockReading]] = {
    CONTROL: read_control,
    PTP: read_ptp,
}


def read_clocks(agent: Agent) -> tuple[list[ClockReading], dict[str, str]]:
    """The current readings of the sources, and the reasons why some have none. Raises `AgentError`."""
    readings, missing = [], {}
    for name, read in SOURCES.items():
        try:
            readings.append(read(agent))
        except CapabilityError as error:
            missing[name] = str(error)
    return readings, missing
