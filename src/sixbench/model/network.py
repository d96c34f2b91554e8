"""A network with one path installed in it: what is to be built, and what packets it will carry where."""

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
"""Of outer packets, unless the experiment says otherwise (RFC 4213 section 3.3, RFC 1700)."""

QUIET_DROPS = frozenset({"no-mapping", "inner-family"})
"""Reasons of drops that mean nothing: what a node itself sends into a tunnel that does not carry it, such as multicast
listener reports."""

MAX_DEVICE_NAME = 11
"""Of a tunnel's device: the kernel's 15 bytes less what the `ebpf` engine's second device adds."""


@dataclass(frozen=True, kw_only=True)
class Tunnel:
    """One end of a tunnel: a device of a node. Engines make it; nothing here says how.

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
        autoconfigured: whether its device gets its address in a stage rather than as soon as it is there.
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
    """A field of what a node answered a request of an earlier stage."""

    node: str
    op: str
    field: str

    def __str__(self) -> str:
        return f"<{self.field} that {self.node} answered to {self.op}>"


@dataclass(frozen=True, kw_only=True)
class Request:
    """Something that a node's agent is asked to do (docs/protocol.md).

    Attributes:
        fields: of the request; an `Answer` stands for what an earlier request was answered.
        check: what is wrong with the answer, as a sentence; None if nothing.
        undo: what is asked when the network is taken down, after the answer is known.
    """

    op: str
    fields: dict[str, Any]
    check: Callable[[Mapping[str, Any]], str | None] = lambda answer: None
    undo: Request | None = None


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What is done in one node once the wires and the tunnels' devices are there: requests, then commands.

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
        """Of the client's side."""
        return 6 if self.client.version == 6 else 4


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A wire as packets of the path cross it, from the client's side to the server's.

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
        """What the packets meet there."""
        return self.link.direction_from(self.near)


@dataclass(frozen=True, kw_only=True)
class Blueprint:
    """What is to be built.

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
        """The wires from client to server as this path's packets cross them. Empty where none lead there."""
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
        """The nodes that packets enter or leave a tunnel at, each once."""
        return list(dict.fromkeys(tunnel.node for tunnel in self.tunnels))
