"""Options of `sixbench translate siit` and `siit-dc` for a translator without state."""

from __future__ import annotations

from typing import Any

from ..option import Given, Option, choice, eam, ipv4, ipv4_net, ipv6, ipv6_net, ipv6_prefix, number, numbers

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


def siit_line(given: Given) -> dict[str, Any]:
    """The first line for a translator without state."""
    settings = {_SETTINGS.get(name, name.replace("-", "_")): value for name, value in given.items()}
    return {"mechanism": "siit", "siit": settings}


SIIT_OPTIONS = (
    Option(
        name="prefix",
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
    Option(name="overlapping", help="Allow mappings of --eam that overlap: the longest matching prefix applies."),
    Option(
        name="hairpin",
        help="Translate packets from one host of --eam to another twice, back to IPv6 (RFC 7757 section 4.2.2).",
    ),
    Option(
        name="deny", read=ipv4_net, is_repeated=True, help="IPv4 addresses that are never translated; may be repeated."
    ),
    Option(
        name="allow-private",
        help="Let 64:ff9b::/96 stand for IPv4 addresses that are not global, against RFC 6052 section 3.1.",
    ),
    Option(name="allow-reserved", help="Translate 240.0.0.0/4, which RFC 1112 reserved."),
    Option(
        name="own4",
        read=ipv4,
        help="The address from which IPv4 hosts get the translator's errors; default: 192.0.0.8 (RFC 7600).",
    ),
    Option(
        name="own6",
        read=ipv6,
        help="The address from which IPv6 hosts get the translator's errors; default: that of --own4 in the first "
        "prefix.",
    ),
    Option(
        name="error-pool4",
        read=ipv4_net,
        is_repeated=True,
        help="Sources of errors of IPv6 routers without a mapping (RFC 6791); may be repeated. Default: --own4.",
    ),
    Option(
        name="error-pool6",
        read=ipv6_net,
        is_repeated=True,
        help="Sources of errors of IPv4 routers without a mapping; may be repeated. Default: --own6.",
    ),
    Option(
        name="errors-from-destination",
        help="Send ICMPv6 errors of IPv4 routers from the packet's destination; default: from the router's address.",
    ),
    Option(
        name="tell",
        metavar="RULE",
        read=str,
        is_repeated=True,
        help="Answer packets that this rule drops with the error that they are prohibited (RFC 7915 sections 4.4 "
        "and 5.4), such as denied or no-mapping; may be repeated.",
    ),
    Option(
        name="zero-checksum",
        read=choice("drop", "compute", "forward"),
        help="Treatment of UDP without a checksum (RFC 7915 section 4.5); default: drop.",
    ),
    Option(
        name="lowest-ipv6-mtu",
        metavar="BYTES",
        read=number(1280, 65_535),
        help="Size to which IPv4 packets without DF are fragmented (RFC 7915 section 4); default: 1280.",
    ),
    Option(name="mtu4", metavar="BYTES", read=number(68, 65_535), help="MTU of the next hop in IPv4; default: 1500."),
    Option(name="mtu6", metavar="BYTES", read=number(1280, 65_535), help="MTU of the next hop in IPv6; default: 1500."),
    Option(
        name="plateaus",
        metavar="BYTES,BYTES,...",
        read=numbers(1, 65_535),
        help=(
            "Plausible MTUs of links, for errors of IPv4 routers without an MTU; default: those of RFC 1191 section 7."
        ),
    ),
    Option(
        name="tos",
        read=number(0, 255),
        help="The TOS octet of all IPv4 packets; default: the IPv6 packet's traffic class.",
    ),
    Option(
        name="traffic-class",
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
        read=number(0, 2**64 - 1),
        help="Decides the identifications of IPv4 packets that may be fragmented; default: they are counted from 1.",
    ),
)


def without(*names: str) -> tuple[Option, ...]:
    """The options of a translator that gets these settings from elsewhere."""
    return tuple(option for option in SIIT_OPTIONS if option.name not in names)


RELAY = Option(
    name="role",
    read=choice("br", "er"),
    is_required=True,
    help="The border relay (RFC 7755), or an edge relay in front of IPv4 servers (RFC 7756).",
)


def siit_dc_line(given: Given) -> dict[str, Any]:
    """The first line for a relay of SIIT-DC. The border relay translates packets from server to server twice
    (RFC 7755 section 4.4, by RFC 7757 section 4.2.2)."""
    others = {name: value for name, value in given.items() if name != RELAY.name}
    return siit_line(others | {"hairpin": given[RELAY.name] == "br"})
