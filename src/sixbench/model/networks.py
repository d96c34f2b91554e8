"""Networks behind a host: prefixes to which routers have a route, whose packets they send to the host (RFC 2544 section
12). Nobody is in them: who asks for frames there takes them from the host's interface.

The first host that has such networks has those of 198.19.0.0/17, of 25 bits each, and of 2001:2:0:fe00::/56, of 64 bits
each; the second one those of 198.19.128.0/17 and 2001:2:0:ff00::/56 (RFC 2544 appendix C.2.2, RFC 5180 section 8).
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network

from .aggregates import Prefix
from .leg import Address
from .topology import Family, Topology

MAX_HOSTS = 2
"""How many hosts can have such networks."""
LENGTHS: dict[Family, int] = {4: 25, 6: 64}
HOST_NUMBER = 2
"""The address in each network: RFC 2544 appendix C.2.2 has it for the tester."""

_POOLS: dict[Family, tuple[Prefix, Prefix]] = {
    4: (IPv4Network("198.19.0.0/17"), IPv4Network("198.19.128.0/17")),
    6: (IPv6Network("2001:2:0:fe00::/56"), IPv6Network("2001:2:0:ff00::/56")),
}


def pools() -> list[Prefix]:
    """The prefixes that all of them are in."""
    return [pool for both in _POOLS.values() for pool in both]


def hosts_with_networks(topology: Topology) -> list[str]:
    """The hosts that have networks besides their own, in order."""
    return [node.name for node in topology.nodes.values() if node.networks > 1][:MAX_HOSTS]


def networks_behind(topology: Topology, host: str, family: Family) -> list[Prefix]:
    """The networks of a host besides its own."""
    hosts = hosts_with_networks(topology)
    if host not in hosts:
        return []
    pool = _POOLS[family][hosts.index(host)]
    return following(f"{pool.network_address}/{LENGTHS[family]}", topology.nodes[host].networks - 1)


def following(first: str, count: int) -> list[Prefix]:
    """So many prefixes that lie side by side, from the first one on."""
    network = ip_network(first)
    places = (int(network.network_address) + index * network.num_addresses for index in range(count))
    if isinstance(network, IPv4Network):
        return [IPv4Network((place, network.prefixlen)) for place in places]
    return [IPv6Network((place, network.prefixlen)) for place in places]


def address_in(network: Prefix) -> Address:
    """The address to which frames go."""
    return network.network_address + HOST_NUMBER
