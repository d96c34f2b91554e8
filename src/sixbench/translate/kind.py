"""The type of a mechanism that packets can be taken through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..mechanisms.kind import Mechanism
from .option import Given, PacketOption
from .passing.network import PassingNetwork

FirstLine = dict[str, Any]
"""The first line of a conversation with `sixbench-agent translate` (docs/protocol.md)."""


@dataclass(frozen=True, kw_only=True)
class DeviceRequest:
    """A device that packets are to be taken through.

    Attributes:
        mechanism: its name.
        line: the first line with which the core would be the same.
        packets: reads all that are to come, for a network that depends on who sends.
    """

    mechanism: str
    given: Given
    line: Mapping[str, Any]
    packets: Callable[[], Iterable[bytes]]


DeviceNetwork = Callable[[DeviceRequest], PassingNetwork]
"""Describes the network around a device. Pure. Raises `UsageError` where an engine's device cannot be as it is asked
for, and `CapabilityError`."""


@dataclass(frozen=True, kw_only=True)
class PacketMechanism:
    """A mechanism that packets can be taken through. A new one is a file in `translate/mechanisms` and a line in its
    list.

    Attributes:
        mechanism: as experiments have it.
        doc: what it is, in a sentence that fits a line.
        options: those that experiments have too are made of their parameters, by `option_of`.
        first_line: Raises `UsageError` where options do not fit each other.
        networks: by the names of the engines that have a device of it.
    """

    mechanism: Mechanism
    doc: str
    options: tuple[PacketOption, ...]
    first_line: Callable[[Given], FirstLine]
    networks: Mapping[str, DeviceNetwork]

    @property
    def name(self) -> str:
        """Its name, as experiments write it."""
        return self.mechanism.name
