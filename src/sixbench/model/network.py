"""A network with one path installed in it: what has to be built, and which packets each link will carry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from .leg import Address, Crossing, IpHeader, Leg, Legs, Passage, reversed_legs
from .topology import Family, Topology

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
    """A topology with a path installed.

    Attributes:
        legs: of the path, from client to server.
    """

    legs: Legs

    @property
    def between(self) -> tuple[str, str]:
        """The hosts: the client and the server."""
        return self.legs[0].near, self.legs[-1].far

    @property
    def family(self) -> Family:
        """The family of the client's addresses."""
        return self.legs[0].family

    @property
    def reversed(self) -> Network:
        """The same network with the path from the server to the client."""
        return replace(self, legs=reversed_legs(self.legs))

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """The wires from client to server in the order in which the path's packets cross them. Empty where a leg has no
        route."""
        legs = [(leg, passages_of(self.topology, leg.near, leg.far, leg.family)) for leg in self.legs]
        if any(leg.near != leg.far and not passages for leg, passages in legs):
            return ()
        # Every node between two links forwards, which takes one from the hop limit.
        last = sum(len(passages) for _, passages in legs) - 1
        client, server = (self._first_hop_limit(leg) for leg in (self.legs[0], self.legs[-1].reversed))
        found: list[Crossing] = []
        at = 0
        for leg, passages in legs:
            for passage in passages:
                inner = IpHeader(
                    family=leg.family,
                    source=leg.source,
                    destination=leg.destination,
                    hop_limit=_less(client, at),
                    reverse_hop_limit=_less(server, last - at),
                )
                found += self._expanded(leg, passage, (f"ipv{leg.family}",), (inner,), (), None)
                at += 1
        return tuple(found)

    @property
    def passed_tunnels(self) -> list[Passage]:
        """The tunnels on the way, each once: the one that packets enter first comes first."""
        found: list[Passage] = []
        for crossing in self.crossings:
            found += (tunnel for tunnel in reversed(crossing.tunnels) if tunnel not in found)
        return found

    def _expanded(
        self,
        leg: Leg,
        passage: Passage,
        headers: tuple[str, ...],
        ip: tuple[IpHeader, ...],
        tunnels: tuple[Passage, ...],
        inner_mtu_bytes: int | None,
    ) -> list[Crossing]:
        """The wires of a link; those of its carrier where it is a tunnel."""
        link = passage.link
        if not link.is_tunnel:
            return [
                Crossing(
                    link=link,
                    near=passage.near,
                    far=passage.far,
                    headers=headers,
                    ip=ip,
                    leg=leg,
                    tunnels=tunnels,
                    inner_mtu_bytes=inner_mtu_bytes,
                )
            ]
        entry, leaving = (self._tunnels[node, link.end_of(node).name] for node in (passage.near, passage.far))
        below = passages_of(self.topology, passage.near, passage.far, link.carrier)
        inner, found = ip[0], []
        for index, one in enumerate(below):
            outer = IpHeader(
                family=link.carrier,
                source=entry.local,
                destination=leaving.local,
                hop_limit=_less(entry.ttl or inner.hop_limit, index),
                reverse_hop_limit=_less(leaving.ttl or inner.reverse_hop_limit, len(below) - 1 - index),
            )
            found += self._expanded(
                leg,
                one,
                (*link.headers, *headers),
                (outer, *ip),
                (passage, *tunnels),
                link.mtu_bytes if inner_mtu_bytes is None else min(inner_mtu_bytes, link.mtu_bytes),
            )
        return found

    def _first_hop_limit(self, leg: Leg) -> int | None:
        return self.topology.nodes[leg.near].hop_limit(leg.family)

    @cached_property
    def _tunnels(self) -> dict[tuple[str, str], Tunnel]:
        return {(tunnel.node, tunnel.device): tunnel for tunnel in self.tunnels}

    def encapsulators(self) -> list[str]:
        """The nodes at which packets enter or leave a tunnel, each once."""
        return list(dict.fromkeys(tunnel.node for tunnel in self.tunnels))


def passages_of(topology: Topology, near: str, far: str, family: Family) -> list[Passage]:
    """The links of the route between two nodes, tunnels among them as they are. Empty where there is no route."""
    found: list[Passage] = []
    at = near
    for link in topology.route(near, far, family) or []:
        reached = link.other_end(at).node
        found.append(Passage(link=link, near=at, far=reached))
        at = reached
    return found


def _less(hop_limit: int | None, hops: int) -> int | None:
    return None if hop_limit is None else hop_limit - hops
