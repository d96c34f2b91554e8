"""Tunnels and translators that the agent carries itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...model.observation import TranslatorsAnswer, TranslatorState, TunnelsAnswer
from ..answers import BringUpAnswer, Nothing, TranslatorAnswer, TunnelAnswer
from .request import Request


class TunnelAdd(Request[TunnelAnswer]):
    """A tunnel's end, carried by the node itself."""

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


class TunnelRemove(Request[Nothing]):
    """The end of a tunnel; answered with its last counters."""

    device: str


class TunnelCountersRequest(Request[TunnelsAnswer], op="tunnel-counters"):
    """The counts of packets of the node's tunnels."""

    device: str | None = None
    run_time: str | None = None


class TranslatorAdd(Request[TranslatorAnswer]):
    """A translator of the node."""

    device: str
    mtu_bytes: int
    mapping: Mapping[str, Any]
    through_node: bool | None = None
    engine: str | None = None


class TranslatorRemove(Request[TranslatorState]):
    """The end of a translator; answered with its last counters."""

    device: str


class TranslatorCountersRequest(Request[TranslatorsAnswer], op="translator-counters"):
    """The counts of packets of the node's translators."""

    device: str | None = None


class TranslatorBringUp(Request[BringUpAnswer]):
    """The steps of a CLAT from the moment at which it has no prefix until it translates."""

    discovery: Mapping[str, Any]
    translator: Mapping[str, Any]
    dhcp: Mapping[str, Any] | None = None
    ip: list[str] | None = None
