"""The names of a network's nodes, and the addresses that they stand for."""

from __future__ import annotations

from .leg import Address
from .network import Blueprint, Network
from .topology import Family, Interface, Topology

FAMILIES: tuple[Family, ...] = (4, 6)


def addresses_by_name(blueprint: Blueprint) -> dict[str, list[Address]]:
    """Each node by its name, each of its interfaces as `NODE-INTERFACE`, in both families.

    A node's own name has one address of each family. Those are the ends of the installed path where the node has them,
    else the first that the node has on a wire, else on a tunnel.
    """
    topology = blueprint.topology
    preferred = (blueprint.legs[0].source, blueprint.legs[-1].destination) if isinstance(blueprint, Network) else ()
    names: dict[str, list[Address]] = {}
    for node in topology.nodes:
        ends = _ends_of(topology, node)
        for family in FAMILIES:
            own = [address for end in ends if (address := _address(end, family)) is not None]
            if own:
                names.setdefault(node, []).append(next((one for one in own if one in preferred), own[0]))
        for end in ends:
            found = [address for family in FAMILIES if (address := _address(end, family)) is not None]
            if found:
                names.setdefault(f"{node}-{end.name}", []).extend(found)
    return names


def resolver_addresses(topology: Topology, node: str, resolver: str) -> list[Address]:
    """The addresses by which a node reaches its resolver, those of IPv6 first. Empty where there is no way."""
    found: list[Address] = []
    for family in reversed(FAMILIES):
        if node == resolver:
            ends = _ends_of(topology, node)
        else:
            route = topology.route(node, resolver, family)
            ends = [route[-1].end_of(resolver)] if route else []
        found += [address for end in ends if (address := _address(end, family)) is not None][:1]
    return found


def _ends_of(topology: Topology, node: str) -> list[Interface]:
    """The interfaces of a node, those of wires first."""
    links = sorted(topology.links, key=lambda link: link.is_tunnel)
    return [end for link in links for end in link.ends if end.node == node]


def _address(end: Interface, family: Family) -> Address | None:
    interface = end.ipv4 if family == 4 else end.ipv6
    return None if interface is None else interface.ip
