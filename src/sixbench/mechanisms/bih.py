"""Bump-in-the-Host (RFC 6535), formerly Bump-in-the-Stack (RFC 2767): programs of IPv4 in a host of an IPv6 network.
The host translates their packets itself, and has an IPv4 address for each IPv6 node."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Network

from ..engines import EBPF, USER
from ..model.leg import Address
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.topology import Topology
from . import embedding
from .common import check_overlap
from .kind import Mechanism, MechanismError
from .parting import FamilyStretch, prefix_option
from .resolving import with_extension
from .translating import ERRORS_FROM_DESTINATION, LOWEST_IPV6_MTU, ZERO_CHECKSUM, one_to_one, pool_option, translated

DEFAULT_POOL = "172.21.112.0/20"
"""A part of RFC 1918's addresses that few networks use."""
DEFAULT_HOST_PREFIX = "2001:db8:b1b::/96"
FEWEST_ADDRESSES = 4
"""Size of the pool: without the first and the last one, there are the host's and one node's."""


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    client = between[0]
    [node] = path.nodes
    if node != client:
        raise MechanismError(
            f'"{node}" is not the client: the bump is in the host whose programs speak IPv4; name "{client}"'
        )
    pool = pool_option(path, DEFAULT_POOL)
    if pool.num_addresses < FEWEST_ADDRESSES:
        raise MechanismError(
            f"the pool {pool} has no two addresses, for the host and a node: give one of at most 30 bits", "pool"
        )
    address, prefix = pool[1], prefix_option(path, "host-prefix", DEFAULT_HOST_PREFIX)
    nodes: list[embedding.Mapping] = []

    def table(stretches: Sequence[FamilyStretch]) -> tuple[embedding.Mapping, ...]:
        nodes.extend(one_to_one(path, stretches, pool, first=2))
        host = embedding.Mapping(IPv4Network(address), IPv6Network(embedding.embed(prefix, address)))
        return (host, *nodes)

    network = translated(path, topology, between, table, client_ip=address, embeds=False)
    check_overlap(path, network.topology, [prefix], "host-prefix")
    known: dict[Address, IPv4Address] = {row.ipv6.network_address: row.ipv4.network_address for row in nodes}
    return with_extension(network, node, address, known)


BIH = Mechanism(
    name="bih",
    doc="Bump-in-the-Host (RFC 6535): an IPv4 program in a host of an IPv6 network, which translates for it.",
    family=lambda options: 4,
    server_family=lambda options, nodes: 6,
    install=_install,
    carriers=frozenset({6}),
    node_count=(1, 1),
    executed_by=(EBPF, USER),
    options=(
        Parameter(
            name="pool",
            kind="ipv4-prefix",
            doc="the IPv4 addresses for the host and for IPv6 nodes, one each",
            default=DEFAULT_POOL,
        ),
        Parameter(
            name="host-prefix",
            kind="ipv6-prefix",
            doc="the IPv6 prefix in which the host embeds its own IPv4 address; it is routed to the host",
            default=DEFAULT_HOST_PREFIX,
        ),
        ZERO_CHECKSUM,
        LOWEST_IPV6_MTU,
        ERRORS_FROM_DESTINATION,
    ),
    sample=("h1",),
)
