"""A network with one path installed in it: what has to be built, and which packets each link will carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Literal

from .direction import Direction
from .topology import Family, Link, Topology

Address = IPv4Address | IPv6Address
Payload = Literal["ipv6", "ipv4", "gre", "ethernet"]
PathMtu = Literal["static", "dynamic"]

DEFAULT_TTL = 64
"""The hop limit of outer packets, unless the experiment says otherwise (RFC 4213 section 3.3, RFC 1700)."""

QUIET_DROPS = frozenset({"no-mapping", "inner-family"})
"""Reasons of drops that mean nothing: packets that a node itself sends into a tunnel which does not carry them, such as
multicast listener reports."""

MAX_DEVICE_NAME = 11
"""The longest name of a tunnel's device: the kernel's 15 bytes, less those that the `ebpf` engine's second device
adds."""


@dataclass(frozen=True, kw_only=True)
class Tunnel:
    """One end of a tunnel: a device of a node. Engines know how to make it.

    Attributes:
        mtu_bytes: of the device.
        outer: family of the outer packets.
        payload: what they carry.
        local: their source: an address of the node.
        underlay: the interfaces where the peers' packets arrive.
        mapping: how the outer destination follows from the inner packet, as docs/protocol.md has it:
            `{"kind": "fixed", "remote": "198.18.1.2"}`.
        ttl: of the outer packets; None: the inner one's.
        tos: octet of the outer packets; None: the inner one's DSCP.
        ecn: whether ECN passes through (RFC 6040).
        pmtu: whether outer packets may be fragmented (`static`) or not (`dynamic`; RFC 4213 section 3.2).
        key: of GRE; number of the network of VXLAN.
        made_by: the request that makes it, where no engine does beforehand.
        autoconfigured: whether its device gets its address in a stage rather than as soon as it exists.
    """

    node: str
    device: str
    mtu_bytes: int
    outer: Family
    payload: Payload
    local: Address
    underlay: tuple[str, ...]
    mapping: dict[str, Any]
    ttl: int | None = DEFAULT_TTL
    tos: int | None = None
    ecn: bool = True
    pmtu: PathMtu = "static"
    key: int | None = None
    made_by: str | None = None
    autoconfigured: bool = False


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A field of a node's answer to a request of an earlier stage."""

    node: str
    op: str
    field: str

    def __str__(self) -> str:
        return f"<{self.field} that {self.node} answered to {self.op}>"


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request to a node's agent (docs/protocol.md).

    Attributes:
        fields: of the request; an `Answer` stands for a field of an earlier request's answer.
        check: what is wrong with the answer, as a sentence; None if nothing.
        undo: the request for when the network is taken down, made from the answer.
    """

    op: str
    fields: dict[str, Any]
    check: Callable[[Mapping[str, Any]], str | None] = lambda answer: None
    undo: Request | None = None


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The requests, and then the commands, for one node once the wires and the tunnels' devices exist.

    Attributes:
        sysctl: settings.
        ip: lines for `ip -batch`.
        nft: a ruleset for `nft -f`.
    """

    requests: tuple[Request, ...] = ()
    sysctl: dict[str, str] = field(default_factory=dict)
    ip: tuple[str, ...] = ()
    nft: str = ""


@dataclass(frozen=True, kw_only=True)
class Ends:
    """The addresses between which a workload runs.

    Attributes:
        client, server: as the client has and sees them.
        client_seen: the client as the server sees it: another one behind address translation.
    """

    client: Address
    server: Address
    client_seen: Address

    @property
    def family(self) -> Family:
        """The family of the client's addresses."""
        return 6 if self.client.version == 6 else 4


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A wire on the route of the path's packets, from the client's side to the server's.

    Attributes:
        near, far: the nodes at its two ends, in that direction.
        headers: the IP and tunnel headers that packets carry there, outermost first, such as `("ipv4", "ipv6")`.
        inner_mtu_bytes: the largest inner packet that the tunnels around it take; None: there is none.
    """

    link: Link
    near: str
    far: str
    headers: tuple[str, ...]
    inner_mtu_bytes: int | None = None

    @property
    def direction(self) -> Direction:
        """The treatment of packets on that wire, in that direction."""
        return self.link.direction_from(self.near)


@dataclass(frozen=True, kw_only=True)
class Blueprint:
    """The description of a network that has to be built.

    Attributes:
        topology: wires, and tunnels as links over them.
        tunnels: the tunnels' ends.
        stages: what else is done, in order, by node.
    """

    topology: Topology
    tunnels: tuple[Tunnel, ...] = ()
    stages: tuple[Mapping[str, Stage], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Network(Blueprint):
    """A topology with a path installed, with the addresses that the path needs."""

    ends: Ends

    def segments(self, client: str, server: str) -> list[Segment]:
        """The wires from client to server in the order in which this path's packets cross them. Empty where there is no
        route."""
        route = self.topology.route(client, server, self.ends.family)
        inner = "ipv6" if self.ends.family == 6 else "ipv4"
        found: list[Segment] = []
        at = client
        for link in route or []:
            reached = link.other_end(at).node
            found += self._expanded(link, at, reached, (inner,), None)
            at = reached
        return found

    def _expanded(
        self, link: Link, near: str, far: str, headers: tuple[str, ...], inner_mtu_bytes: int | None
    ) -> list[Segment]:
        if not link.is_tunnel:
            return [Segment(link=link, near=near, far=far, headers=headers, inner_mtu_bytes=inner_mtu_bytes)]
        room = link.mtu_bytes if inner_mtu_bytes is None else min(inner_mtu_bytes, link.mtu_bytes)
        found: list[Segment] = []
        at = near
        for below in self.topology.route(near, far, link.carrier) or []:
            reached = below.other_end(at).node
            found += self._expanded(below, at, reached, (*link.headers, *headers), room)
            at = reached
        return found

    def encapsulators(self) -> list[str]:
        """The nodes at which packets enter or leave a tunnel, each once."""
        return list(dict.fromkeys(tunnel.node for tunnel in self.tunnels))
