"""The routes of every node, for each family on its own."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from itertools import groupby, pairwise

from .aggregates import Aggregates, Prefix, PrefixBlock
from .device import Device, Relay
from .networks import all_networks_behind, hosts_with_networks
from .reach import Span, by_bridges
from .topology import Family, Interface, Link, NodeRoute, Topology

FAMILIES: tuple[Family, ...] = (4, 6)

_BITS: Mapping[Family, int] = {4: 32, 6: 128}
"""The size of an address."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """A route.

    Attributes:
        prefix: where to; None: everywhere (the default route).
        gateway: the next hop; None: the packets end at the device, which a mechanism has made.
        link: the link by which packets leave; None: there is none behind that device.
        is_onlink: whether the gateway is not in a prefix of the device.
        is_local: whether the node takes the packets for its own.
    """

    family: Family
    prefix: Prefix | None
    gateway: IPv4Address | IPv6Address | None
    device: str
    link: Link | None
    is_onlink: bool = False
    is_local: bool = False

    @property
    def is_over_wire(self) -> bool:
        """True if packets leave by a wire, rather than into a device that a mechanism has made."""
        return self.link is not None and not self.link.is_tunnel


def all_routes(topology: Topology, devices: Iterable[Device] = ()) -> dict[str, list[Route]]:
    """The routes of each node: one default route where all packets leave by one link, otherwise a route to every prefix
    that is not the node's own. Prefixes that end at a device are routed to its node, and there into it.

    Prefixes that lie side by side and are reached by one link share one route where they make up a prefix: a route
    never covers more than exists. So a node in the middle of a long chain has some ten routes, not one for each link.
    """
    finders = {family: _Finder(topology, family) for family in FAMILIES}
    results: dict[str, list[Route]] = {}
    for node in topology.nodes:
        reached: _Reached | None = None
        results[node] = []
        for family, finder in finders.items():
            if not finder.asks_for_ways(node):
                reached = None
            elif reached is None or not topology.is_alike:
                reached = _reached(topology, node, family)
            results[node] += finder.routes(node, reached)
    for device in devices:
        for prefix in device.prefixes:
            for node, route in _routes_to(topology, device, prefix):
                results[node].append(route)
    for node, route in _routes_behind_hosts(topology):
        results[node].append(route)
    return results


def routes(topology: Topology, node: str, family: Family, devices: Iterable[Device] = ()) -> list[Route]:
    """The routes of one node by their definition. `all_routes` gives those of all nodes at once, in much less time."""
    reached = _reached(topology, node, family) if _needs_many(topology, node, family) else None
    all_routes = _routes(topology, node, family, _targets(topology, family), reached)
    return (
        all_routes
        + [
            route
            for device in devices
            for prefix in device.prefixes
            for at, route in _routes_to(topology, device, prefix)
            if at == node and route.family == family
        ]
        + [route for at, route in _routes_behind_hosts(topology) if at == node and route.family == family]
    )


def _routes_behind_hosts(topology: Topology) -> Iterator[tuple[str, Route]]:
    """The routes to the networks behind hosts, each on its own, with the nodes that have them: all that reach the host
    and have no default route, which leads there too."""
    for host in hosts_with_networks(topology):
        for family in FAMILIES:
            networks = all_networks_behind(topology, host, family)
            for node, reach in topology.ways(host, family).items():
                if not _has_default(topology, node, family):
                    yield from (
                        (node, route)
                        for route in _routes_of(node, family, ((reach.last, network) for network in networks))
                    )


def _routes_to(topology: Topology, device: Device, prefix: Prefix) -> Iterator[tuple[str, Route]]:
    """The routes to a prefix that ends at a device, with the nodes that have them: all that reach it and have no
    default route or route to more, which leads there too."""
    family: Family = 4 if prefix.version == 4 else 6
    is_local = isinstance(device, Relay)
    into = Route(family=family, prefix=prefix, gateway=None, device=device.device, link=None, is_local=is_local)
    if not device.routes_itself:
        yield device.node, into
    near_prefixes = [
        _prefix(link.end_of(device.node), family) for link in topology.links_of(device.node) if link.carries(family)
    ]
    if any(prefix.network_address in more and more.prefixlen <= prefix.prefixlen for more in near_prefixes):
        return
    for node, reach in topology.ways(device.node, family).items():
        if not _has_default(topology, node, family):
            yield node, _route(reach.last, node, family, prefix)


@dataclass(frozen=True, kw_only=True)
class _Target(PrefixBlock):
    """A prefix, and the numbers of the links that have it. Several links have it where they belong to one tunnel's
    device. `domain`: where it is known; None: everywhere."""

    links: tuple[int, ...]
    domain: str | None


@dataclass(frozen=True, kw_only=True)
class _Reached:
    """Destinations of a node: the route to every other node, and for each link of the topology the link that leads to
    it."""

    ways: Mapping[str, NodeRoute]
    first_links: Sequence[Link | None]


class _Finder:
    """The routes of one family in a network, for all nodes."""

    def __init__(self, topology: Topology, family: Family) -> None:
        self.topology, self.family = topology, family
        self.targets = _targets(topology, family)
        self.spans: Mapping[str, Sequence[tuple[Span, Link]]] = {}
        self.is_plain = all(len(item.links) == 1 and item.domain is None for item in self.targets) and all(
            (item.base, item.length) != (other.base, other.length) for item, other in pairwise(self.targets)
        )
        """True if each prefix is that of one link and known everywhere."""
        if self.is_plain:
            self.aggregates = Aggregates(self.targets, _BITS[family])
            self.places: list[int | None] = [None] * len(topology.links)
            for place, target in enumerate(self.targets):
                self.places[target.links[0]] = place
            self.spans = by_bridges(topology, family, self.places) or {}

    def asks_for_ways(self, node: str) -> bool:
        """True if the node's own ways to all others are needed."""
        return node not in self.spans and _needs_many(self.topology, node, self.family)

    def routes(self, node: str, reached: _Reached | None) -> list[Route]:
        """The routes of a node. `reached`: what it reaches, if `asks_for_ways` said that this is needed."""
        if not (self.is_plain and _needs_many(self.topology, node, self.family)):
            return _routes(self.topology, node, self.family, self.targets, reached)
        spans = self.spans.get(node)
        if spans is None:
            assert reached is not None, "it was asked for"
            spans = _spans([reached.first_links[target.links[0]] for target in self.targets])
        direct_places = sorted(
            place
            for index, _ in self.topology.neighbours(node, self.family)
            if (place := self.places[index]) is not None
        )
        return _routes_of(
            node,
            self.family,
            (
                (link, prefix)
                for span, link in spans
                for part in _parts(span, direct_places)
                for prefix in self.aggregates.of(*part)
            ),
        )


