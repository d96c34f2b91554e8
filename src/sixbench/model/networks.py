"""Networks behind a host: prefixes to which routers have a route, whose packets they send to the host (RFC 2544 section
12). Nobody is in them: who asks for frames there takes them from the host's interface.

The first host that has such networks has those of 198.19.0.0/17, of 25 bits each, and of 2001:2:0:fe00::/56, of 64 bits
each; the second one those of 198.19.128.0/17 and 2001:2:0:ff00::/56 (RFC 2544 appendix C.2.2, RFC 5180 section 8).
Those of other lengths (RFC 5180 section 5.2.1) lie beside them. 2001:2::/48 has no room for prefixes of 48 bits, which
are of the addresses for documentation (RFC 3849).
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_network

from .aggregates import Prefix
from .leg import Address
from .topology import Family, Topology

MAX_HOSTS = 2
"""Largest number of hosts with such networks."""
LENGTHS: dict[Family, int] = {4: 25, 6: 64}
"""The lengths of their prefixes, unless others are asked for."""
HOST_NUMBER = 2
"""The address in each network: RFC 2544 appendix C.2.2 has it for the tester. A network of one address has that."""

_POOLS: dict[tuple[Family, int], tuple[Prefix, Prefix]] = {
    (4, 25): (IPv4Network("198.19.0.0/17"), IPv4Network("198.19.128.0/17")),
    (6, 48): (IPv6Network("2001:db8:fe00::/40"), IPv6Network("2001:db8:ff00::/40")),
    (6, 64): (IPv6Network("2001:2:0:fe00::/56"), IPv6Network("2001:2:0:ff00::/56")),
    (6, 126): (IPv6Network("2001:2:0:fd00::/64"), IPv6Network("2001:2:0:fd80::/64")),
    (6, 128): (IPv6Network("2001:2:0:fd01::/64"), IPv6Network("2001:2:0:fd81::/64")),
}
"""Pools of the first host's networks and of the second's, by family and prefix length."""


def pools(bits: Iterable[int] = ()) -> list[Prefix]:
    """The prefixes that all of them are in. `bits`: the lengths of IPv6 prefixes besides the usual one."""
    kinds: list[tuple[Family, int]] = [*LENGTHS.items(), *((6, bit) for bit in bits)]
    return [pool for kind in kinds for pool in _POOLS[kind]]


def within(item: Prefix, other: Prefix) -> bool:
    """True if all of a prefix is in another one."""
    if isinstance(item, IPv4Network):
        return isinstance(other, IPv4Network) and item.subnet_of(other)
    return isinstance(other, IPv6Network) and item.subnet_of(other)


def hosts_with_networks(topology: Topology) -> list[str]:
    """The hosts that have networks besides their own, in order."""
    return [node.name for node in topology.nodes.values() if node.networks > 1][:MAX_HOSTS]


def networks_behind(topology: Topology, host: str, family: Family, bits: int | None = None) -> list[Prefix]:
    """The networks of a host besides its own. `bits`: the length of their prefixes; None: the usual one."""
    hosts = hosts_with_networks(topology)
    if host not in hosts:
        return []
    length = LENGTHS[family] if bits is None else bits
    pool = _POOLS[family, length][hosts.index(host)]
    return following(f"{pool.network_address}/{length}", topology.nodes[host].networks - 1)


def all_networks_behind(topology: Topology, host: str, family: Family) -> list[Prefix]:
    """The networks of a host besides its own, of all lengths that it has."""
    others = topology.nodes[host].network_bits if family == 6 else ()
    return [network for bits in (None, *others) for network in networks_behind(topology, host, family, bits)]


def following(first: str, count: int) -> list[Prefix]:
    """So many prefixes that lie side by side, from the first one on."""
    network = ip_network(first)
    places = (int(network.network_address) + index * network.num_addresses for index in range(count))
    if isinstance(network, IPv4Network):
        return [IPv4Network((place, network.prefixlen)) for place in places]
    return [IPv6Network((place, network.prefixlen)) for place in places]


def address_in(network: Prefix) -> Address:
    """The address to which frames go."""
    return network.network_address + (HOST_NUMBER if network.num_addresses > HOST_NUMBER else 0)
