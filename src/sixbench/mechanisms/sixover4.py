"""6over4 (RFC 2529): IPv4 multicast as the Ethernet of IPv6."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Interface

from ..model.network import Network, Request, Stage
from ..model.path import Path
from ..model.topology import Interface, Link, Topology
from .common import (
    TUNNEL_OPTIONS,
    Carrier,
    check_overlap,
    device_mtu,
    family_of,
    finish,
    ipv4_of,
    make_tunnel,
    tunnel_prefix_v6,
    with_links,
    without_family,
)
from .kind import Mechanism
from .sites import carriers_of

GROUPS = "239.192.0.0/16"
"""Section 6: the Organization-Local Scope."""

_HEADERS = ("ipv4",)
_ALL_NODES = IPv6Address("ff02::1")
_ALL_ROUTERS = IPv6Address("ff02::2")


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    ways, own = carriers_of(path, topology, list(path.nodes))
    mtu_bytes = device_mtu(path, ways, _HEADERS, 6)
    device = f"{path.mechanism}-1"
    addresses = {node: own_address(ipv4_of(own[node][0].local(node))) for node in path.nodes}
    links = [
        Link(
            name=f"{path.mechanism}:{way.first}-{way.second}",
            ends=(
                Interface(node=way.first, name=device, ipv4=None, ipv6=addresses[way.first]),
                Interface(node=way.second, name=device, ipv4=None, ipv6=addresses[way.second]),
            ),
            mtu_bytes=mtu_bytes,
            offload=True,
            headers=_HEADERS,
        )
        for way in ways
    ]
    tunnels = [
        make_tunnel(
            path,
            node=node,
            device=device,
            mtu_bytes=mtu_bytes,
            payload="ipv6",
            ways=own[node],
            mapping={
                "kind": "6over4",
                "groups": [str(group) for group in _groups(topology, node, addresses[node])],
            },
        )
        for node in path.nodes
    ]
    carried = without_family(topology, {link.name for way in ways for link in way.links}, 6)
    check_overlap(path, carried, [tunnel_prefix_v6(0)])
    # Which way its multicast leaves.
    routes = {node: Stage(ip=(f"route add {GROUPS} dev {own[node][0].interface(node).name}",)) for node in path.nodes}
    return finish(
        path, with_links(carried, links), between, tunnels, 6, stages=(_forwarding(path, topology, ways), routes)
    )


def own_address(ipv4: IPv4Address) -> IPv6Interface:
    """The address in the tunnel's prefix: its interface identifier is the IPv4 address (section 4)."""
    return IPv6Interface((int(tunnel_prefix_v6(0).network_address) + int(ipv4), 64))


def multicast_group(address: IPv6Address) -> IPv4Address:
    """The IPv4 group of an IPv6 group: 239.192 and its last two octets (section 6)."""
    return IPv4Address((239 << 24) | (192 << 16) | (int(address) & 0xFFFF))


def _groups(topology: Topology, node: str, address: IPv6Interface) -> list[IPv4Address]:
    """Those of all nodes, and of the solicited-node addresses of its global and its link-local address, which end
    alike (RFC 4291 section 2.7.1)."""
    solicited = IPv6Address(int(IPv6Address("ff02::1:ff00:0")) | (int(address.ip) & 0xFFFFFF))
    groups = [_ALL_NODES, solicited, *([_ALL_ROUTERS] if topology.nodes[node].kind == "router" else [])]
    return list(dict.fromkeys(multicast_group(group) for group in groups))


def _forwarding(path: Path, topology: Topology, ways: list[Carrier]) -> dict[str, Stage]:
    """Multicast forwarding on the routers that the carriers pass: from each interface to all others."""
    interfaces: dict[str, dict[str, None]] = {}
    for way in ways:
        for link in way.links:
            for end in link.ends:
                if topology.nodes[end.node].kind == "router":
                    interfaces.setdefault(end.node, {})[end.name] = None
    return {
        node: Stage(requests=(Request(op="multicast-forward", fields={"interfaces": list(names), "groups": [GROUPS]}),))
        for node, names in interfaces.items()
        if len(names) > 1
    }


SIX_OVER_FOUR = Mechanism(
    name="6over4",
    doc="IPv6 over an IPv4 network whose multicast serves as its Ethernet (RFC 2529).",
    family=family_of,
    install=_install,
    headers=_HEADERS,
    carriers=frozenset({4, 6}),
    node_count=(2, 8),
    node_order="the nodes that are on its virtual Ethernet",
    engines=("ebpf", "user"),
    options=TUNNEL_OPTIONS,
    sample=("h1", "h2"),
)
