"""The legs of a path, and the wires that its packets cross on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address

from .direction import LinkDirection
from .topology import Family, Link

Address = IPv4Address | IPv6Address


@dataclass(frozen=True, kw_only=True)
class Leg:
    """Packets of a path between two points where their addresses change: the hosts, and the nodes on the way that
    translate addresses.

    The first leg has the addresses that the client knows, the last one those that the server knows.

    Attributes:
        family: of the packets that the hosts exchange. Tunnels may carry them inside others.
        near, far: the nodes at its ends, from the client's side to the server's.
        source, destination: of packets to the server. Those to the client have them the other way round.
    """

    family: Family
    near: str
    far: str
    source: Address
    destination: Address

    @property
    def reversed(self) -> Leg:
        """The same leg, seen from the server."""
        return replace(self, near=self.far, far=self.near, source=self.destination, destination=self.source)


Legs = tuple[Leg, ...]
"""All legs of a path, from client to server; never empty."""


def reversed_legs(legs: Legs) -> Legs:
    """The legs of the same path from server to client."""
    return tuple(leg.reversed for leg in reversed(legs))


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A tunnel on the way of a path: its link, and the nodes at which packets to the server enter and leave it."""

    link: Link
    near: str
    far: str

    @property
    def reversed(self) -> Passage:
        """The same from the other side."""
        return Passage(link=self.link, near=self.far, far=self.near)


@dataclass(frozen=True, kw_only=True)
class ExpectedIpHeader:
    """An IP header that packets of a path have on a wire.

    Attributes:
        source, destination: of packets to the server. Those to the client have them the other way round.
        hop_limit: the TTL or hop limit of packets to the server; None: it is not known.
        reverse_hop_limit: that of packets to the client.
    """

    family: Family
    source: Address
    destination: Address
    hop_limit: int | None = None
    reverse_hop_limit: int | None = None


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """A wire on the way of a path's packets, from the client's side to the server's.

    Attributes:
        near, far: the nodes at its two ends, in that direction.
        headers: the IP and tunnel headers that packets carry there, outermost first, such as `("ipv4", "ipv6")`.
        ip: the IP headers of these.
        leg: the leg that it is a part of.
        tunnels: those that the packets are in, outermost first.
        inner_mtu_bytes: the largest inner packet that these tunnels take; None: there is none.
    """

    link: Link
    near: str
    far: str
    headers: tuple[str, ...]
    ip: tuple[ExpectedIpHeader, ...]
    leg: Leg
    tunnels: tuple[Passage, ...] = ()
    inner_mtu_bytes: int | None = None

    @property
    def direction(self) -> LinkDirection:
        """The treatment of packets on that wire, in that direction."""
        return self.link.direction_from(self.near)

    @property
    def source(self) -> Address:
        """The outermost source address of packets to the server."""
        return self.ip[0].source

    @property
    def destination(self) -> Address:
        """Their outermost destination address."""
        return self.ip[0].destination

    @property
    def hop_limit(self) -> int | None:
        """Their outermost TTL or hop limit; None: it is not known."""
        return self.ip[0].hop_limit

    @property
    def passage(self) -> Passage:
        """The wire, or the tunnel around it, over which the hosts' packets go as they are."""
        return self.tunnels[-1] if self.tunnels else Passage(link=self.link, near=self.near, far=self.far)
