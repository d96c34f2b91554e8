"""Nodes, links and their addresses: a network, concrete and complete."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import IPv4Interface, IPv6Address, IPv6Interface
from typing import Literal

from .direction import UNLIMITED, Directions, LinkDirection
from .emulation import EmulatorName, Impairments
from .headers import VLAN_TAG
from .host import Host, Over
from .identifiers import ANY_LINK_NAME, DEVICE, NAME, SYSCTL, require, require_line

NodeKind = Literal["host", "router"]
Family = Literal[4, 6]
IcmpPolicy = Literal["all", "no-too-big", "none"]
NatPorts = Literal["kept", "random"]
OtherBits = Literal[48, 126, 128]
"""Lengths of IPv6 prefixes with which tests are repeated: RFC 5180 section 5.2.1."""
FragmentPolicy = Literal["none", "first-fragments", "later-fragments", "fragments"]

ETHERNET_MIN_MTU_V6 = 1280
"""RFC 8200 section 5: the least MTU of a link that carries IPv6."""

MIN_MTU_V4 = 68
"""RFC 791 section 3.2: every module must forward 68 octets without fragmentation."""

DEFAULT_HOP_LIMIT = 64
"""Linux's default in both families (IPDEFTTL, IPV6_DEFAULT_HOPLIMIT; RFC 1700)."""

MAX_MTU = 65535
"""The largest MTU of a veth."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A host or a router.

    Attributes:
        sysctl: the user's settings, dotted names to values.
        masquerade: whether packets that it forwards leave with its own address as their source, in both families.
        nat_ports: where it masquerades, from which port packets of a socket leave: `kept`, its own if that is free, for
            all destinations; `random`, another one for each destination, as a symmetric NAT does (RFC 4787 section
            4.1: address and port-dependent mapping).
        mss_clamp: whether the MSS of TCP connections that it forwards is cut to what its links carry.
        icmp: the ICMP errors that it sends and forwards: `all`; `no-too-big`: neither Packet Too Big (RFC 4443 section
            3.2) nor Fragmentation Needed (RFC 1191 section 4); `none`: no error at all.
        drop: the fragments that it drops. Atomic fragments (RFC 6946) are `fragments` only.
        filter_rules: how many rules are tried on every packet before it is forwarded; none of them matches.
        on: the machine that it is on; None: this one.
        networks: of a host, to how many networks behind it others have routes, with its own (RFC 2544 section 12).
        network_bits: the lengths of IPv6 prefixes of which it has so many besides those of 64 bits (RFC 5180 section
            5.2.1).
        equipment: of equipment that stands at interfaces of this machine, what it is, in words. sixbench holds no
            namespace of it, and knows it by its packets alone. None: a node of sixbench's own.
    """

    name: str
    kind: NodeKind
    sysctl: dict[str, str] = field(default_factory=dict)
    masquerade: bool = False
    nat_ports: NatPorts = "kept"
    mss_clamp: bool = False
    icmp: IcmpPolicy = "all"
    drop: FragmentPolicy = "none"
    filter_rules: int = 0
    on: str | None = None
    networks: int = 1
    network_bits: tuple[OtherBits, ...] = ()
    equipment: str | None = None

    def __post_init__(self) -> None:
        require(NAME, self.name, "a node")
        for name, value in self.sysctl.items():
            require(SYSCTL, name, "a setting of the network")
            require_line(value, f"the value of {name}")
        if self.equipment is not None:
            require_line(self.equipment, "the description of equipment")

    def hop_limit(self, family: Family) -> int | None:
        """The TTL or hop limit of the packets that its programs send, unless they choose another; None: its settings
        may say something else for some of its interfaces."""
        given = {name.replace("/", "."): value for name, value in self.sysctl.items()}
        if family == 4:
            value = given.get("net.ipv4.ip_default_ttl", str(DEFAULT_HOP_LIMIT))
            return int(value) if value.isdecimal() else None
        return None if any(name.endswith(".hop_limit") for name in given) else DEFAULT_HOP_LIMIT

    @property
    def filters(self) -> bool:
        """True if it has rules for the packets that it forwards."""
        is_open = self.icmp == "all" and self.drop == "none" and not self.filter_rules
        return self.masquerade or self.mss_clamp or not is_open


@dataclass(frozen=True, kw_only=True)
class Port:
    """An interface of this machine, at which equipment stands. `line`: where the experiment file names it."""

    name: str
    line: int | None = None

    def __post_init__(self) -> None:
        require(DEVICE, self.name, "an interface")

    @property
    def place(self) -> str:
        """Its place in the experiment, in words."""
        return "at dut.ports" if self.line is None else f"at dut.ports in line {self.line}"


