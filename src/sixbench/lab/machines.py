"""Networks on several machines: where the agents are, and the links that the machines' own network carries.

A cable needs nothing here: its ends are interfaces that the nodes' agents borrow. A link over VXLAN begins in the
machine's namespace, whose network its outer packets use, and is moved into the node's.
"""

from __future__ import annotations

from ipaddress import IPv4Address

from ..model.host import Host
from ..model.topology import Link, Topology
from .emulation import emulated_links

FIRST_VNI = 6_220_000
"""The first of the identifiers of our links (RFC 7348 section 5: 24 bits)."""
VXLAN_PORT = 4789
"""RFC 7348 section 5."""


INTERNET_HOP_LIMIT = 64
"""Hop limit that packets of a link over a network that is not ours start with. It is fixed, so that the hops they took
are known where they arrive."""
UNDERLAID = ("vxlan", "internet")
"""Names of the machines' networks in `Link.over`."""

_MACHINE = "(host "


def agent_of(host: str) -> str:
    """The name of the agent that is a machine, as it is. No node of a user's can have it, nor the emulator."""
    return f"{_MACHINE}{host})"


def is_machine(agent: str) -> bool:
    """True if an agent of that name is a machine, as it is."""
    return agent.startswith(_MACHINE)


def hosts_used(topology: Topology) -> list[Host]:
    """The machines that nodes are on, besides this one, in the order of nodes."""
    names = dict.fromkeys(node.on for node in topology.nodes.values() if node.on is not None)
    return [topology.hosts[name] for name in names if topology.hosts[name].ssh is not None]


def place_of(topology: Topology, node: str) -> str | None:
    """The host that a node is on; None: this machine, even where it has a name."""
    on = topology.nodes[node].on
    return None if on is None else place_of_host(topology, on)


def place_of_host(topology: Topology, host: str) -> str | None:
    """The host of that name as a place for agents; None: it is this machine."""
    return None if topology.hosts[host].ssh is None else host


def place_of_emulator(topology: Topology) -> str | None:
    """The host that the emulator is on, which is that of all links that it carries."""
    [(_, link), *_] = emulated_links(topology)
    return place_of(topology, link.ends[0].node)


def machines_with_links(topology: Topology) -> list[str]:
    """The machines whose own network carries links."""
    ends = [end for link in topology.wires if link.over in UNDERLAID for end in link.ends]
    return list(dict.fromkeys(on for end in ends if (on := topology.nodes[end.node].on) is not None))


def machine_lines(topology: Topology) -> dict[str, list[str]]:
    """The lines for `ip -batch` that are run in machines, by the names of their agents; `{pid:NAME}` stands for the
    process that holds the namespace of node NAME."""
    lines: dict[str, list[str]] = {agent_of(name): [] for name in machines_with_links(topology)}
    for index, link in enumerate(topology.wires):
        if link.over not in UNDERLAID:
            continue
        for end in link.ends:
            near, far = (topology.nodes[interface.node].on for interface in (end, link.other_end(end.node)))
            assert near is not None
            assert far is not None
            local, remote = topology.hosts[near].address, topology.hosts[far].address
            lines[agent_of(near)].append(
                f"link add name {end.name} netns {{pid:{end.node}}} type vxlan id {FIRST_VNI + index} "
                f"local {local} remote {remote} dstport {VXLAN_PORT}{_further(link, local)}"
            )
    return lines


def _further(link: Link, local: object) -> str:
    """Over a network that is not ours, packets are never fragmented outside (those of IPv6 never are), and their hop
    limit is known."""
    if link.over != "internet":
        return ""
    return f" ttl {INTERNET_HOP_LIMIT}" + (" df set" if isinstance(local, IPv4Address) else "")