def _targets(topology: Topology, family: Family) -> list[_Target]:
    """The prefixes of all links that carry the family, by address."""
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
    """The prefixes that lie within another, or have another within them. Of these the longest match counts."""
    result: set[Prefix] = set()
    widest: Prefix | None = None
    for prefix in sorted(prefixes, key=lambda item: (int(item.network_address), item.prefixlen)):
        if widest is not None and int(prefix.network_address) <= int(widest.broadcast_address):
            result |= {prefix, widest}
        else:
            widest = prefix
    return result


def _needs_many(topology: Topology, node: str, family: Family) -> bool:
    """True if a default route is not enough."""
    links = [link for link in topology.links_of(node) if link.carries(family)]
    return len(links) > 1 and (topology.nodes[node].kind == "router" or bool(_routers(topology, node, links)))


def _has_default(topology: Topology, node: str, family: Family) -> bool:
    """True if a default route leads to all that the node reaches."""
    links = [link for link in topology.links_of(node) if link.carries(family)]
    return not _needs_many(topology, node, family) and len(links) == 1 and bool(_routers(topology, node, links))


def _routers(topology: Topology, node: str, links: list[Link]) -> list[Link]:
    return [link for link in links if topology.nodes[link.other_end(node).node].kind == "router"]


def _reached(topology: Topology, node: str, family: Family) -> _Reached:
    ways = topology.ways(node, family)
    kinds = topology.nodes
    first_links: list[Link | None] = []
    for link in topology.links:
        item, other = (end.node for end in link.ends)
        reach = _better(ways.get(item), kinds[item].kind == "host", ways.get(other), kinds[other].kind == "host")
        first_links.append(None if reach is None else reach.first)
    return _Reached(ways=ways, first_links=first_links)


