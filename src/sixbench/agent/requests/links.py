"""Requests about links: emulation with a known truth, and VLANs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ...model.observation import EmulateAnswer
from ..answers import Nothing
from .request import Request


class VlanBegin(Request[Nothing]):
    """An interface that carries one VLAN alone, as long as the node is there."""

    interface: str
    vlan_id: int


class EmulateAdd(Request[Nothing]):
    """Two interfaces that become the ends of a link with a known truth."""

    link: str
    interfaces: list[str]
    forward: Mapping[str, Any]
    reverse: Mapping[str, Any]
    frame_bytes: int
    held_bytes: int


class EmulateChange(Request[Nothing]):
    """Another truth, from the next packet on."""

    link: str
    forward: Mapping[str, Any]
    reverse: Mapping[str, Any]
    continues: bool = False


class EmulateRecord(Request[EmulateAnswer]):
    """The emulator's true treatment of the packets of a link."""

    link: str
    restart: bool | None = None
    token: str | None = field(default=None, repr=False)


class EmulateRemove(Request[EmulateAnswer]):
    """The end of an emulated link."""

    link: str
