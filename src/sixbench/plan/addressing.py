"""Automatic addresses: predictable, from the benchmarking prefixes.

Link n of an experiment (from 0) is 198.18.n.0/24 carried on into 198.19.0.0 (RFC 2544 appendix C.2.2, RFC 6890) and
2001:2:0:n::/64 (RFC 5180 section 8); its first end is .1 and ::1, its second .2 and ::2.
"""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv4Network, IPv6Interface, IPv6Network

POOL_V4 = IPv4Network("198.18.0.0/15")
POOL_V6 = IPv6Network("2001:2::/48")
PREFIX_V4 = 24
PREFIX_V6 = 64

MAX_LINKS = 2 ** (PREFIX_V4 - POOL_V4.prefixlen)
"""So many links have an IPv4 prefix of their own: 512."""


def link_ipv4(index: int) -> tuple[IPv4Interface, IPv4Interface]:
    """Addresses of both ends of link `index`. Raises `ValueError` where the pool has no more."""
    if index >= MAX_LINKS:
        raise ValueError(
            f"the pool {POOL_V4} has {MAX_LINKS} prefixes of /{PREFIX_V4}; give the addresses of further links by hand"
        )
    base = int(POOL_V4.network_address) + index * 2 ** (32 - PREFIX_V4)
    return IPv4Interface((base + 1, PREFIX_V4)), IPv4Interface((base + 2, PREFIX_V4))


def link_ipv6(index: int) -> tuple[IPv6Interface, IPv6Interface]:
    """Addresses of both ends of link `index`; as many as IPv4 has."""
    base = int(POOL_V6.network_address) + index * 2 ** (128 - PREFIX_V6)
    return IPv6Interface((base + 1, PREFIX_V6)), IPv6Interface((base + 2, PREFIX_V6))
