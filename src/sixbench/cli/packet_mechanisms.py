"""The mechanisms of `sixbench translate`: one entry each, with its options and what the agent is told of it.

Options that experiments have too have the same names. A mechanism is one more entry in `PACKET_MECHANISMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .packet_map import BORDER_RELAY, DMR_PREFIX, RULE_OPTIONS, map_node
from .packet_options import (
    Option,
    address,
    choice,
    eam,
    ipv4,
    ipv4_net,
    ipv6,
    ipv6_net,
    ipv6_prefix,
    number,
    numbers,
)

Given = Mapping[str, Any]
"""The values of the options that were given, by option without its dashes."""

_MOST_MTU = 65_535 - 48
"""What the longest outer headers, IPv6 with GRE and its key, leave of the longest packet."""


@dataclass(frozen=True, kw_only=True)
class PacketKind:
    """A mechanism that packets can be taken through.

    Attributes:
        doc: what it is, in a sentence that fits a line.
        first_line: the first line of a conversation with `sixbench-agent translate` (docs/protocol.md).
    """

    name: str
    doc: str
    options: tuple[Option, ...]
    first_line: Callable[[Given], dict[str, Any]]


def _local(read: Callable[[str], str]) -> Option:
    return Option(
        name="local",
        metavar="ADDRESS",
        read=read,
        is_required=True,
        help="This end's address: the source of outer packets. Packets that are for it come out of the tunnel; all "
        "others go in.",
    )


def _remote(read: Callable[[str], str]) -> Option:
    return Option(name="remote", metavar="ADDRESS", read=read, is_required=True, help="The other end's address.")


def _own(read: Callable[[str], str], family: int) -> Option:
    return Option(
        name=f"own{family}",
        metavar="ADDRESS",
        read=read,
        help=f"The address from which an IPv{family} host is told that its packet is too long for the tunnel; default: "
        "none, so that the packet is only dropped.",
    )


_OWN4, _OWN6 = _own(ipv4, 4), _own(ipv6, 6)


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
            metavar="N",
            read=number(0, 255),
            help="TTL or hop limit of outer packets; 0: the inner packet's; default: 64.",
        ),
        Option(
            name="tos",
            metavar="N",
            read=number(0, 255),
            help="TOS octet of outer packets, of which the DSCP is taken; default: the inner packet's.",
        ),
        Option(name="ecn", turns_off=True, help="Do not let ECN pass through the tunnel (RFC 6040)."),
        Option(
            name="pmtu",
            metavar="static|dynamic",
            read=choice("static", "dynamic"),
            help="static: outer packets may be fragmented, which is the default; dynamic: they may not (RFC 4213 "
            "section 3.2).",
        ),
    )


_IPV6_TUNNEL = _tunnel_options(1280)
_IPV4_TUNNEL = _tunnel_options(68)


def _tunnel(given: Given, name: str, outer: str, payload: str, mapping: dict[str, Any]) -> dict[str, Any]:
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
    own = {name: given[name] for name in ("own4", "own6") if name in given}
    return {"mechanism": "tunnel", "tunnel": tunnel} | own


def _fixed(name: str, outer: str, payload: str) -> Callable[[Given], dict[str, Any]]:
    return lambda given: _tunnel(given, name, outer, payload, {"kind": "fixed", "remote": given["remote"]})


def _six_to_four(given: Given) -> dict[str, Any]:
    mapping = {"kind": "6to4", "relay": given.get("relay"), "allow_private": given.get("private", False)}
    return _tunnel(given, "6to4", "ipv4", "ipv6", mapping)


def _six_rd(given: Given) -> dict[str, Any]:
    is_border_relay = given.get("br") == given["local"]
    mapping = {
        "kind": "6rd",
        "prefix": given["prefix"],
        "ipv4_mask_bits": given.get("ipv4-mask", 0),
        "border_relay": None if is_border_relay else given.get("br"),
        "is_border_relay": is_border_relay,
    }
    return _tunnel(given, "6rd", "ipv4", "ipv6", mapping)


def _gre(given: Given) -> dict[str, Any]:
    outer = "ipv6" if ":" in given["local"] else "ipv4"
    line = _tunnel(given, "gre", outer, "gre", {"kind": "fixed", "remote": given["remote"]})
    line["tunnel"]["gre_key"] = given.get("key")
    return line


_SETTINGS = {
    "prefix": "prefixes",
    "eam": "explicit",
    "deny": "denied",
    "allow-private": "allow_non_global",
    "error-pool4": "pool4",
    "error-pool6": "pool6",
    "tell": "told",
    "hop": "takes_hop",
}
"""The protocol's names of the settings that have another name as options."""


