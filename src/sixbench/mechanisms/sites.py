"""Sites whose IPv6 prefix follows from their router's IPv4 address: 6to4 (RFC 3056) and 6rd (RFC 5969)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Interface, IPv6Network
from itertools import combinations

from ..model.path import Path
from ..model.topology import Interface, Link, Topology
from .common import Carrier, carrier, check_site, ipv4_of, site_links, with_addresses, with_links, without_family
from .kind import MechanismError

SUBNET_BITS = 64


@dataclass(frozen=True, kw_only=True)
class Sites:
    """Sites joined over IPv4.

    Attributes:
        topology: with the sites' addresses, tunnel links between all members, and no IPv6 on the carriers.
        ways: the carriers between members.
        of: the carriers of a member.
        local: the IPv4 address by which a member is known.
        numbered: the names of the links in the sites.
    """

    topology: Topology
    ways: list[Carrier]
    of: dict[str, list[Carrier]]
    local: dict[str, IPv4Address]
    numbered: frozenset[str]


def carriers_of(path: Path, topology: Topology, members: list[str]) -> tuple[list[Carrier], dict[str, list[Carrier]]]:
    """The carriers between all members, and those of each. Raises `MechanismError` where a member would be known by
    two addresses, or has no peer."""
    ways = [carrier(path, topology, first, second, 4) for first, second in combinations(members, 2)]
    own = {node: [way for way in ways if node in (way.first, way.second)] for node in members}
    for node, mine in own.items():
        locals_ = {way.local(node) for way in mine}
        if len(locals_) > 1:
            shown = ", ".join(map(str, sorted(locals_)))
            raise MechanismError(
                f'"{node}" would have several IPv4 addresses in {path.mechanism} ({shown}): '
                "reach all its peers by one interface"
            )
    return ways, own


def join(
    path: Path,
    topology: Topology,
    *,
    sites: list[str],
    others: list[str],
    prefix_of: Callable[[IPv4Address], IPv6Network],
    device_address: Callable[[IPv4Address], IPv6Interface],
    gateway_of: Mapping[str, Callable[[IPv4Address], IPv6Interface]],
    headers: tuple[str, ...],
    mtu_of: Callable[[list[Carrier]], int],
    device: str,
) -> Sites:
    """Gives sites their prefixes and joins them.

    Args:
        sites: the members that have a site; each subnet behind one gets the next number in its prefix, from 1.
        others: members without (relays): the links behind them keep their addresses.
        prefix_of: a site's prefix, /64 or shorter.
        device_address: of a member's tunnel device.
        gateway_of: by member, the next hop that stands for it where that is not the device's address.
        mtu_of: the tunnel's MTU over those carriers.
    """
    members = [*sites, *others]
    ways, own = carriers_of(path, topology, members)
    local = {node: ipv4_of(own[node][0].local(node)) for node in members}
    carrier_links = {link.name for way in ways for link in way.links}
    addresses: dict[str, tuple[IPv6Interface, IPv6Interface]] = {}
    owner: dict[str, str] = {}
    for node in sites:
        prefix = prefix_of(local[node])
        site = site_links(topology, node, carrier_links)
        check_site(path, site, node, members)
        for number, link in enumerate(site, start=1):
            if link.name in owner:
                raise MechanismError(
                    f'the link "{link.name}" is in the sites of both "{owner[link.name]}" and "{node}": '
                    "two prefixes would overlap there"
                )
            owner[link.name] = node
            addresses[link.name] = _subnet(path, prefix, number)
    mtu_bytes = mtu_of(ways)
    links = [
        Link(
            name=f"{path.mechanism}:{way.first}-{way.second}",
            ends=(
                _end(way.first, device, local, device_address, gateway_of),
                _end(way.second, device, local, device_address, gateway_of),
            ),
            mtu_bytes=mtu_bytes,
            offload=True,
            headers=headers,
        )
        for way in ways
    ]
    changed = with_addresses(without_family(topology, carrier_links, 6), addresses, 6)
    return Sites(topology=with_links(changed, links), ways=ways, of=own, local=local, numbered=frozenset(addresses))


def _end(
    node: str,
    device: str,
    local: Mapping[str, IPv4Address],
    device_address: Callable[[IPv4Address], IPv6Interface],
    gateway_of: Mapping[str, Callable[[IPv4Address], IPv6Interface]],
) -> Interface:
    end = Interface(node=node, name=device, ipv4=None, ipv6=device_address(local[node]))
    return replace(end, gateway=gateway_of[node](local[node]).ip) if node in gateway_of else end


def _subnet(path: Path, prefix: IPv6Network, number: int) -> tuple[IPv6Interface, IPv6Interface]:
    # The first /64 is the device's, if there is another.
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
