"""The routes of a node, for each family by itself."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from .topology import Family, Interface, Link, Topology


@dataclass(frozen=True, kw_only=True)
class Route:
    """A route.

    Attributes:
        prefix: where to; None: everywhere (the default route).
        link: the way out.
        is_onlink: whether the gateway is not in a prefix of the device.
    """

    family: Family
    prefix: IPv4Network | IPv6Network | None
    gateway: IPv4Address | IPv6Address
    device: str
    link: Link
    is_onlink: bool = False


def routes(topology: Topology, node: str, family: Family) -> list[Route]:
    """One default route where there is one way out; else a route to every prefix that is not its own."""
    own = [link for link in topology.links_of(node) if link.carries(family)]
    routers = [link for link in own if topology.nodes[link.other_end(node).node].kind == "router"]
    if len(own) == 1:
        return [_route(own[0], node, family, None)] if routers else []
    if not own or (topology.nodes[node].kind == "host" and not routers):
        return []
    ways = topology.ways(node, family)
    own_prefixes = {_prefix(link.end_of(node), family) for link in own}
    domains = {link.ipv4_domain for link in own} if family == 4 else {None}
    members: dict[IPv4Network | IPv6Network, dict[str, list[int]]] = {}
    for index, link in enumerate(topology.links):
        if not link.carries(family):
            continue
        if family == 4 and link.ipv4_domain is not None and domains != {link.ipv4_domain}:
            continue
        prefix = _prefix(link.ends[0], family)
        if prefix not in own_prefixes:
            for name in (end.node for end in link.ends if end.node in ways):
                members.setdefault(prefix, {}).setdefault(name, []).append(index)

    def order(name: str, indices: list[int]) -> tuple[object, ...]:
        # A host would not forward to the others, however near it is. Of routers as near as one another the one whose
        # links to the others come first: so does `ways` decide, by the last link.
        return topology.nodes[name].kind == "host", ways[name].rank[0], indices, ways[name].rank

    return [
        _route(ways[min(names, key=lambda name: order(name, names[name]))].first, node, family, prefix)
        for prefix, names in members.items()
    ]


def _route(link: Link, node: str, family: Family, prefix: IPv4Network | IPv6Network | None) -> Route:
    other = link.other_end(node)
    address = other.address(family)
    assert address is not None, "a link that carries a family has addresses of it at both ends"
    gateway = address.ip if family == 4 or other.gateway is None else other.gateway
    is_onlink = family == 6 and other.gateway is not None and not other.gateway.is_link_local
    return Route(
        family=family, prefix=prefix, gateway=gateway, device=link.end_of(node).name, link=link, is_onlink=is_onlink
    )


def _prefix(end: Interface, family: Family) -> IPv4Network | IPv6Network:
    address = end.address(family)
    assert address is not None, "a link that carries a family has addresses of it at both ends"
    return address.network
