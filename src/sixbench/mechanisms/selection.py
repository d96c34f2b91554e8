"""Destination address selection of a host: RFC 6724 section 6, for pairs whose source is known."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network

from ..model.leg import Address

Pair = tuple[Address, Address]
"""A source that the host would use, and a destination."""

Policy = Sequence[tuple[IPv6Network, int, int]]
"""Prefix, precedence, label."""

_MAPPED = IPv6Network("::ffff:0:0/96")
DEFAULT_POLICY: Policy = tuple(
    (IPv6Network(prefix), precedence, label)
    for prefix, precedence, label in (
        ("::1/128", 50, 0),
        ("::/0", 40, 1),
        ("::ffff:0:0/96", 35, 4),
        ("2002::/16", 30, 2),
        ("2001::/32", 5, 5),
        ("fc00::/7", 3, 13),
        ("::/96", 1, 3),
        ("fec0::/10", 1, 11),
        ("3ffe::/16", 1, 12),
    )
)
"""RFC 6724 section 2.1."""

IPV4_FIRST: Policy = tuple(
    (prefix, 100 if prefix == _MAPPED else precedence, label) for prefix, precedence, label in DEFAULT_POLICY
)
"""RFC 6724 section 10.3: what `precedence ::ffff:0:0/96 100` in gai.conf does."""


def by_preference(pairs: Sequence[Pair], prefers_ipv4: bool = False) -> list[Pair]:
    """The pairs in the order in which a host tries them. Rules 3, 4 and 7 (deprecated, home and native addresses)
    have nothing to decide in a lab."""
    policy = IPV4_FIRST if prefers_ipv4 else DEFAULT_POLICY

    def rank(pair: Pair) -> tuple[bool, bool, int, int, int]:
        source, destination = _mapped(pair[0]), _mapped(pair[1])
        precedence, label = _entry(policy, destination)
        return (
            _scope(source) != _scope(destination),  # rule 2
            _entry(policy, source)[1] != label,  # rule 5
            -precedence,  # rule 6
            _scope(destination),  # rule 8
            -_common_bits(source, destination) if pair[0].version == 6 else 0,  # rule 9
        )

    return sorted(pairs, key=rank)


def _entry(policy: Policy, address: IPv6Address) -> tuple[int, int]:
    matches = [entry for entry in policy if address in entry[0]]
    _, precedence, label = max(matches, key=lambda entry: entry[0].prefixlen)
    return precedence, label


def _mapped(address: Address) -> IPv6Address:
    return address if isinstance(address, IPv6Address) else IPv6Address(f"::ffff:{address}")


def _scope(address: IPv6Address) -> int:
    """RFC 6724 sections 3.1 and 3.2: link-local 2, site-local 5, global 14."""
    inner: IPv4Address | IPv6Address = address.ipv4_mapped or address
    if inner.is_link_local or inner.is_loopback:
        return 2
    if isinstance(inner, IPv6Address) and inner.is_site_local:
        return 5
    return 14


def _common_bits(first: IPv6Address, second: IPv6Address) -> int:
    return 64 - min(64, ((int(first) ^ int(second)) >> 64).bit_length())