@dataclass(frozen=True, kw_only=True)
class Interface:
    """One end of a link.

    Attributes:
        name: the node's `eth0`, `eth1` ... in the order of the links in the experiment; of a tunnel its device; at the
            end of a cable the machine's name for it.
        ipv4, ipv6: its addresses; None: it does not take part in that family.
        gateway: the next hop by which others send through it, where that is not its IPv6 address.
    """

    node: str
    name: str
    ipv4: IPv4Interface | None = None
    ipv6: IPv6Interface | None = None
    gateway: IPv6Address | None = None

    def __post_init__(self) -> None:
        require(NAME, self.node, "a node")
        require(DEVICE, self.name, "an interface")

    def address(self, family: Family) -> IPv4Interface | IPv6Interface | None:
        return self.ipv4 if family == 4 else self.ipv6


@dataclass(frozen=True, kw_only=True)
class Link:
    """A point-to-point Ethernet segment; or a tunnel, which is a link over other links.

    Attributes:
        mtu_bytes: the IP MTU.
        directions: the treatment of packets that leave the first end, and of those that leave the second.
        changes: what events make of these directions in the middle of trials.
        profile: the access profile that it was made of, by name, for people; None: none.
        emulator: who delays and drops packets; None: the first that can. Ours always can.
        offload: whether segmentation offload is on; None: off on links with a rate or impairments, on without.
        headers: of a tunnel, what it puts before each packet, outermost first, such as `("ipv4", "gre")`; empty: a
            wire.
        over: what carries it from one machine to another. The interfaces at the ends of a cable are the machines' own.
            None: both ends are on one machine.
        vlan_id: of a cable, the number of the VLAN in which its frames are, 1 to 4094. None: they have no tag.
        finds_mtu: whether its MTU is what the network below leaves, which is known when a run begins. Until then
            `mtu_bytes` is what a network of Ethernet's MTU leaves.
        port: of a link to equipment, the interface of this machine that is its other node's end. None: sixbench makes
            both ends.
        ipv4_domain: where its IPv4 addresses are known, if they are private: only nodes whose IPv4 links are all in
            that domain have routes to it. None: everywhere.
    """

    name: str
    ends: tuple[Interface, Interface]
    mtu_bytes: int
    directions: Directions = (UNLIMITED, UNLIMITED)
    changes: tuple[Directions, ...] = ()
    profile: str | None = None
    emulator: EmulatorName | None = None
    offload: bool | None = None
    headers: tuple[str, ...] = ()
    over: Over | None = None
    vlan_id: int | None = None
    finds_mtu: bool = False
    port: Port | None = None
    ipv4_domain: str | None = None

    def __post_init__(self) -> None:
        require(ANY_LINK_NAME, self.name, "a link")

    @property
    def is_tunnel(self) -> bool:
        """True if it is a tunnel: its packets cross other links inside other packets."""
        return bool(self.headers)

    @property
    def tag_bytes(self) -> int:
        """Bytes that a VLAN's tag adds to each of its frames. Its MTU is that of IP, and stays."""
        return 0 if self.vlan_id is None else VLAN_TAG.size_bytes

    @property
    def carrier(self) -> Family:
        """The family of a tunnel's outer packets."""
        return 4 if self.headers[0] == "ipv4" else 6

    def carries(self, family: Family) -> bool:
        """True if packets of that family can cross it: both ends have addresses, and its MTU is enough (RFC 8200
        section 5)."""
        if family == 6 and self.mtu_bytes < ETHERNET_MIN_MTU_V6:
            return False
        return all(end.address(family) is not None for end in self.ends)

    @property
    def states(self) -> tuple[Directions, ...]:
        """The treatment of packets at first, and after each event."""
        return self.directions, *self.changes

    @property
    def impairments(self) -> tuple[Impairments, Impairments]:
        """Impairments of packets that leave the first end, and of those that leave the second."""
        first, second = self.directions
        return first.impairments, second.impairments

    @property
    def is_emulated(self) -> bool:
        """True if anything happens to packets on it, at any time."""
        return any(direction.impairments.any for state in self.states for direction in state)

    @property
    def has_rate(self) -> bool:
        """True if a direction of it is slower than the machine."""
        return any(direction.rate_bps is not None for direction in self.directions)

    @property
    def offload_on(self) -> bool:
        """True if segmentation offload is on. It is off on links with a rate or impairments, unless it is asked for, so
        that what crosses them are packets of their MTU."""
        return not self.has_rate and not self.is_emulated if self.offload is None else self.offload

    def direction_from(self, node: str) -> LinkDirection:
        """The treatment of packets that leave the end of `node`, which must be one of the two."""
        return self.directions[0] if self.ends[0].node == node else self.directions[1]

    def end_of(self, node: str) -> Interface:
        """The interface of `node`, which must be one of the two."""
        return self.ends[0] if self.ends[0].node == node else self.ends[1]

    def other_end(self, node: str) -> Interface:
        """The interface opposite `node`, which must be one of the two."""
        return self.ends[1] if self.ends[0].node == node else self.ends[0]


@dataclass(frozen=True, kw_only=True)
class NodeRoute:
    """The route to a node from another.

    Attributes:
        rank: by which routes are compared, the lowest being the best: the number of links, then which links they are.
        first, last: the link that leaves the one and the link that arrives at the other.
    """

    rank: tuple[int, int]
    first: Link
    last: Link