def _siit(given: Given) -> dict[str, Any]:
    settings = {_SETTINGS.get(name, name.replace("-", "_")): value for name, value in given.items()}
    return {"mechanism": "siit", "siit": settings}


_SIIT_OPTIONS = (
    Option(
        name="prefix",
        metavar="PREFIX",
        read=ipv6_prefix,
        is_repeated=True,
        help="A prefix in which IPv4 addresses are embedded (RFC 6052), of 32, 40, 48, 56, 64 or 96 bits; may be "
        "repeated. The first one is for IPv4 addresses that nothing else maps.",
    ),
    Option(
        name="eam",
        metavar="IPV4/N=IPV6/M",
        read=eam,
        is_repeated=True,
        help="An explicit mapping of addresses (RFC 7757), such as 192.0.2.1/32=2001:db8::1/128; may be repeated. It "
        "comes before the prefixes.",
    ),
    Option(name="overlapping", help="Let mappings of --eam lie in one another: the longest prefix that fits holds."),
    Option(
        name="hairpin",
        help="Translate packets from one host of --eam to another twice, back to IPv6 (RFC 7757 section 4.2.2).",
    ),
    Option(
        name="deny",
        metavar="IPV4/N",
        read=ipv4_net,
        is_repeated=True,
        help="IPv4 addresses that are never translated; may be repeated.",
    ),
    Option(
        name="allow-private",
        help="Let 64:ff9b::/96 stand for IPv4 addresses that are not global, against RFC 6052 section 3.1.",
    ),
    Option(name="allow-reserved", help="Translate 240.0.0.0/4, which RFC 1112 reserved."),
    Option(
        name="own4",
        metavar="ADDRESS",
        read=ipv4,
        help="The address from which IPv4 hosts get the translator's errors; default: 192.0.0.8 (RFC 7600).",
    ),
    Option(
        name="own6",
        metavar="ADDRESS",
        read=ipv6,
        help="The address from which IPv6 hosts get the translator's errors; default: that of --own4 in the first "
        "prefix.",
    ),
    Option(
        name="error-pool4",
        metavar="IPV4/N",
        read=ipv4_net,
        is_repeated=True,
        help="Addresses from which errors of IPv6 routers come that nothing maps (RFC 6791); may be repeated. Default: "
        "--own4.",
    ),
    Option(
        name="error-pool6",
        metavar="IPV6/N",
        read=ipv6_net,
        is_repeated=True,
        help="Addresses from which errors of IPv4 routers come that nothing maps; may be repeated. Default: --own6.",
    ),
    Option(
        name="tell",
        metavar="RULE",
        read=str,
        is_repeated=True,
        help="Tell sources of packets that this rule drops that they were prohibited (RFC 7915 sections 4.4 and 5.4), "
        "such as denied or no-mapping; may be repeated.",
    ),
    Option(
        name="zero-checksum",
        metavar="drop|compute|forward",
        read=choice("drop", "compute", "forward"),
        help="What becomes of UDP without a checksum (RFC 7915 section 4.5); default: drop.",
    ),
    Option(
        name="lowest-ipv6-mtu",
        metavar="BYTES",
        read=number(1280, 65_535),
        help="To which IPv4 packets without DF are fragmented (RFC 7915 section 4); default: 1280.",
    ),
    Option(
        name="mtu4",
        metavar="BYTES",
        read=number(68, 65_535),
        help="MTU of the next hop in IPv4; default: 1500.",
    ),
    Option(
        name="mtu6",
        metavar="BYTES",
        read=number(1280, 65_535),
        help="MTU of the next hop in IPv6; default: 1500.",
    ),
    Option(
        name="plateaus",
        metavar="BYTES,BYTES,...",
        read=numbers(1, 65_535),
        help="MTUs that links have, for errors of IPv4 routers that tell none; default: those of RFC 1191 section 7.",
    ),
    Option(
        name="tos",
        metavar="N",
        read=number(0, 255),
        help="The TOS octet of all IPv4 packets; default: the IPv6 packet's traffic class.",
    ),
    Option(
        name="traffic-class",
        metavar="N",
        read=number(0, 255),
        help="The traffic class of all IPv6 packets; default: the IPv4 packet's TOS octet.",
    ),
    Option(
        name="hop",
        turns_off=True,
        help="Leave the hop limit as it is: a node that forwards the packet takes one from it.",
    ),
    Option(
        name="identification-seed",
        metavar="N",
        read=number(0, 2**64 - 1),
        help="Decides the identifications of IPv4 packets that may be fragmented; default: they are counted from 1.",
    ),
)


