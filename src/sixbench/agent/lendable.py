"""Reports of the agent's program about a machine (docs/protocol.md): which interfaces nodes may borrow (`sixbench-agent
lendable`), and what a hardware clock says (`sixbench-agent hardware-clock`)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ..model.errors import CapabilityError
from ..model.form import Flag, Form, Name, Text, Whole
from ..model.quoting import printable
from .answers import check

LENDABLE, HARDWARE_CLOCK = "lendable", "hardware-clock"
"""The commands."""

_TIMEOUT_S = 60.0


class Stamps(Form):
    """Frames that the hardware of an interface stamps.

    Attributes:
        sends: those that it sends, where they ask for it.
        receives: all that it receives.
    """

    sends: Flag
    receives: Flag


class Lendable(Form):
    """An interface, and what speaks against borrowing it, as sentences with what would help.

    Attributes:
        refused: why it cannot be borrowed at all.
        in_use: who would miss it: only who means it borrows it.
        has: what it has, and gets back: an address, or a route.
        has_carrier: whether something answers at the other end of its cable, as far as is known now.
        hardware_clock: the device of its PTP hardware clock, or `none`. None: that is not known.
        hardware_stamps: what it stamps by that clock. None: that is not known.
    """

    interface: Name
    refused: Text | None
    in_use: Text | None
    has: Text | None
    is_up: Flag
    has_carrier: Flag
    hardware_clock: Name | None
    hardware_stamps: Stamps | None


HardwareTimes = Annotated[list[Whole], Field(min_length=3, max_length=3)]
"""The system's realtime clock before, the hardware clock, the system's after, in nanoseconds of each."""


class _All(Form):
    interfaces: list[Lendable]


class _Readings(Form):
    readings: Annotated[list[HardwareTimes], Field(min_length=1)]


def read_lendable(text: str) -> list[Lendable]:
    """The printed answer of the command. Raises `AgentError`."""
    return check(_All, {"interfaces": _parsed(text)}, LENDABLE).interfaces


def read_hardware_clock(text: str) -> list[HardwareTimes]:
    """The printed answer of the command. Raises `AgentError`."""
    return check(_Readings, _parsed(text), HARDWARE_CLOCK).readings


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def lendable_here(binary: Path) -> list[Lendable]:
    """The interfaces of this machine. Raises `CapabilityError` where the agent cannot tell, and `AgentError`."""
    doing = f"looking at the interfaces of this machine ({binary} {LENDABLE})"
    try:
        done = subprocess.run(
            [binary, LENDABLE], capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CapabilityError(f"{doing}: {error}") from error
    if done.returncode != 0:
        raise CapabilityError(f"{doing}: {printable(done.stderr.strip()) or f'it ended with {done.returncode}'}")
    return read_lendable(done.stdout)