@dataclass(frozen=True, kw_only=True)
class Topology:
    """Nodes by name and links in order, and the machines that nodes may be on by name."""

    nodes: dict[str, Node]
    links: tuple[Link, ...]
    hosts: dict[str, Host] = field(default_factory=dict)

    @cached_property
    def is_spread(self) -> bool:
        """True if a node of it is on a machine that it names."""
        return any(node.on is not None for node in self.nodes.values())

    @cached_property
    def is_exclusive(self) -> bool:
        """True if it has what only one network can have at a time: interfaces of machines, or their own network."""
        return bool(self.ports) or any(link.over is not None for link in self.links)

    def borrowed(self, node: str) -> tuple[str, ...]:
        """The interfaces of its machine that a node has."""
        return self._borrowed_by_node.get(node, ())

    def links_of(self, node: str) -> list[Link]:
        """The links that end at `node`, in order."""
        return self._links_by_node.get(node, [])

    @property
    def held(self) -> list[str]:
        """The nodes whose namespaces sixbench holds: all but equipment."""
        return [name for name, node in self.nodes.items() if node.equipment is None]

    @cached_property
    def ports(self) -> list[tuple[str, Port]]:
        """The interfaces of this machine at which equipment stands, each with the node that has it."""
        return [
            (end.node, link.port)
            for link in self.links
            if link.port is not None
            for end in link.ends
            if self.nodes[end.node].equipment is None
        ]

    @property
    def wires(self) -> tuple[Link, ...]:
        """The links that are not tunnels."""
        return tuple(link for link in self.links if not link.is_tunnel)

    def neighbours(self, node: str, family: Family | None = None) -> list[tuple[int, str]]:
        """For each link of a node, its number and the node at its other end. `family` is that of `ways`."""
        return self._neighbours[family][node]

    def route(self, source: str, destination: str, family: Family | None = None) -> list[Link] | None:
        """The links of the route that `ways` gives; None where there is none."""
        ways = self.ways(source, family)
        links: list[Link] = []
        at = destination
        while at != source:
            reach = ways.get(at)
            if reach is None:
                return None
            links.append(reach.last)
            at = reach.last.other_end(at).node
        return links[::-1]

    def ways(self, source: str, family: Family | None = None) -> dict[str, NodeRoute]:
        """The route from `source` to every other node that it reaches. Hosts do not forward, so they are only at the
        ends.

        Args:
            family: only over links that carry it; None: over all wires.

        It is the route over the fewest links; of several such routes, the one whose last link comes earliest in the
        file. So there is always one best route, it is the same in both directions, and every part of it is a best route
        itself: nodes that each route by this rule make one route together.
        """
        neighbours = self._neighbours[family]
        results: dict[str, NodeRoute] = {}
        reached = {source: (0, -1, -1)}
        hops = 0
        while reached:
            hops += 1
            following: dict[str, tuple[int, int, int]] = {}
            for name, (links, first_index, _) in reached.items():
                if name != source and self.nodes[name].kind == "host":
                    continue
                for index, neighbour in neighbours[name]:
                    if neighbour in results or neighbour == source:
                        continue
                    both = links | 1 << index
                    if neighbour not in following or both < following[neighbour][0]:
                        following[neighbour] = (both, index if first_index < 0 else first_index, index)
            for name, (links, first_index, last_index) in following.items():
                results[name] = NodeRoute(
                    rank=(hops, links), first=self.links[first_index], last=self.links[last_index]
                )
            reached = following
        return results

    @cached_property
    def is_alike(self) -> bool:
        """True if both families have the same routes: every link carries both, or neither."""
        return self._neighbours[4] == self._neighbours[6]

    @cached_property
    def _borrowed_by_node(self) -> dict[str, tuple[str, ...]]:
        at_cables = [(end.node, end.name) for link in self.links if link.over == "cable" for end in link.ends]
        at_equipment = [(node, port.name) for node, port in self.ports]
        texts: dict[str, tuple[str, ...]] = {}
        for node, device in (*at_cables, *at_equipment):
            texts[node] = (*texts.get(node, ()), device)
        return texts

    @cached_property
    def _links_by_node(self) -> dict[str, list[Link]]:
        results: dict[str, list[Link]] = {name: [] for name in self.nodes}
        for link in self.links:
            for node in {end.node: None for end in link.ends}:
                results.setdefault(node, []).append(link)
        return results

    @cached_property
    def _neighbours(self) -> dict[Family | None, dict[str, list[tuple[int, str]]]]:
        """For each family, the number of each link of a node, and the node at its other end."""
        families: tuple[Family | None, ...] = (None, 4, 6)
        return {family: self._neighbours_over(family) for family in families}

    def _neighbours_over(self, family: Family | None) -> dict[str, list[tuple[int, str]]]:
        pairs: dict[str, list[tuple[int, str]]] = {name: [] for name in self.nodes}
        for index, link in enumerate(self.links):
            if link.is_tunnel if family is None else not link.carries(family):
                continue
            first, second = link.ends
            pairs[first.node].append((index, second.node))
            pairs[second.node].append((index, first.node))
        return pairs