def _better(
    item: NodeRoute | None, one_is_host: bool, other: NodeRoute | None, other_is_host: bool
) -> NodeRoute | None:
    """The route to the end of a link that forwards to it. A host does not forward, however near it is."""
    if item is None or other is None:
        return item or other
    return item if (one_is_host, item.rank) < (other_is_host, other.rank) else other


def _routes(
    topology: Topology, node: str, family: Family, targets: Sequence[_Target], reached: _Reached | None
) -> list[Route]:
    links = [link for link in topology.links_of(node) if link.carries(family)]
    if reached is None:
        return [_route(links[0], node, family, None)] if _has_default(topology, node, family) else []
    own_prefixes = {_key(_prefix(link.end_of(node), family)) for link in links}
    domains = {link.ipv4_domain for link in links} if family == 4 else {None}
    domain = next(iter(domains)) if len(domains) == 1 else None
    results: list[tuple[_Target, Link]] = []
    for target in targets:
        if target.domain is not None and target.domain != domain:
            continue
        single_link = len(target.links) == 1
        link = reached.first_links[target.links[0]] if single_link else _first_of(topology, target, reached.ways)
        if link is None or (target.base, target.length) in own_prefixes:
            continue
        if not results or (results[-1][0].base, results[-1][0].length) != (target.base, target.length):
            results.append((target, link))
    aggregates = Aggregates([target for target, _ in results], _BITS[family])
    spans = _spans([link for _, link in results])
    return _routes_of(node, family, ((link, prefix) for span, link in spans for prefix in aggregates.of(*span)))


def _spans(links: Sequence[Link | None]) -> list[tuple[Span, Link]]:
    """The places in a list that have the same link, one after the other."""
    results: list[tuple[Span, Link]] = []
    at = 0
    for _, group in groupby(links, key=id):
        first = list(group)
        if first[0] is not None:
            results.append(((at, at + len(first)), first[0]))
        at += len(first)
    return results


def _parts(span: Span, taken: Sequence[int]) -> Iterator[Span]:
    """A span without the node's own places, which are in order."""
    at, end = span
    for place in taken[bisect_left(taken, at) : bisect_left(taken, end)]:
        if at < place:
            yield at, place
        at = place + 1
    if at < end:
        yield at, end


def _first_of(topology: Topology, target: _Target, ways: Mapping[str, NodeRoute]) -> Link | None:
    """The link to a prefix that several links have: it leads to the nearest of their nodes that forwards. Of several
    equally near nodes it is the one whose links to the others come first, as `ways` decides by the last link."""
    members: dict[str, list[int]] = {}
    for index in target.links:
        for end in topology.links[index].ends:
            if end.node in ways:
                members.setdefault(end.node, []).append(index)

    def order(name: str) -> tuple[object, ...]:
        return topology.nodes[name].kind == "host", ways[name].rank[0], members[name], ways[name].rank

    return ways[min(members, key=order)].first if members else None


def _key(prefix: Prefix) -> tuple[int, int]:
    return int(prefix.network_address), prefix.prefixlen


def _routes_of(node: str, family: Family, result: Iterable[tuple[Link, Prefix]]) -> list[Route]:
    """A route for each link and prefix."""
    alike: dict[str, Route] = {}
    results: list[Route] = []
    for link, prefix in result:
        item = alike.get(link.name)
        if item is None:
            item = alike[link.name] = _route(link, node, family, prefix)
        results.append(
            Route(
                family=family,
                prefix=prefix,
                gateway=item.gateway,
                device=item.device,
                link=link,
                is_onlink=item.is_onlink,
            )
        )
    return results


def _route(link: Link, node: str, family: Family, prefix: Prefix | None) -> Route:
    other = link.other_end(node)
    address = other.address(family)
    assert address is not None, "a link that carries a family has addresses of it at both ends"
    gateway = address.ip if family == 4 or other.gateway is None else other.gateway
    if family == 4:
        is_onlink = address.ip not in _prefix(link.end_of(node), family)
    else:
        is_onlink = other.gateway is not None and not other.gateway.is_link_local
    return Route(
        family=family, prefix=prefix, gateway=gateway, device=link.end_of(node).name, link=link, is_onlink=is_onlink
    )


def _prefix(end: Interface, family: Family) -> Prefix:
    address = end.address(family)
    assert address is not None, "a link that carries a family has addresses of it at both ends"
    return address.network
