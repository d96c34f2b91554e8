"""Options of `sixbench translate` for one end of a tunnel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..option import Given, Option, choice, ipv4, ipv6, number

_MOST_MTU = 65_535 - 48
"""Room that the longest outer headers, IPv6 with GRE and its key, leave in the longest packet."""


def local(read: Callable[[str], str]) -> Option:
    """The option for this end's address."""
    return Option(
        name="local",
        read=read,
        is_required=True,
        help="This end's address: the source of outer packets. Packets that are for it come out of the tunnel; all "
        "others go in.",
    )


def remote(read: Callable[[str], str]) -> Option:
    """The option for the other end's address."""
    return Option(name="remote", read=read, is_required=True, help="The other end's address.")


def _own(read: Callable[[str], str], family: int) -> Option:
    return Option(
        name=f"own{family}",
        read=read,
        help=(
            f"Source of the errors that IPv{family} hosts get, such as for a packet that is too long for the "
            "tunnel; default: none, and such packets are dropped without an error."
        ),
    )


OWN4, OWN6 = _own(ipv4, 4), _own(ipv6, 6)


def _tunnel_options(least_mtu: int) -> tuple[Option, ...]:
    return (
        Option(
            name="mtu",
            metavar="BYTES",
            read=number(least_mtu, _MOST_MTU),
            help=f"MTU of the tunnel, {least_mtu} to {_MOST_MTU}; default: the most.",
        ),
        Option(
            name="ttl",
            read=number(0, 255),
            help="TTL or hop limit of outer packets; 0: the inner packet's; default: 64.",
        ),
        Option(
            name="tos",
            read=number(0, 255),
            help="TOS octet of outer packets, of which the DSCP is taken; default: the inner packet's.",
        ),
        Option(name="ecn", turns_off=True, help="Do not let ECN pass through the tunnel (RFC 6040)."),
        Option(
            name="pmtu",
            read=choice("static", "dynamic"),
            help="static: outer packets may be fragmented, which is the default; dynamic: they may not (RFC 4213 "
            "section 3.2).",
        ),
    )


IPV6_TUNNEL = _tunnel_options(1280)
IPV4_TUNNEL = _tunnel_options(68)


def tunnel_line(given: Given, name: str, outer: str, payload: str, mapping: dict[str, Any]) -> dict[str, Any]:
    """The first line for an end of a tunnel with that mapping (docs/protocol.md)."""
    tunnel = {
        "device": name,
        "underlay": ["below"],
        "mtu_bytes": given.get("mtu", _MOST_MTU),
        "outer": outer,
        "payload": payload,
        "local": given["local"],
        "mapping": mapping,
        "ttl": given.get("ttl", 64) or "inherit",
        "tos": given.get("tos", "inherit"),
        "ecn": given.get("ecn", True),
        "pmtu": given.get("pmtu", "static"),
    }
    node = {name: given[name] for name in ("own4", "own6") if name in given}
    return {"mechanism": "tunnel", "tunnel": tunnel, "node": node}


def fixed(name: str, outer: str, payload: str) -> Callable[[Given], dict[str, Any]]:
    """Makes the first line for an end of a tunnel with one other end."""
    return lambda given: tunnel_line(given, name, outer, payload, {"kind": "fixed", "remote": given["remote"]})


def six_to_four(given: Given) -> dict[str, Any]:
    """The first line for a router of 6to4."""
    mapping = {"kind": "6to4", "relay": given.get("relay"), "allow_private": given.get("private", False)}
    return tunnel_line(given, "6to4", "ipv4", "ipv6", mapping)


def six_rd(given: Given) -> dict[str, Any]:
    """The first line for a node of 6rd."""
    is_border_relay = given.get("br") == given["local"]
    mapping = {
        "kind": "6rd",
        "prefix": given["prefix"],
        "ipv4_mask_bits": given.get("ipv4-mask", 0),
        "border_relay": None if is_border_relay else given.get("br"),
        "is_border_relay": is_border_relay,
    }
    return tunnel_line(given, "6rd", "ipv4", "ipv6", mapping)


def gre(given: Given) -> dict[str, Any]:
    """The first line for an end of a GRE tunnel."""
    outer = "ipv6" if ":" in given["local"] else "ipv4"
    line = tunnel_line(given, "gre", outer, "gre", {"kind": "fixed", "remote": given["remote"]})
    line["tunnel"]["gre_key"] = given.get("key")
    return line
