"""Addresses that an experiment gives a link by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv4Network, IPv6Interface, IPv6Network
from typing import Any, TypeVar

from ..model.quoting import printable, shown
from .key_reader import read_pair
from .keys import ValuePair
from .reader import Reader
from .yaml_source import KeyPath

_Address = TypeVar("_Address", IPv4Interface, IPv6Interface)

_PREFIX_LENGTHS = {4: (8, 31), 6: (16, 127)}
"""The prefix lengths that a link can have. Shorter prefixes would contain other links; longer ones have no room for two
addresses (RFC 3021, RFC 6164)."""


def read_addresses(
    reader: Reader, path: KeyPath, value: Any, kind: Callable[[str], _Address], pair: ValuePair
) -> tuple[_Address, _Address] | None:
    """The addresses of both ends, in the order of `endpoints`.

    Args:
        kind: `IPv4Interface` or `IPv6Interface`.
        pair: the declaration of such a list.
    """
    both = read_pair(reader, path, value, pair)
    if both is None:
        return None
    first, second = (_address(reader, (*path, position), item, kind) for position, item in enumerate(both))
    if first is None or second is None:
        return None
    if first.network != second.network:
        reader.problem(
            path,
            f"{first} and {second} are not in one prefix, so the two ends could not reach each other; give them one",
        )
        return None
    if first.ip == second.ip:
        reader.problem(path, f"both ends have the address {first.ip}; give them two")
        return None
    return first, second


@dataclass(frozen=True, kw_only=True)
class LinkPrefix:
    """The prefix of a link: its name and number in the list, and whether it was given by hand."""

    link: str
    index: int
    network: IPv4Network | IPv6Network
    by_hand: bool


def check_prefixes(reader: Reader, prefixes: list[LinkPrefix]) -> None:
    """Notes prefixes that overlap those of another link."""
    for family in (4, 6):
        link_prefixes = [prefix for prefix in prefixes if prefix.network.version == family]
        link_prefixes.sort(key=lambda prefix: (int(prefix.network.network_address), prefix.network.prefixlen))
        widest: LinkPrefix | None = None
        for prefix in link_prefixes:
            if widest is not None and prefix.network.network_address in widest.network:
                wrong, other = sorted(
                    (prefix, widest), key=lambda link_prefix: (not link_prefix.by_hand, -link_prefix.index)
                )
                reader.problem(
                    ("topology", "links", wrong.index, f"ipv{family}"),
                    f'the prefix {wrong.network} overlaps {other.network} of the link "{other.link}"; give it another',
                )
            if widest is None or int(prefix.network.broadcast_address) > int(widest.network.broadcast_address):
                widest = prefix


def _address(reader: Reader, path: KeyPath, item: Any, kind: Callable[[str], _Address]) -> _Address | None:
    if not isinstance(item, str):
        reader.problem(path, f"{shown(item)} is not an address with a prefix length")
        return None
    try:
        address = kind(item)
    except ValueError as error:
        reader.problem(path, f"{shown(item)} is not an address with a prefix length: {printable(str(error))}")
        return None
    family: int = address.version
    shortest, longest = _PREFIX_LENGTHS[family]
    length = address.network.prefixlen
    if "/" not in item:
        reader.problem(path, f"{shown(item)} has no prefix length; write it as {item}/{24 if family == 4 else 64}")
    elif not item.endswith(f"/{length}"):
        reader.problem(path, f"{shown(item)} has a mask instead of a prefix length; write it as {address}")
    elif not shortest <= length <= longest:
        reader.problem(path, f"a link cannot have a prefix length of {length}; give {shortest} to {longest}")
    elif not _for_a_host(address):
        reader.problem(path, f"{address.ip} cannot be the address of one end of a link; give a unicast address")
    else:
        return address
    return None


def _for_a_host(address: IPv4Interface | IPv6Interface) -> bool:
    ip, network = address.ip, address.network
    special = ip.is_multicast or ip.is_loopback or ip.is_unspecified or ip.is_link_local
    if special or "%" in str(ip):
        return False
    if address.version == 4:
        ends = {network.network_address, network.broadcast_address} if network.prefixlen < 31 else set()
        return ip not in ends and not ip.is_reserved and int(ip) >> 24 != 0
    subnet_router = network.network_address if network.prefixlen < 127 else None
    mapped = int(ip) >> 32 == 0xFFFF
    return ip != subnet_router and not mapped and int(ip) >> 32 != 0
