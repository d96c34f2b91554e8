"""Parts that ends of tunnels share: their options, their first line, and the network around one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...mechanisms.common import ECN, MTU, PMTU, TOS, TTL
from ..kind import DeviceRequest, FirstLine
from ..option import Given, PacketOption, option_of, value_of
from ..passing.network import PassingNetwork
from ..passing.tunnels import tunnel_network
from ..readers import ipv4, ipv6

_MAX_MTU = 65_535 - 48
"""Room that the longest outer headers, IPv6 with GRE and its key, leave in the longest packet."""


def local(read: Callable[[str], str]) -> PacketOption:
    """The option for this end's address."""
    return PacketOption(
        name="local",
        read=read,
        is_required=True,
        help="This end's address: the source of outer packets. Packets that are for it come out of the tunnel; all "
        "others go in.",
    )


def remote(read: Callable[[str], str]) -> PacketOption:
    """The option for the other end's address."""
    return PacketOption(name="remote", read=read, is_required=True, help="The other end's address.")


def _error_source(read: Callable[[str], str], family: int) -> PacketOption:
    return PacketOption(
        name=f"own{family}",
        read=read,
        help=(
            f"Source of the errors that IPv{family} hosts get, such as for a packet that is too long for the "
            "tunnel; default: none, and such packets are dropped without an error."
        ),
    )


OWN4, OWN6 = _error_source(ipv4, 4), _error_source(ipv6, 6)


def _tunnel_options(least_mtu: int) -> tuple[PacketOption, ...]:
    """The options of every tunnel of experiments. Its MTU is not that of a carrier."""
    mtu = replace(
        MTU,
        doc=f"MTU of the tunnel, {least_mtu} to {_MAX_MTU}",
        minimum=least_mtu,
        maximum=_MAX_MTU,
        unless_given="the most",
    )
    return tuple(option_of(parameter) for parameter in (mtu, TTL, TOS, ECN, PMTU))


IPV6_TUNNEL = _tunnel_options(1280)
IPV4_TUNNEL = _tunnel_options(68)


def tunnel_line(given: Given, name: str, outer: str, payload: str, mapping: dict[str, Any]) -> FirstLine:
    """The first line for an end of a tunnel with that mapping (docs/protocol.md)."""
    tos = value_of(given, TOS)
    tunnel = {
        "device": name,
        "underlay": ["below"],
        "mtu_bytes": given.get(MTU.name, _MAX_MTU),
        "outer": outer,
        "payload": payload,
        "local": given["local"],
        "mapping": mapping,
        "ttl": value_of(given, TTL) or "inherit",
        "tos": "inherit" if tos is None else tos,
        "ecn": value_of(given, ECN),
        "pmtu": value_of(given, PMTU),
    }
    node = {name: given[name] for name in ("own4", "own6") if name in given}
    return {"mechanism": "tunnel", "tunnel": tunnel, "node": node}


def fixed(name: str, outer: str, payload: str) -> Callable[[Given], FirstLine]:
    """Makes the first line for an end of a tunnel with one other end."""
    return lambda given: tunnel_line(given, name, outer, payload, {"kind": "fixed", "remote": given["remote"]})


def end_network(request: DeviceRequest) -> PassingNetwork:
    """The network around one end of a tunnel."""
    return tunnel_network(request.line["tunnel"], request.line["node"])
