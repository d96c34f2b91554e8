"""6rd: a customer edge, or the border relay."""

from __future__ import annotations

from ...engines import EBPF
from ...mechanisms import sixrd
from ...mechanisms.sixrd import IPV4_MASK, PREFIX
from ..kind import FirstLine, PacketMechanism
from ..option import Given, PacketOption, option_of, value_of
from ..readers import ipv4
from .tunnels import IPV6_TUNNEL, OWN6, end_network, local, tunnel_line

_BORDER_RELAY = PacketOption(
    name="br",
    read=ipv4,
    help="The border relay. If it is the address of --local, this end is the border relay.",
)


def _first_line(given: Given) -> FirstLine:
    border_relay = given.get(_BORDER_RELAY.name)
    is_border_relay = border_relay == given["local"]
    mapping = {
        "kind": "6rd",
        "prefix": given[PREFIX.name],
        "ipv4_mask_bits": value_of(given, IPV4_MASK),
        "border_relay": None if is_border_relay else border_relay,
        "is_border_relay": is_border_relay,
    }
    return tunnel_line(given, "6rd", "ipv4", "ipv6", mapping)


SIX_RD = PacketMechanism(
    mechanism=sixrd.SIX_RD,
    doc="A customer edge or the border relay of a 6rd domain (RFC 5969).",
    options=(
        local(ipv4),
        option_of(PREFIX, is_required=True),
        option_of(IPV4_MASK, metavar="BITS"),
        _BORDER_RELAY,
        *IPV6_TUNNEL,
        OWN6,
    ),
    first_line=_first_line,
    networks={EBPF.name: end_network},
)
