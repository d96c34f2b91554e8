"""Parts that mechanisms with a translator share: its options, its first line, and the networks around it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from ipaddress import IPv4Address

from ...mechanisms.parting import ALLOW_PRIVATE
from ...mechanisms.tayga import TAYGA
from ...mechanisms.translating import ERRORS_FROM_DESTINATION, LOWEST_IPV6_MTU, PREFIX, ZERO_CHECKSUM
from ...model.errors import CapabilityError, UsageError
from ...model.parameter import Parameter
from ...model.topology import Family
from ..kind import DeviceRequest, FirstLine
from ..option import Given, PacketOption, option_of
from ..passing.barrier import NODE
from ..passing.network import PassingNetwork
from ..passing.translators import translator_network
from ..readers import eam, ipv4, ipv4_net, ipv6, ipv6_net, number, numbers

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
_NOT_OF_PROGRAMS = {
    "hop": "--no-hop: a node takes one from the hop limit of whatever it forwards",
    "tos": "--tos: its programs take the octet from the IPv6 packet",
    "traffic-class": "--traffic-class: its programs take the octet from the IPv4 packet",
}
"""Options that translators of `ebpf` lack."""
_OF_TAYGA = frozenset({"prefix", "eam", "role", "mtu4", "mtu6"})
"""Options with a word in tayga.conf(5), and those about its node's links."""


def zero_checksum(parameter: Parameter, note: str = "") -> PacketOption:
    """The option for the treatment of UDP without a checksum. The core alone can leave it as it is."""
    return option_of(replace(parameter, choices=(*parameter.choices, "forward")), note=note)


TRANSLATOR_OPTIONS = (
    option_of(PREFIX, is_repeated=True, note="The first one is for IPv4 addresses that nothing else maps."),
    PacketOption(
        name="eam",
        metavar="IPV4/N=IPV6/M",
        read=eam,
        is_repeated=True,
        help="An explicit mapping of addresses (RFC 7757), such as 192.0.2.1/32=2001:db8::1/128; may be repeated. It "
        "comes before the prefixes.",
    ),
    PacketOption(name="overlapping", help="Allow mappings of --eam that overlap: the longest matching prefix applies."),
    PacketOption(
        name="hairpin",
        help="Translate packets from one host of --eam to another twice, back to IPv6 (RFC 7757 section 4.2.2).",
    ),
    PacketOption(
        name="deny", read=ipv4_net, is_repeated=True, help="IPv4 addresses that are never translated; may be repeated."
    ),
    option_of(ALLOW_PRIVATE),
    PacketOption(name="allow-reserved", help="Translate 240.0.0.0/4, which RFC 1112 reserved."),
    PacketOption(
        name="own4",
        read=ipv4,
        help="The address from which IPv4 hosts get the translator's errors; default: 192.0.0.8 (RFC 7600).",
    ),
    PacketOption(
        name="own6",
        read=ipv6,
        help="The address from which IPv6 hosts get the translator's errors; default: that of --own4 in the first "
        "prefix.",
    ),
    PacketOption(
        name="error-pool4",
        read=ipv4_net,
        is_repeated=True,
        help="Sources of errors of IPv6 routers without a mapping (RFC 6791); may be repeated. Default: --own4.",
    ),
    PacketOption(
        name="error-pool6",
        read=ipv6_net,
        is_repeated=True,
        help="Sources of errors of IPv4 routers without a mapping; may be repeated. Default: --own6.",
    ),
    option_of(ERRORS_FROM_DESTINATION),
    PacketOption(
        name="tell",
        metavar="RULE",
        read=str,
        is_repeated=True,
        help="Answer packets that this rule drops with the error that they are prohibited (RFC 7915 sections 4.4 "
        "and 5.4), such as denied or no-mapping; may be repeated.",
    ),
    zero_checksum(ZERO_CHECKSUM),
    option_of(LOWEST_IPV6_MTU),
    PacketOption(name="mtu4", read=number(68, 65_535, "BYTES"), help="MTU of the next hop in IPv4; default: 1500."),
    PacketOption(name="mtu6", read=number(1280, 65_535, "BYTES"), help="MTU of the next hop in IPv6; default: 1500."),
    PacketOption(
        name="plateaus",
        metavar="BYTES,BYTES,...",
        read=numbers(1, 65_535),
        help=(
            "Plausible MTUs of links, for errors of IPv4 routers without an MTU; default: those of RFC 1191 section 7."
        ),
    ),
    PacketOption(
        name="tos",
        read=number(0, 255),
        help="The TOS octet of all IPv4 packets; default: the IPv6 packet's traffic class.",
    ),
    PacketOption(
        name="traffic-class",
        read=number(0, 255),
        help="The traffic class of all IPv6 packets; default: the IPv4 packet's TOS octet.",
    ),
    PacketOption(
        name="hop",
        turns_off=True,
        help="Leave the hop limit as it is: a node that forwards the packet takes one from it.",
    ),
    PacketOption(
        name="identification-seed",
        read=number(0, 2**64 - 1),
        help="Decides the identifications of IPv4 packets that may be fragmented; default: they are counted from 1.",
    ),
)


def without(*names: str) -> tuple[PacketOption, ...]:
    """The options of a translator that gets these settings from elsewhere."""
    return tuple(option for option in TRANSLATOR_OPTIONS if option.name not in names)


def translator_line(given: Given) -> FirstLine:
    """The first line for a translator without state."""
    settings = {_SETTINGS.get(name, name.replace("-", "_")): value for name, value in given.items()}
    return {"mechanism": "siit", "siit": settings}


def program_network(request: DeviceRequest, hosts_are: Family = 6) -> PassingNetwork:
    """The network around a translator by programs in the kernel. Raises `UsageError` where these lack an option.

    Args:
        hosts_are: the family of the hosts that its table is about.
    """
    refuse_no_program(request.given)
    return translator_network(request.mechanism, request.line["siit"], hosts_are=hosts_are)


def refuse_no_program(given: Given) -> None:
    """Raises `UsageError` where programs in the kernel lack an option that is given."""
    reason = next((reason for option, reason in _NOT_OF_PROGRAMS.items() if option in given), None)
    if reason is not None:
        raise UsageError(reason)


def tayga_network(request: DeviceRequest) -> PassingNetwork:
    """The network around tayga. Raises `UsageError` where it lacks an option, and `CapabilityError` where it is not
    installed."""
    other = next((name for name in request.given if name not in _OF_TAYGA), None)
    if other is not None:
        raise UsageError(f"tayga.conf has no setting for --{other}")
    if len(request.given.get(PREFIX.name, [])) != 1:
        raise UsageError("tayga has one --prefix")
    if shutil.which(TAYGA.name) is None:
        raise CapabilityError("--engine tayga: the program tayga is missing (Debian package tayga)")
    return translator_network(
        request.mechanism, request.line["siit"], hosts_are=6, own4=IPv4Address(NODE), knows_mtus=False
    )
