"""Cost of a link over the network of the machines: Ethernet in VXLAN in UDP."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from .headers import ETHERNET, IPV4, IPV6, UDP, VXLAN


def overhead_bytes(address: IPv4Address | IPv6Address) -> int:
    """Bytes before each packet of the link, in packets between machines with addresses of that family."""
    outer = IPV4 if address.version == 4 else IPV6
    return sum(header.size_bytes for header in (outer, UDP, VXLAN, ETHERNET))
