"""What the agent makes of links: a known truth, which it emulates, and VLANs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...model.observation import EmulateAnswer
from ..answers import Nothing
from .request import Request


@dataclass(frozen=True, kw_only=True)
class VlanBegin(Request[Nothing]):
    """An interface that carries one VLAN alone, as long as the node is there."""

    op: ClassVar[str] = "vlan-begin"
    interface: str
    vlan_id: int


@dataclass(frozen=True, kw_only=True)
class EmulateAdd(Request[Nothing]):
    """Two interfaces that become the ends of a link with a known truth."""

    op: ClassVar[str] = "emulate-add"
    link: str
    interfaces: list[str]
    forward: Mapping[str, Any]
    reverse: Mapping[str, Any]
    frame_bytes: int
    held_bytes: int


@dataclass(frozen=True, kw_only=True)
class EmulateChange(Request[Nothing]):
    """Another truth, from the next packet on."""

    op: ClassVar[str] = "emulate-change"
    link: str
    forward: Mapping[str, Any]
    reverse: Mapping[str, Any]
    continues: bool = False


@dataclass(frozen=True, kw_only=True)
class EmulateRecord(Request[EmulateAnswer]):
    """What the emulator really did to the packets of a link."""

    op: ClassVar[str] = "emulate-record"
    link: str
    restart: bool | None = None
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class EmulateRemove(Request[EmulateAnswer]):
    """The end of an emulated link."""

    op: ClassVar[str] = "emulate-remove"
    link: str
