"""Automatic addresses. They are predictable, and they come from the benchmarking prefixes.

Link n of an experiment (from 0) has the prefix 198.18.n.0/24, which goes on into 198.19.0.0 (RFC 2544 appendix C.2.2,
RFC 6890), and 2001:2:0:n::/64 (RFC 5180 section 8). Its first end has .1 and ::1, its second end .2 and ::2. Where an
experiment has more than 512 links, all of its IPv4 prefixes are so much longer that the pool suffices: link n of up to
1024 links has the n-th /25, of up to 2048 links the n-th /26.
"""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv4Network, IPv6Interface, IPv6Network

POOL_V4 = IPv4Network("198.18.0.0/15")
POOL_V6 = IPv6Network("2001:2::/48")
PREFIX_V4 = 24
PREFIX_V6 = 64

LINKS_OF_24 = 2 ** (PREFIX_V4 - POOL_V4.prefixlen)
"""Number of links that can have an IPv4 prefix of 24 bits of their own: 512."""


def prefix_length_v4(links: int) -> int:
    """Length of the IPv4 prefixes of an experiment with that many links: 24, or more if the pool would not suffice."""
    return max(PREFIX_V4, POOL_V4.prefixlen + (links - 1).bit_length())


def link_ipv4(index: int, links: int = LINKS_OF_24) -> tuple[IPv4Interface, IPv4Interface]:
    """The IPv4 addresses of both ends of link `index` of so many `links`."""
    length = prefix_length_v4(links)
    base = int(POOL_V4.network_address) + index * 2 ** (32 - length)
    return IPv4Interface((base + 1, length)), IPv4Interface((base + 2, length))


def link_ipv6(index: int) -> tuple[IPv6Interface, IPv6Interface]:
    """The IPv6 addresses of both ends of link `index`."""
    base = int(POOL_V6.network_address) + index * 2 ** (128 - PREFIX_V6)
    return IPv6Interface((base + 1, PREFIX_V6)), IPv6Interface((base + 2, PREFIX_V6))
