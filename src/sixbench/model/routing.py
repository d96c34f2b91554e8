"""The routes of every node, for each family by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from .topology import Family, Interface, Link, Topology, Way

Prefix = IPv4Network | IPv6Network

FAMILIES: tuple[Family, ...] = (4, 6)


@dataclass(frozen=True, kw_only=True)
class Route:
    """A route.

    Attributes:
        prefix: where to; None: everywhere (the default route).
        link: the way out.
        is_onlink: whether the gateway is not in a prefix of the device.
    """

    family: Family
    prefix: Prefix | None
    gateway: IPv4Address | IPv6Address
    device: str
    link: Link
    is_onlink: bool = False


def all_routes(topology: Topology) -> dict[str, list[Route]]:
    """By node: one default route where there is one way out; else routes to every prefix that is not its own.

    Prefixes that lie side by side and are reached by one link have one route together where they make up a prefix:
    never to more than there is. So a node in the midst of a long chain has some ten routes, not one for each link.
    """
    targets = {family: _targets(topology, family) for family in FAMILIES}
    found: dict[str, list[Route]] = {}
    for node in topology.nodes:
        reached: dict[Family, _Reached] = {}
        for family in FAMILIES:
            if _needs_many(topology, node, family):
                is_known = family == 6 and 4 in reached and topology.is_alike
                reached[family] = reached[4] if is_known else _reached(topology, node, family)
        found[node] = [
            route
            for family in FAMILIES
            for route in _routes(topology, node, family, targets[family], reached.get(family))
        ]
    return found


def routes(topology: Topology, node: str, family: Family) -> list[Route]:
    """Of one node; `all_routes` gives those of all at once in much less time."""
    reached = _reached(topology, node, family) if _needs_many(topology, node, family) else None
    return _routes(topology, node, family, _targets(topology, family), reached)


@dataclass(frozen=True, kw_only=True)
class _Target:
    """A prefix, and the numbers of the links that have it: several where they are those of one tunnel's device.

    Attributes:
        is_apart: no other prefix lies within it, nor it within another.
    """

    base: int
    length: int
    prefix: Prefix
    links: tuple[int, ...]
    domain: str | None
    is_apart: bool


@dataclass(frozen=True, kw_only=True)
class _Reached:
    """What a node reaches: the way to every other one, and for each link of the topology the link to it."""

    ways: Mapping[str, Way]
    first_links: Sequence[Link | None]


def _targets(topology: Topology, family: Family) -> list[_Target]:
    """Of all links that carry the family, by address."""
    links = [(index, link) for index, link in enumerate(topology.links) if link.carries(family)]
    overlapping = _overlapping({_prefix(end, family) for _, link in links for end in link.ends})
    members: dict[tuple[Prefix, str | None], list[int]] = {}
    for index, link in links:
        domain = link.ipv4_domain if family == 4 else None
        members.setdefault((_prefix(link.ends[0], family), domain), []).append(index)
    targets = [
        _Target(
            base=int(prefix.network_address),
            length=prefix.prefixlen,
            prefix=prefix,
            links=tuple(indices),
            domain=domain,
            is_apart=prefix not in overlapping,
        )
        for (prefix, domain), indices in members.items()
    ]
    return sorted(targets, key=lambda target: (target.base, target.length, target.links))


def _overlapping(prefixes: set[Prefix]) -> set[Prefix]:
    """Those that lie within another, or have another within them: of these the longest counts."""
    found: set[Prefix] = set()
    widest: Prefix | None = None
    for prefix in sorted(prefixes, key=lambda one: (int(one.network_address), one.prefixlen)):
        if widest is not None and int(prefix.network_address) <= int(widest.broadcast_address):
            found |= {prefix, widest}
        else:
            widest = prefix
    return found


def _needs_many(topology: Topology, node: str, family: Family) -> bool:
    """Whether a default route is not enough."""
    own = [link for link in topology.links_of(node) if link.carries(family)]
    return len(own) > 1 and (topology.nodes[node].kind == "router" or bool(_routers(topology, node, own)))


def _routers(topology: Topology, node: str, own: list[Link]) -> list[Link]:
    return [link for link in own if topology.nodes[link.other_end(node).node].kind == "router"]


def _reached(topology: Topology, node: str, family: Family) -> _Reached:
    ways = topology.ways(node, family)
    kinds = topology.nodes
    first_links: list[Link | None] = []
    for link in topology.links:
        one, other = (end.node for end in link.ends)
        way = _better(ways.get(one), kinds[one].kind == "host", ways.get(other), kinds[other].kind == "host")
        first_links.append(None if way is None else way.first)
    return _Reached(ways=ways, first_links=first_links)


def _better(one: Way | None, one_is_host: bool, other: Way | None, other_is_host: bool) -> Way | None:
    """The way to the end of a link that forwards to it: a host would not, however near it is."""
    if one is None or other is None:
        return one or other
    return one if (one_is_host, one.rank) < (other_is_host, other.rank) else other


def _routes(
    topology: Topology, node: str, family: Family, targets: Sequence[_Target], reached: _Reached | None
) -> list[Route]:
    own = [link for link in topology.links_of(node) if link.carries(family)]
    if reached is None:
        single = len(own) == 1 and _routers(topology, node, own)
        return [_route(own[0], node, family, None)] if single else []
    own_prefixes = {_key(_prefix(link.end_of(node), family)) for link in own}
    domains = {link.ipv4_domain for link in own} if family == 4 else {None}
    domain = next(iter(domains)) if len(domains) == 1 else None
    found: list[tuple[_Target, Link]] = []
    for target in targets:
        if target.domain is not None and target.domain != domain:
            continue
        single_link = len(target.links) == 1
        link = reached.first_links[target.links[0]] if single_link else _first_of(topology, target, reached.ways)
        if link is None or (target.base, target.length) in own_prefixes:
            continue
        if not found or (found[-1][0].base, found[-1][0].length) != (target.base, target.length):
            found.append((target, link))
    return [_route(link, node, family, prefix) for prefix, link in _aggregated(found, 32 if family == 4 else 128)]


def _first_of(topology: Topology, target: _Target, ways: Mapping[str, Way]) -> Link | None:
    """The link to a prefix that several links have: to the nearest of its nodes that forwards; of several as near the
    one whose links to the others come first: so does `ways` decide, by the last link."""
    members: dict[str, list[int]] = {}
    for index in target.links:
        for end in topology.links[index].ends:
            if end.node in ways:
                members.setdefault(end.node, []).append(index)

    def order(name: str) -> tuple[object, ...]:
        return topology.nodes[name].kind == "host", ways[name].rank[0], members[name], ways[name].rank

    return ways[min(members, key=order)].first if members else None


def _aggregated(found: Sequence[tuple[_Target, Link]], bits: int) -> list[tuple[Prefix, Link]]:
    """The same routes in fewer: two halves of a prefix with one link become that prefix, again and again."""
    stack: list[tuple[int, int, Link, Prefix | None, bool]] = []
    for target, link in found:
        stack.append((target.base, target.length, link, target.prefix, target.is_apart))
        while len(stack) > 1:
            low, low_length, low_link, _, low_apart = stack[-2]
            high, length, high_link, _, high_apart = stack[-1]
            size = 1 << (bits - length)
            if low_length != length or low_link is not high_link or low + size != high or low & size:
                break
            if not (low_apart and high_apart):
                break
            stack[-2:] = [(low, length - 1, link, None, True)]
    return [(prefix or _network(base, length, bits), link) for base, length, link, prefix, _ in stack]


def _network(base: int, length: int, bits: int) -> Prefix:
    return IPv4Network((base, length)) if bits == 32 else IPv6Network((base, length))


def _key(prefix: Prefix) -> tuple[int, int]:
    return int(prefix.network_address), prefix.prefixlen


def _route(link: Link, node: str, family: Family, prefix: Prefix | None) -> Route:
    other = link.other_end(node)
    address = other.address(family)
    assert address is not None, "a link that carries a family has addresses of it at both ends"
    gateway = address.ip if family == 4 or other.gateway is None else other.gateway
    is_onlink = family == 6 and other.gateway is not None and not other.gateway.is_link_local
    return Route(
        family=family, prefix=prefix, gateway=gateway, device=link.end_of(node).name, link=link, is_onlink=is_onlink
    )


def _prefix(end: Interface, family: Family) -> Prefix:
    address = end.address(family)
    assert address is not None, "a link that carries a family has addresses of it at both ends"
    return address.network
