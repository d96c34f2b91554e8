"""Tunnels whose two ends are configured with one another's addresses: 6in4, 4in6, GRE."""

from __future__ import annotations

from ...engines import EBPF
from ...mechanisms import configured
from ..kind import FirstLine, PacketMechanism
from ..option import Given, option_of, value_of
from ..readers import address, ipv4, ipv6
from .tunnels import IPV4_TUNNEL, IPV6_TUNNEL, OWN4, OWN6, end_network, fixed, local, remote, tunnel_line


def _gre_line(given: Given) -> FirstLine:
    outer = "ipv6" if ":" in given["local"] else "ipv4"
    line = tunnel_line(given, "gre", outer, "gre", {"kind": "fixed", "remote": given["remote"]})
    line["tunnel"]["gre_key"] = value_of(given, configured.GRE_KEY)
    return line


SIX_IN_FOUR = PacketMechanism(
    mechanism=configured.SIX_IN_FOUR,
    doc="A configured tunnel of IPv6 in IPv4 (RFC 4213).",
    options=(local(ipv4), remote(ipv4), *IPV6_TUNNEL, OWN6),
    first_line=fixed("6in4", "ipv4", "ipv6"),
    networks={EBPF.name: end_network},
)
FOUR_IN_SIX = PacketMechanism(
    mechanism=configured.FOUR_IN_SIX,
    doc=configured.FOUR_IN_SIX.doc,
    options=(local(ipv6), remote(ipv6), *IPV4_TUNNEL, OWN4),
    first_line=fixed("4in6", "ipv6", "ipv4"),
    networks={EBPF.name: end_network},
)
GRE = PacketMechanism(
    mechanism=configured.GRE,
    doc="GRE over the family of --local, of both families (RFC 2784).",
    options=(local(address), remote(address), option_of(configured.GRE_KEY), *IPV4_TUNNEL, OWN4, OWN6),
    first_line=_gre_line,
    networks={EBPF.name: end_network},
)
