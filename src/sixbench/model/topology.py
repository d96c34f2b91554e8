"""Nodes, links and their addresses: a network, concrete and complete."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Interface, IPv6Interface
from typing import Literal

NodeKind = Literal["host", "router"]
Family = Literal[4, 6]

ETHERNET_MIN_MTU_V6 = 1280
"""RFC 8200 section 5: the least MTU of a link that carries IPv6."""

MIN_MTU_V4 = 68
"""RFC 791 section 3.2: every module must forward 68 octets without fragmentation."""

MAX_MTU = 65535
"""The largest MTU of a veth."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A host or a router. `sysctl` holds settings of the user's, dotted names to values."""

    name: str
    kind: NodeKind
    sysctl: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Interface:
    """One end of a link: the node's `eth0`, `eth1` ... in the order of the links in the experiment."""

    node: str
    name: str
    ipv4: IPv4Interface
    ipv6: IPv6Interface | None


@dataclass(frozen=True, kw_only=True)
class Link:
    """A point-to-point Ethernet segment.

    Attributes:
        mtu_bytes: the IP MTU.
        rate_bps: bits per second on the wire, preamble, gap and FCS included; None: as fast as the machine.
        queue_bytes, queue_ns: limit of the queue before the rate, given as one or the other (None: the default, see
            `lab`).
        burst_bytes: bucket of the rate limiter; None: the default, see `lab`.
        delay_ns, jitter_ns, loss_ratio: impairments, each way; 0 is none.
        offload: whether segmentation offload is on; None: off on links with a rate, on without.
    """

    name: str
    ends: tuple[Interface, Interface]
    mtu_bytes: int
    rate_bps: int | None = None
    queue_bytes: int | None = None
    queue_ns: int | None = None
    burst_bytes: int | None = None
    delay_ns: int
    jitter_ns: int
    loss_ratio: float
    offload: bool | None = None

    @property
    def offload_on(self) -> bool:
        """What crosses a link with a rate must be packets of its MTU, so segmentation offload is off there unless
        asked for."""
        return self.rate_bps is None if self.offload is None else self.offload

    def end_of(self, node: str) -> Interface:
        """The interface of `node`, which must be one of the two."""
        return self.ends[0] if self.ends[0].node == node else self.ends[1]

    def other_end(self, node: str) -> Interface:
        """The interface opposite `node`, which must be one of the two."""
        return self.ends[1] if self.ends[0].node == node else self.ends[0]


@dataclass(frozen=True, kw_only=True)
class Topology:
    """Nodes by name and links in order."""

    nodes: dict[str, Node]
    links: tuple[Link, ...]

    def links_of(self, node: str) -> list[Link]:
        """The links that end at `node`, in order."""
        return [link for link in self.links if any(end.node == node for end in link.ends)]

    def route(self, source: str, destination: str) -> list[Link] | None:
        """The links of a shortest way (fewest links, earliest in the file among equals); None where there is none.

        Hosts do not forward: they may only be the ends.
        """
        if source == destination:
            return []
        adjacent: dict[str, list[tuple[str, Link]]] = {name: [] for name in self.nodes}
        for link in self.links:
            first, second = link.ends
            adjacent[first.node].append((second.node, link))
            adjacent[second.node].append((first.node, link))
        before: dict[str, tuple[str, Link]] = {}
        frontier = [source]
        while frontier and destination not in before:
            following: list[str] = []
            for name in frontier:
                if name != source and self.nodes[name].kind == "host":
                    continue
                for neighbour, link in adjacent[name]:
                    if neighbour != source and neighbour not in before:
                        before[neighbour] = (name, link)
                        following.append(neighbour)
            frontier = following
        if destination not in before:
            return None
        links: list[Link] = []
        at = destination
        while at != source:
            at, link = before[at]
            links.append(link)
        return links[::-1]