def _map_t(given: Given) -> dict[str, Any]:
    own = {option.name for option in (*RULE_OPTIONS, DMR_PREFIX)}
    others = {name: value for name, value in given.items() if name not in own}
    line = _siit(others | {"prefix": [given["dmr-prefix"]]})
    line["siit"]["domain"] = map_node(given).domain
    return line


def _map_e(given: Given) -> dict[str, Any]:
    node = map_node(given)
    relay = {} if node.address is None else {"border_relay": given["br"]}
    local = given["br"] if node.address is None else str(node.address)
    return _tunnel({**given, "local": local}, "map-e", "ipv6", "ipv4", {"kind": "map", **node.domain, **relay})


_NOT_OF_MAP = {"prefix", "eam", "overlapping", "hairpin"}

PACKET_MECHANISMS = (
    PacketKind(
        name="6in4",
        doc="A configured tunnel of IPv6 in IPv4 (RFC 4213).",
        options=(_local(ipv4), _remote(ipv4), *_IPV6_TUNNEL, _OWN6),
        first_line=_fixed("6in4", "ipv4", "ipv6"),
    ),
    PacketKind(
        name="6to4",
        doc="A router of a 6to4 site, or a relay (RFC 3056, RFC 3964).",
        options=(
            _local(ipv4),
            Option(
                name="relay",
                metavar="ADDRESS",
                read=ipv4,
                help="The router that leads to native IPv6; default: none.",
            ),
            Option(name="private", help="Take private IPv4 addresses, which RFC 3964 section 5.3 says to drop."),
            *_IPV6_TUNNEL,
            _OWN6,
        ),
        first_line=_six_to_four,
    ),
    PacketKind(
        name="6rd",
        doc="A customer edge or the border relay of a 6rd domain (RFC 5969).",
        options=(
            _local(ipv4),
            Option(
                name="prefix", metavar="PREFIX", read=ipv6_prefix, is_required=True, help="The domain's 6rd prefix."
            ),
            Option(
                name="ipv4-mask",
                metavar="BITS",
                read=number(0, 31),
                help="How many leading bits of the IPv4 addresses are the same in the whole domain, and so not "
                "embedded; default: 0.",
            ),
            Option(
                name="br",
                metavar="ADDRESS",
                read=ipv4,
                help="The border relay. If it is the address of --local, this end is the border relay.",
            ),
            *_IPV6_TUNNEL,
            _OWN6,
        ),
        first_line=_six_rd,
    ),
    PacketKind(
        name="4in6",
        doc="A configured tunnel of IPv4 in IPv6 (RFC 2473).",
        options=(_local(ipv6), _remote(ipv6), *_IPV4_TUNNEL, _OWN4),
        first_line=_fixed("4in6", "ipv6", "ipv4"),
    ),
    PacketKind(
        name="map-e",
        doc="The border relay of a MAP-E domain, or a customer edge (RFC 7597).",
        options=(*RULE_OPTIONS, BORDER_RELAY, *_IPV4_TUNNEL, _OWN4),
        first_line=_map_e,
    ),
    PacketKind(
        name="gre",
        doc="GRE over the family of --local, with IPv4 and IPv6 inside (RFC 2784).",
        options=(
            _local(address),
            _remote(address),
            Option(
                name="key",
                metavar="N",
                read=number(0, 2**32 - 1),
                help="32 bits; packets with another key are dropped (RFC 2890). Default: no key.",
            ),
            *_IPV4_TUNNEL,
            _OWN4,
            _OWN6,
        ),
        first_line=_gre,
    ),
    PacketKind(
        name="siit",
        doc="A stateless translator between IPv4 and IPv6 (RFC 7915).",
        options=_SIIT_OPTIONS,
        first_line=_siit,
    ),
    PacketKind(
        name="map-t",
        doc="The border relay of a MAP-T domain, or a customer edge (RFC 7599).",
        options=(*RULE_OPTIONS, DMR_PREFIX, *(option for option in _SIIT_OPTIONS if option.name not in _NOT_OF_MAP)),
        first_line=_map_t,
    ),
)
