"""Tunnels and translators that the agent carries itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...model.form import Form
from ..answers import BringUpAnswer, TranslatorAnswer, TranslatorsAnswer, TranslatorState, TunnelAnswer, TunnelsAnswer
from .request import Request


@dataclass(frozen=True, kw_only=True)
class TunnelAdd(Request):
    """A tunnel's end, carried by the node itself."""

    op: ClassVar[str] = "tunnel-add"
    answer: ClassVar[type[Form]] = TunnelAnswer
    device: str
    mtu_bytes: int
    outer: str
    payload: str
    local: str
    underlay: list[str]
    mapping: Mapping[str, Any]
    ttl: int | str | None = None
    tos: int | str | None = None
    ecn: bool | None = None
    pmtu: str | None = None
    df: str | None = None
    gre_key: int | None = None
    engine: str | None = None


@dataclass(frozen=True, kw_only=True)
class TunnelRemove(Request):
    """The end of a tunnel; answered with its last counters."""

    op: ClassVar[str] = "tunnel-remove"
    device: str


@dataclass(frozen=True, kw_only=True)
class TunnelCounters(Request):
    """What became of the packets of the node's tunnels."""

    op: ClassVar[str] = "tunnel-counters"
    answer: ClassVar[type[Form]] = TunnelsAnswer
    device: str | None = None
    run_time: str | None = None


@dataclass(frozen=True, kw_only=True)
class TranslatorAdd(Request):
    """A translator of the node."""

    op: ClassVar[str] = "translator-add"
    answer: ClassVar[type[Form]] = TranslatorAnswer
    device: str
    mtu_bytes: int
    mapping: Mapping[str, Any]
    through_node: bool | None = None
    engine: str | None = None


@dataclass(frozen=True, kw_only=True)
class TranslatorRemove(Request):
    """The end of a translator; answered with its last counters."""

    op: ClassVar[str] = "translator-remove"
    answer: ClassVar[type[Form]] = TranslatorState
    device: str


@dataclass(frozen=True, kw_only=True)
class TranslatorCounters(Request):
    """What became of the packets of the node's translators."""

    op: ClassVar[str] = "translator-counters"
    answer: ClassVar[type[Form]] = TranslatorsAnswer
    device: str | None = None


@dataclass(frozen=True, kw_only=True)
class TranslatorBringUp(Request):
    """What a CLAT does from the moment at which it has no prefix until it translates."""

    op: ClassVar[str] = "translator-bring-up"
    answer: ClassVar[type[Form]] = BringUpAnswer
    discovery: Mapping[str, Any]
    translator: Mapping[str, Any]
    dhcp: Mapping[str, Any] | None = None
    ip: list[str] | None = None
