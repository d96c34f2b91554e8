"""Addresses of one family, as translators write them in the other: embedded in a prefix (RFC 6052), or by a table of
explicit address mappings (RFC 7757)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import pairwise

from ..model.leg import Address
from ..model.quoting import shown, visible

PREFIX_LENGTHS = (32, 40, 48, 56, 64, 96)
"""RFC 6052 section 2.2."""

WELL_KNOWN_PREFIX = IPv6Network("64:ff9b::/96")
"""RFC 6052 section 2.1. It must not represent IPv4 addresses that are not global (section 3.1)."""

_RESERVED_OCTET = 8
"""Bits 64 to 71, which are zero in every address that has an IPv4 address embedded (RFC 6052 section 2.2)."""

MAX_ROWS = 1024
"""More rows than a table of an experiment has."""


def check_prefix(prefix: IPv6Network) -> str | None:
    """The problem with a prefix for IPv4 addresses, as a sentence; None if nothing."""
    if prefix.prefixlen not in PREFIX_LENGTHS:
        lengths = ", ".join(f"/{length}" for length in PREFIX_LENGTHS)
        return f"the prefix {prefix} has another length than {lengths} (RFC 6052 section 2.2)"
    if prefix.network_address.packed[_RESERVED_OCTET]:
        return f"the prefix {prefix} has bits in octet 8, where embedded addresses have zeros (RFC 6052 section 2.2)"
    return None


def embed(prefix: IPv6Network, address: IPv4Address) -> IPv6Address:
    """The IPv6 address that stands for an IPv4 address (RFC 6052 section 2.2)."""
    octets = bytearray(prefix.network_address.packed)
    for place, octet in zip(_places(prefix), address.packed, strict=True):
        octets[place] = octet
    return IPv6Address(bytes(octets))


def embed_network(prefix: IPv6Network, network: IPv4Network) -> IPv6Network:
    """The prefix that all addresses of an IPv4 network share once they are embedded."""
    first, bits = prefix.prefixlen, prefix.prefixlen + network.prefixlen
    passes_reserved = first <= 8 * _RESERVED_OCTET < bits
    return IPv6Network((embed(prefix, network.network_address), bits + (8 if passes_reserved else 0)))


def _places(prefix: IPv6Network) -> list[int]:
    first = prefix.prefixlen // 8
    return [place for place in range(first, first + 5) if place != _RESERVED_OCTET][:4]


@dataclass(frozen=True)
class Mapping:
    """A row of a table of explicit address mappings: as many addresses of either family, in order."""

    ipv4: IPv4Network
    ipv6: IPv6Network

    def to_ipv4(self, address: IPv6Address) -> IPv4Address | None:
        """The IPv4 address for one of its IPv6 addresses (RFC 7757 section 3.3.1); None if it is none of them."""
        if address not in self.ipv6:
            return None
        offset = int(address) - int(self.ipv6.network_address)
        return IPv4Address(int(self.ipv4.network_address) + (offset >> self._spare_bits))

    def to_ipv6(self, address: IPv4Address) -> IPv6Address | None:
        """The IPv6 address for one of its IPv4 addresses (RFC 7757 section 3.3.2); None if it is none of them."""
        if address not in self.ipv4:
            return None
        offset = int(address) - int(self.ipv4.network_address)
        return IPv6Address(int(self.ipv6.network_address) + (offset << self._spare_bits))

    @property
    def _spare_bits(self) -> int:
        return (128 - self.ipv6.prefixlen) - (32 - self.ipv4.prefixlen)

    def __str__(self) -> str:
        return f"{self.ipv4}={self.ipv6}"


def parse_table(value: object) -> str:
    """Reads a table: a mapping of IPv4 addresses or prefixes to IPv6 ones, or such rows as text, as in
    `192.0.2.1=2001:db8::1 198.51.100.0/24=2001:db8:1::/120`. Raises `ValueError` saying what would be right."""
    if isinstance(value, dict):
        pairs = [(str(ipv4), str(ipv6)) for ipv4, ipv6 in value.items()]
    elif isinstance(value, str):
        pairs = [(ipv4, ipv6) for ipv4, _, ipv6 in (row.partition("=") for row in value.split())]
    else:
        raise ValueError(f"{shown(value)} is not a table of address mappings, such as {{192.0.2.1: 2001:db8::1}}")
    if not 0 < len(pairs) <= MAX_ROWS:
        raise ValueError(f"a table of address mappings has 1 to {MAX_ROWS} rows, and this one has {len(pairs)}")
    rows = [_row(ipv4, ipv6) for ipv4, ipv6 in pairs]
    # With overlapping rows, the result would depend on their order.
    _check_apart([row.ipv4 for row in rows])
    _check_apart([row.ipv6 for row in rows])
    return " ".join(map(str, rows))


def table_of(text: str) -> tuple[Mapping, ...]:
    """The rows of a table that `parse_table` gave."""
    return tuple(_row(*row.split("=")) for row in text.split())


def _row(ipv4: str, ipv6: str) -> Mapping:
    wrong = f"{shown(f'{ipv4}: {ipv6}')} maps no IPv4 address to an IPv6 address, as 192.0.2.1: 2001:db8::1 does"
    if "%" in ipv6:
        raise ValueError(wrong)
    try:
        row = Mapping(IPv4Network(ipv4), IPv6Network(ipv6))
    except ValueError as error:
        raise ValueError(f"{wrong}: {visible(str(error))}") from error
    if 32 - row.ipv4.prefixlen > 128 - row.ipv6.prefixlen:
        raise ValueError(
            f"{row.ipv6} has fewer addresses than {row.ipv4}, which it stands for: give it a length of at most "
            f"{96 + row.ipv4.prefixlen} (RFC 7757 section 3.2)"
        )
    return row


def _check_apart(networks: Sequence[IPv4Network] | Sequence[IPv6Network]) -> None:
    ordered = sorted(
        (int(network.network_address), int(network.broadcast_address), str(network)) for network in networks
    )
    for (_, last, name), (first, _, other) in pairwise(ordered):
        if first <= last:
            raise ValueError(f"the mappings of {name} and {other} overlap: addresses are mapped one to one")


def find(rows: Iterable[Mapping], address: Address) -> Address | None:
    """The address of the other family for an address, by a table; None if it has no row for it."""
    for row in rows:
        result = row.to_ipv6(address) if isinstance(address, IPv4Address) else row.to_ipv4(address)
        if result is not None:
            return result
    return None
