"""6over4 (RFC 2529): IPv4 multicast takes the place of IPv6's Ethernet."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Interface

from ..engines import EBPF, USER
from ..model.network import Network
from ..model.path import Path
from ..model.stage import NodeRequest, Stage
from ..model.topology import Topology
from .common import (
    TUNNEL_OPTIONS,
    TUNNEL_PREFIX_V6,
    Carrier,
    check_overlap,
    family_of,
    finish,
    with_links,
    without_family,
)
from .kind import Mechanism
from .mesh import HEADERS, mesh_of

GROUPS = "239.192.0.0/16"
"""Section 6: the Organization-Local Scope."""

_ALL_NODES = IPv6Address("ff02::1")
_ALL_ROUTERS = IPv6Address("ff02::2")


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    mesh = mesh_of(path, topology, path.nodes)
    addresses = {node: own_address(ipv4) for node, ipv4 in mesh.local.items()}
    links = mesh.links({node: mesh.end(node, address) for node, address in addresses.items()})
    tunnels = mesh.tunnels(
        lambda node: {"kind": "6over4", "groups": [str(group) for group in _groups(topology, node, addresses[node])]}
    )
    carried = without_family(topology, mesh.carrier_links, 6)
    check_overlap(path, carried, [TUNNEL_PREFIX_V6])
    # The interface by which multicast of the tunnel leaves.
    routes = {
        node: Stage(ip=(f"route add {GROUPS} dev {ways[0].interface(node).name}",)) for node, ways in mesh.of.items()
    }
    return finish(
        path, with_links(carried, links), between, tunnels, 6, stages=(_forwarding(topology, mesh.ways), routes)
    )


def own_address(ipv4: IPv4Address) -> IPv6Interface:
    """The address in the tunnel's prefix: its interface identifier is the IPv4 address (section 4)."""
    return IPv6Interface((int(TUNNEL_PREFIX_V6.network_address) + int(ipv4), 64))


def multicast_group(address: IPv6Address) -> IPv4Address:
    """The IPv4 group of an IPv6 group: 239.192 and its last two octets (section 6)."""
    return IPv4Address((239 << 24) | (192 << 16) | (int(address) & 0xFFFF))


def _groups(topology: Topology, node: str, address: IPv6Interface) -> list[IPv4Address]:
    """The groups that a node joins: all nodes, and the solicited-node address of its global and its link-local address,
    which end alike (RFC 4291 section 2.7.1)."""
    solicited = IPv6Address(int(IPv6Address("ff02::1:ff00:0")) | (int(address.ip) & 0xFFFFFF))
    groups = [_ALL_NODES, solicited, *([_ALL_ROUTERS] if topology.nodes[node].kind == "router" else [])]
    return list(dict.fromkeys(multicast_group(group) for group in groups))


def _forwarding(topology: Topology, ways: list[Carrier]) -> dict[str, Stage]:
    """The requests for multicast forwarding on the routers that the carriers cross: from each interface to all
    others."""
    interfaces: dict[str, dict[str, None]] = {}
    for underlay in ways:
        for link in underlay.links:
            for end in link.ends:
                if topology.nodes[end.node].kind == "router":
                    interfaces.setdefault(end.node, {})[end.name] = None
    return {
        node: Stage(
            requests=(NodeRequest(op="multicast-forward", fields={"interfaces": list(names), "groups": [GROUPS]}),)
        )
        for node, names in interfaces.items()
        if len(names) > 1
    }


SIX_OVER_FOUR = Mechanism(
    name="6over4",
    doc="IPv6 over an IPv4 network whose multicast serves as its Ethernet (RFC 2529).",
    family=family_of,
    install=_install,
    headers=HEADERS,
    node_count=(2, 8),
    node_order="the nodes that are on its virtual Ethernet",
    executed_by=(EBPF, USER),
    options=TUNNEL_OPTIONS,
    sample=("h1", "h2"),
)
