"""Interfaces of this machine at which equipment stands. Whether nodes may borrow them is asked of the agent
(`bench/ports.py`)."""

from __future__ import annotations

from ..model.topology import Topology


def wanted_addresses(topology: Topology) -> list[str]:
    """The addresses that equipment has to have, as a sentence for each interface."""
    names = []
    for link in topology.links:
        if link.port is not None:
            [end] = [end for end in link.ends if topology.nodes[end.node].equipment is not None]
            addresses = [str(address) for address in (end.ipv4, end.ipv6) if address is not None]
            names.append(f"the equipment has to have {' and '.join(addresses)} at {link.port.name}")
    return names
