"""Sites whose IPv6 prefix follows from their router's IPv4 address: 6to4 (RFC 3056) and 6rd (RFC 5969)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Interface, IPv6Network
from typing import Any

from ..model.path import Path
from ..model.topology import Interface, Topology
from .common import check_site, site_links, with_addresses, with_links, without_family
from .kind import MechanismError
from .mesh import Mesh

SUBNET_BITS = 64


def join(
    mesh: Mesh,
    topology: Topology,
    *,
    sites: Collection[str],
    prefix_of: Callable[[IPv4Address], IPv6Network],
    ends: Mapping[str, Interface],
) -> tuple[Topology, frozenset[str]]:
    """Gives sites their prefixes and joins them: the topology with their addresses, tunnel links between all members,
    and no IPv6 on the carriers; and the names of the links in the sites. Raises `MechanismError`.

    Args:
        sites: the members that have a site; each subnet behind one gets the next number in its prefix, from 1. The
            links behind the others (relays) keep their addresses.
        prefix_of: a site's prefix, /64 or shorter.
        ends: the members' devices.
    """
    addresses: dict[str, tuple[Any, Any]] = {}
    owner: dict[str, str] = {}
    for node in sites:
        prefix = prefix_of(mesh.local[node])
        site = site_links(topology, node, mesh.carrier_links)
        check_site(mesh.path, site, node, mesh.of)
        for number, link in enumerate(site, start=1):
            if link.name in owner:
                raise MechanismError(
                    f'the link "{link.name}" is in the sites of both "{owner[link.name]}" and "{node}": '
                    "two prefixes would overlap there"
                )
            owner[link.name] = node
            addresses[link.name] = _subnet(mesh.path, prefix, number)
    changed = with_addresses(without_family(topology, mesh.carrier_links, 6), addresses, 6)
    return with_links(changed, mesh.links(ends)), frozenset(addresses)


def compatible(address: IPv4Address) -> IPv6Address:
    """The next hop `::V4`, by which Linux names an outer destination that the inner one does not embed."""
    return IPv6Address(int(address))


def _subnet(path: Path, prefix: IPv6Network, number: int) -> tuple[IPv6Interface, IPv6Interface]:
    # The first /64 belongs to the device, if the prefix has further ones.
    room = max(2 ** (SUBNET_BITS - prefix.prefixlen) - 1, 1)
    if number > room:
        raise MechanismError(
            f"{path.mechanism} delegates {prefix}, which has room for {room} {'link' if room == 1 else 'links'}, "
            "and the site has more: give it a shorter prefix"
        )
    if prefix.prefixlen == SUBNET_BITS:
        number = 0
    base = int(prefix.network_address) + (number << SUBNET_BITS)
    return IPv6Interface((base + 1, SUBNET_BITS)), IPv6Interface((base + 2, SUBNET_BITS))
