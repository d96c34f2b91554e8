"""6to4: a router of a site, or a relay."""

from __future__ import annotations

from ...engines import EBPF
from ...mechanisms import sixtofour
from ...mechanisms.sixtofour import PRIVATE
from ..kind import FirstLine, PacketMechanism
from ..option import Given, PacketOption, option_of, value_of
from ..readers import ipv4
from .tunnels import IPV6_TUNNEL, OWN6, end_network, local, tunnel_line

_RELAY = PacketOption(name="relay", read=ipv4, help="The router that leads to native IPv6; default: none.")


def _first_line(given: Given) -> FirstLine:
    mapping = {"kind": "6to4", "relay": given.get(_RELAY.name), "allow_private": value_of(given, PRIVATE)}
    return tunnel_line(given, "6to4", "ipv4", "ipv6", mapping)


SIX_TO_FOUR = PacketMechanism(
    mechanism=sixtofour.SIX_TO_FOUR,
    doc="A router of a 6to4 site, or a relay (RFC 3056, RFC 3964).",
    options=(local(ipv4), _RELAY, option_of(PRIVATE), *IPV6_TUNNEL, OWN6),
    first_line=_first_line,
    networks={EBPF.name: end_network},
)
