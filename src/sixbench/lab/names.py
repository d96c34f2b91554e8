"""The names of a lab's nodes, as a hosts file for commands that run in them (hosts(5))."""

from __future__ import annotations

from collections.abc import Iterable

from ..model.leg import Address
from ..model.network import Blueprint, Network
from ..model.topology import Family, Interface, Topology

FAMILIES: tuple[Family, ...] = (4, 6)

_LOOPBACK = ("127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback")


def hosts_file(blueprint: Blueprint, machine: str) -> str:
    """The text: each node by its name, each of its interfaces as `NODE-INTERFACE`, in both families.

    A node's own name has one address of each family. Those are the ends of the installed path where the node has them,
    else the first that the node has on a wire, else on a tunnel.

    Args:
        machine: the name of this machine, which commands such as `sudo` look up.
    """
    topology = blueprint.topology
    preferred = (blueprint.legs[0].source, blueprint.legs[-1].destination) if isinstance(blueprint, Network) else ()
    names: dict[Address, list[str]] = {}
    for node in topology.nodes:
        ends = _ends_of(topology, node)
        for family in FAMILIES:
            own = [address for end in ends if (address := _address(end, family)) is not None]
            if own:
                names.setdefault(next((one for one in own if one in preferred), own[0]), []).append(node)
        for end in ends:
            for family in FAMILIES:
                address = _address(end, family)
                if address is not None:
                    names.setdefault(address, []).append(f"{node}-{end.name}")
    lines = [*_LOOPBACK, *(f"{address} {' '.join(known)}" for address, known in names.items())]
    if machine and machine not in {name for known in names.values() for name in known}:
        lines.insert(1, f"127.0.1.1 {machine}")
    return "\n".join(lines) + "\n"


def _ends_of(topology: Topology, node: str) -> list[Interface]:
    """The interfaces of a node, those of wires first."""
    links = sorted(topology.links, key=lambda link: link.is_tunnel)
    return [end for link in links for end in link.ends if end.node == node]


def _address(end: Interface, family: Family) -> Address | None:
    interface = end.ipv4 if family == 4 else end.ipv6
    return None if interface is None else interface.ip


def entering(hosts: str, words: Iterable[str]) -> list[str]:
    """A command that sees this hosts file in place of the machine's: in a mount namespace of its own, which ends with
    the command, so that nothing is left over and no other process notices."""
    return ["unshare", "--mount", "--", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts, *words]
