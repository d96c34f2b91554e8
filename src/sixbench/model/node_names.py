"""The names of a network's nodes, and the addresses that they stand for."""

from __future__ import annotations

from collections.abc import Mapping

from .leg import Address, Leg
from .network import Blueprint, Network
from .topology import Family, Interface, Topology

FAMILIES: tuple[Family, ...] = (4, 6)


def addresses_by_name(blueprint: Blueprint, viewer: str | None = None) -> dict[str, list[Address]]:
    """Each node by its name, each of its interfaces as `NODE-INTERFACE`, in both families.

    A node's own name has one address of each family. Those are the ends of the installed path where the node has them,
    else the first that the node has on a wire, else on a tunnel.

    Args:
        viewer: the node that looks the names up. Across a translator the hosts have the addresses by which it reaches
            them, such as 64:ff9b::c612:202 (RFC 6052). None: any node.
    """
    topology = blueprint.topology
    preferred = (blueprint.legs[0].source, blueprint.legs[-1].destination) if isinstance(blueprint, Network) else ()
    names: dict[str, list[Address]] = {}
    for node, ends in _all_ends(topology).items():
        for family in FAMILIES:
            of_ends = [address for end in ends if (address := _address(end, family)) is not None]
            if of_ends:
                names.setdefault(node, []).append(next((item for item in of_ends if item in preferred), of_ends[0]))
        for end in ends:
            results = _both(end)
            if results:
                names.setdefault(f"{node}-{end.name}", []).extend(results)
    if viewer is not None and isinstance(blueprint, Network):
        names |= _hosts_seen_by(blueprint, viewer, names)
    return names


def viewers(blueprint: Blueprint) -> set[str]:
    """The nodes that may reach hosts by other addresses than their own: those on a path of several legs."""
    if not isinstance(blueprint, Network) or len(blueprint.legs) < 2:
        return set()
    legs = blueprint.legs
    return {legs[0].near, legs[-1].far}.union(*(_between(blueprint.topology, leg) for leg in legs))


def _hosts_seen_by(network: Network, viewer: str, names: Mapping[str, list[Address]]) -> dict[str, list[Address]]:
    """The hosts with the addresses by which a node reaches them. Empty where it reaches them by their own."""
    leg = _leg_of(network, viewer)
    if leg is None:
        return {}
    topology = network.topology
    others = {address for link in topology.links for end in link.ends for address in _both(end)}
    seen: dict[str, list[Address]] = {}
    for host, address in ((network.legs[0].near, leg.source), (network.legs[-1].far, leg.destination)):
        of_host = names.get(host, [])
        # An address of another node is that of a NAT, which does not lead to the host behind it.
        if host != viewer and address not in of_host and address not in others:
            reached = [
                item for item in of_host if topology.route(viewer, host, 4 if item.version == 4 else 6) is not None
            ]
            seen[host] = [address, *(item for item in reached if item.version != address.version)]
    return seen


def _leg_of(network: Network, viewer: str) -> Leg | None:
    """The leg whose addresses a node has to do with; None of the translators between legs, and of a path of one leg."""
    legs = network.legs
    if len(legs) < 2:
        return None
    if viewer in (legs[0].near, legs[-1].far):
        return legs[0] if viewer == legs[0].near else legs[-1]
    within = [leg for leg in legs if viewer in _between(network.topology, leg)]
    return within[0] if len(within) == 1 and all(viewer not in (leg.near, leg.far) for leg in legs) else None


def _between(topology: Topology, leg: Leg) -> set[str]:
    """The nodes on the route from one end of a leg to the other."""
    route = topology.route(leg.near, leg.far, leg.family) or topology.route(leg.near, leg.far) or []
    return {end.node for link in route for end in link.ends}


def resolver_addresses(topology: Topology, node: str, resolver: str) -> list[Address]:
    """The addresses by which a node reaches its resolver, those of IPv6 first. Empty where there is no way."""
    results: list[Address] = []
    for family in reversed(FAMILIES):
        if node == resolver:
            ends = _ends_of(topology, node)
        else:
            route = topology.route(node, resolver, family)
            ends = [route[-1].end_of(resolver)] if route else []
        results += [address for end in ends if (address := _address(end, family)) is not None][:1]
    return results


def _ends_of(topology: Topology, node: str) -> list[Interface]:
    """The interfaces of a node, those of wires first."""
    return _all_ends(topology)[node]


def _all_ends(topology: Topology) -> dict[str, list[Interface]]:
    """The interfaces of each node, those of wires first."""
    ends: dict[str, list[Interface]] = {node: [] for node in topology.nodes}
    for link in sorted(topology.links, key=lambda link: link.is_tunnel):
        for end in link.ends:
            ends[end.node].append(end)
    return ends


def _both(end: Interface) -> list[Address]:
    return [address for family in FAMILIES if (address := _address(end, family)) is not None]


def _address(end: Interface, family: Family) -> Address | None:
    interface = end.ipv4 if family == 4 else end.ipv6
    return None if interface is None else interface.ip
