"""Requests about servers of others, which need nothing of sixbench at the other end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..server_answers import (
    ApplicationAnswer,
    HopsAnswer,
    PathMtuAnswer,
    PingAnswer,
    ResolveAnswer,
    TcpConnectAnswer,
    VantageAnswer,
)
from .request import Request


class VantageRequest(Request[VantageAnswer], op="vantage"):
    """This machine's addresses, interfaces, resolvers, and its routes to some addresses. No packet goes to these."""

    towards: list[str] | None = None
    resolver: Mapping[str, Any] | None = None
    timeout_ns: int | None = None
    ask_nat64: bool | None = None


class ResolveRequest(Request[ResolveAnswer], op="resolve"):
    """Look-ups of a name by a resolver."""

    name: str
    types: list[str] | None = None
    resolver: Mapping[str, Any] | None = None
    timeout_ns: int | None = None


class PingRequest(Request[PingAnswer], op="ping"):
    """Echo requests."""

    address: str
    count: int | None = None
    interval_ns: int | None = None
    payload_bytes: int | None = None
    timeout_ns: int | None = None
    mine: bool | None = None


class TcpConnectRequest(Request[TcpConnectAnswer], op="tcp-connect"):
    """TCP connections."""

    address: str
    port: int
    count: int | None = None
    timeout_ns: int | None = None
    mine: bool | None = None


class ApplicationRequest(Request[ApplicationAnswer], op="application"):
    """Handshakes of TLS or QUIC, or objects of HTTP."""

    workload: str
    address: str
    port: int
    server_name: str
    version: str | None = None
    path: str | None = None
    roots: Any = None
    count: int | None = None
    timeout_ns: int | None = None
    max_bytes: int | None = None
    mine: bool | None = None


class HopsRequest(Request[HopsAnswer], op="route"):
    """The routers towards an address."""

    address: str
    max_hops: int | None = None
    probes: int | None = None
    timeout_ns: int | None = None


class PathMtuRequest(Request[PathMtuAnswer], op="path-mtu"):
    """The path MTU towards a server."""

    address: str
    port: int
    by: str
    timeout_ns: int | None = None
    mine: bool | None = None
