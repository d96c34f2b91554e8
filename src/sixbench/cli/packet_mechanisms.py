"""The mechanisms of `sixbench translate`: one entry each, with its options and what the agent is told of it.

Options that experiments have too have the same names. A mechanism is one more entry in `PACKET_MECHANISMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any

from ..model.wording import shown

Given = Mapping[str, Any]
"""The values of the options that were given, by option without its dashes."""

_MOST_MTU = 65_535 - 48
"""What the longest outer headers, IPv6 with GRE and its key, leave of the longest packet."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option of a mechanism.

    Attributes:
        name: such as `local`, given as `--local`.
        read: from the text on the command line. Raises `ValueError`, whose message says what would be right. None: the
            option is a flag and has no value.
        turns_off: whether the flag is given as `--no-NAME`, because the opposite is the default.
    """

    name: str
    help: str
    metavar: str = ""
    read: Callable[[str], Any] | None = None
    is_required: bool = False
    is_repeated: bool = False
    turns_off: bool = False


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


def _ipv4(text: str) -> str:
    return _parsed(IPv4Address, text, "an IPv4 address, such as 192.0.2.1")


def _ipv6(text: str) -> str:
    return _parsed(IPv6Address, text, "an IPv6 address, such as 2001:db8::1")


def _address(text: str) -> str:
    return _parsed(ip_address, text, "an address, such as 192.0.2.1 or 2001:db8::1")


def _ipv6_prefix(text: str) -> str:
    return _prefix(IPv6Network, text, "an IPv6 prefix, such as 64:ff9b::/96")


def _eam(text: str) -> list[str]:
    parts = text.split("=")
    if len(parts) != 2:
        raise ValueError(f"{shown(text)} is not IPV4/N=IPV6/M, such as 192.0.2.1/32=2001:db8::1/128")
    ipv4 = _prefix(IPv4Network, parts[0], "an IPv4 prefix, such as 192.0.2.1/32")
    return [ipv4, _prefix(IPv6Network, parts[1], "an IPv6 prefix, such as 2001:db8::1/128")]


def _parsed(kind: Callable[[str], Any], text: str, what: str) -> str:
    try:
        if "%" in text:  # a zone, which no packet has
            raise ValueError
        return str(kind(text))
    except ValueError as error:
        raise ValueError(f"{shown(text)} is not {what}") from error


def _prefix(kind: Callable[[str], Any], text: str, what: str) -> str:
    if "/" not in text:
        raise ValueError(f"{shown(text)} is not {what}")
    return _parsed(kind, text, what)


def _number(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
        if not least <= value <= most:
            raise ValueError(f"{shown(text)} is not a number from {least} to {most}")
        return value

    return read


def _choice(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{shown(text)} is not one of {', '.join(choices)}")
        return text

    return read


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


_OWN4, _OWN6 = _own(_ipv4, 4), _own(_ipv6, 6)


def _tunnel_options(least_mtu: int) -> tuple[Option, ...]:
    return (
        Option(
            name="mtu",
            metavar="BYTES",
            read=_number(least_mtu, _MOST_MTU),
            help=f"MTU of the tunnel, {least_mtu} to {_MOST_MTU}; default: the most.",
        ),
        Option(
            name="ttl",
            metavar="N",
            read=_number(0, 255),
            help="TTL or hop limit of outer packets; 0: the inner packet's; default: 64.",
        ),
        Option(
            name="tos",
            metavar="N",
            read=_number(0, 255),
            help="TOS octet of outer packets, of which the DSCP is taken; default: the inner packet's.",
        ),
        Option(name="ecn", turns_off=True, help="Do not let ECN pass through the tunnel (RFC 6040)."),
        Option(
            name="pmtu",
            metavar="static|dynamic",
            read=_choice("static", "dynamic"),
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


def _siit(given: Given) -> dict[str, Any]:
    names = {"prefix": "prefixes", "eam": "explicit"}
    settings = {"prefixes": []} | {names.get(name, name.replace("-", "_")): value for name, value in given.items()}
    return {"mechanism": "siit", "siit": settings}


PACKET_MECHANISMS = (
    PacketKind(
        name="6in4",
        doc="A configured tunnel of IPv6 in IPv4 (RFC 4213).",
        options=(_local(_ipv4), _remote(_ipv4), *_IPV6_TUNNEL, _OWN6),
        first_line=_fixed("6in4", "ipv4", "ipv6"),
    ),
    PacketKind(
        name="6to4",
        doc="A router of a 6to4 site, or a relay (RFC 3056, RFC 3964).",
        options=(
            _local(_ipv4),
            Option(
                name="relay",
                metavar="ADDRESS",
                read=_ipv4,
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
            _local(_ipv4),
            Option(
                name="prefix", metavar="PREFIX", read=_ipv6_prefix, is_required=True, help="The domain's 6rd prefix."
            ),
            Option(
                name="ipv4-mask",
                metavar="BITS",
                read=_number(0, 31),
                help="How many leading bits of the IPv4 addresses are the same in the whole domain, and so not "
                "embedded; default: 0.",
            ),
            Option(
                name="br",
                metavar="ADDRESS",
                read=_ipv4,
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
        options=(_local(_ipv6), _remote(_ipv6), *_IPV4_TUNNEL, _OWN4),
        first_line=_fixed("4in6", "ipv6", "ipv4"),
    ),
    PacketKind(
        name="gre",
        doc="GRE over the family of --local, with IPv4 and IPv6 inside (RFC 2784).",
        options=(
            _local(_address),
            _remote(_address),
            Option(
                name="key",
                metavar="N",
                read=_number(0, 2**32 - 1),
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
        options=(
            Option(
                name="prefix",
                metavar="PREFIX",
                read=_ipv6_prefix,
                is_required=True,
                is_repeated=True,
                help="A prefix in which IPv4 addresses are embedded (RFC 6052), of 32, 40, 48, 56, 64 or 96 bits; may "
                "be repeated. The first one is for IPv4 addresses that nothing else maps.",
            ),
            Option(
                name="eam",
                metavar="IPV4/N=IPV6/M",
                read=_eam,
                is_repeated=True,
                help="An explicit mapping of addresses (RFC 7757), such as 192.0.2.1/32=2001:db8::1/128; may be "
                "repeated.",
            ),
            Option(
                name="zero-checksum",
                metavar="drop|compute",
                read=_choice("drop", "compute"),
                help="What becomes of UDP over IPv4 without a checksum (RFC 7915 section 4.5); default: drop.",
            ),
            Option(
                name="lowest-ipv6-mtu",
                metavar="BYTES",
                read=_number(1280, 65_535),
                help="To which IPv4 packets without DF are fragmented (RFC 7915 section 4); default: 1280.",
            ),
            Option(
                name="mtu4",
                metavar="BYTES",
                read=_number(68, 65_535),
                help="MTU of the next hop in IPv4; default: 1500.",
            ),
            Option(
                name="mtu6",
                metavar="BYTES",
                read=_number(1280, 65_535),
                help="MTU of the next hop in IPv6; default: 1500.",
            ),
            Option(
                name="own4",
                metavar="ADDRESS",
                read=_ipv4,
                help="The address from which IPv4 hosts get the translator's errors; default: 192.0.0.8 (RFC 7600).",
            ),
            Option(
                name="own6",
                metavar="ADDRESS",
                read=_ipv6,
                help="The address from which IPv6 hosts get the translator's errors; default: that of --own4 in the "
                "first prefix.",
            ),
        ),
        first_line=_siit,
    ),
)
