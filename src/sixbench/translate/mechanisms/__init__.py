"""The mechanisms of `sixbench translate`: one entry each, with its options and what the agent is told of it.

Options that experiments have too have the same names. A mechanism is one more entry in `PACKET_MECHANISMS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..option import Given, Option, address, ipv4, ipv6, ipv6_prefix, number
from .lw4o6 import LW4O6_OPTIONS, LWAFTR_OPTIONS, lw4o6_line
from .mapdomain import BORDER_RELAY, DMR_PREFIX, HAIRPIN, RULE_OPTIONS, map_e_line, map_t_line
from .nat64 import NAT64_OPTIONS, XLAT_OPTIONS, nat64_line, xlat_line
from .router import ROUTER_OPTIONS
from .translating import RELAY, SIIT_OPTIONS, siit_dc_line, siit_line, without
from .tunnels import IPV4_TUNNEL, IPV6_TUNNEL, OWN4, OWN6, fixed, gre, local, remote, six_rd, six_to_four


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


PACKET_MECHANISMS = (
    PacketKind(
        name="6in4",
        doc="A configured tunnel of IPv6 in IPv4 (RFC 4213).",
        options=(local(ipv4), remote(ipv4), *IPV6_TUNNEL, OWN6),
        first_line=fixed("6in4", "ipv4", "ipv6"),
    ),
    PacketKind(
        name="6to4",
        doc="A router of a 6to4 site, or a relay (RFC 3056, RFC 3964).",
        options=(
            local(ipv4),
            Option(name="relay", read=ipv4, help="The router that leads to native IPv6; default: none."),
            Option(name="private", help="Take private IPv4 addresses, which RFC 3964 section 5.3 says to drop."),
            *IPV6_TUNNEL,
            OWN6,
        ),
        first_line=six_to_four,
    ),
    PacketKind(
        name="6rd",
        doc="A customer edge or the border relay of a 6rd domain (RFC 5969).",
        options=(
            local(ipv4),
            Option(name="prefix", read=ipv6_prefix, is_required=True, help="The domain's 6rd prefix."),
            Option(
                name="ipv4-mask",
                metavar="BITS",
                read=number(0, 31),
                help="Number of leading bits of the IPv4 addresses that are the same in the whole domain, and so not "
                "embedded; default: 0.",
            ),
            Option(
                name="br",
                read=ipv4,
                help="The border relay. If it is the address of --local, this end is the border relay.",
            ),
            *IPV6_TUNNEL,
            OWN6,
        ),
        first_line=six_rd,
    ),
    PacketKind(
        name="4in6",
        doc="A configured tunnel of IPv4 in IPv6 (RFC 2473).",
        options=(local(ipv6), remote(ipv6), *IPV4_TUNNEL, OWN4),
        first_line=fixed("4in6", "ipv6", "ipv4"),
    ),
    PacketKind(
        name="map-e",
        doc="The border relay of a MAP-E domain, or a customer edge (RFC 7597).",
        options=(*RULE_OPTIONS, BORDER_RELAY, *ROUTER_OPTIONS, *IPV4_TUNNEL, OWN4),
        first_line=map_e_line,
    ),
    PacketKind(
        name="gre",
        doc="GRE over the family of --local, of both families (RFC 2784).",
        options=(
            local(address),
            remote(address),
            Option(
                name="key",
                read=number(0, 2**32 - 1),
                help="32 bits; packets with another key are dropped (RFC 2890). Default: no key.",
            ),
            *IPV4_TUNNEL,
            OWN4,
            OWN6,
        ),
        first_line=gre,
    ),
    PacketKind(
        name="siit",
        doc="A stateless translator between IPv4 and IPv6 (RFC 7915).",
        options=SIIT_OPTIONS,
        first_line=siit_line,
    ),
    PacketKind(
        name="map-t",
        doc="The border relay of a MAP-T domain, or a customer edge (RFC 7599).",
        options=(*RULE_OPTIONS, DMR_PREFIX, HAIRPIN, *without("prefix", "eam", "overlapping", "hairpin")),
        first_line=map_t_line,
    ),
    PacketKind(
        name="lw4o6",
        doc="An lwAFTR with its binding table, or an lwB4 (RFC 7596).",
        options=(*LW4O6_OPTIONS, *LWAFTR_OPTIONS, *IPV4_TUNNEL, OWN4, OWN6),
        first_line=lw4o6_line,
    ),
    PacketKind(
        name="siit-dc",
        doc="A border or edge relay of an IPv6-only data centre (RFC 7755).",
        options=(RELAY, *without("hairpin")),
        first_line=siit_dc_line,
    ),
    PacketKind(
        name="nat64",
        doc="A stateful translator for IPv6 clients of IPv4 servers (RFC 6146).",
        options=(*NAT64_OPTIONS, *without("eam", "overlapping", "hairpin", "zero-checksum")),
        first_line=nat64_line,
    ),
    PacketKind(
        name="464xlat",
        doc="A CLAT, which has no state, or a PLAT, which is a NAT64 (RFC 6877).",
        options=(*XLAT_OPTIONS, *without("overlapping", "hairpin", "zero-checksum")),
        first_line=xlat_line,
    ),
)
