"""A network with one path installed in it: what has to be built, and which packets each link will carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from ipaddress import IPv6Interface
from typing import Self

from .device import Device, Relay, Translator, Tunnel
from .guest import GuestNode
from .leg import Address, Crossing, ExpectedIpHeader, Leg, Legs, Passage, reversed_legs
from .stage import DEVICE_START, Stage
from .topology import Family, Interface, Topology


@dataclass(frozen=True, kw_only=True)
class Blueprint:
    """The description of a network that has to be built. Networks of equal blueprints are the same network.

    Attributes:
        topology: wires, and tunnels as links over them.
        devices: those that a mechanism needs, besides the ends of wires.
        stages: what else is done, in order, by node.
        resolvers: by node, the addresses of the resolver that it asks for names (DNS); of other nodes a hosts file has
            the names.
        guests: the nodes that are emulated machines.
    """

    topology: Topology
    devices: tuple[Device, ...] = ()
    stages: tuple[Mapping[str, Stage], ...] = ()
    resolvers: Mapping[str, tuple[Address, ...]] = field(default_factory=dict)
    guests: Mapping[str, GuestNode] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """True if nothing is made in it besides wires."""
        return not self.devices and not self.stages and not self.guests

    @property
    def tunnels(self) -> tuple[Tunnel, ...]:
        """The devices that are ends of tunnels."""
        return tuple(device for device in self.devices if isinstance(device, Tunnel))

    @property
    def translators(self) -> tuple[Translator, ...]:
        """The devices that translate packets to another family."""
        return tuple(device for device in self.devices if isinstance(device, Translator))

    @property
    def learning(self) -> Translator | None:
        """The translator whose node learns its prefix; None: there is none."""
        return next((device for device in self.translators if device.discovery is not None), None)

    @property
    def relays(self) -> tuple[Relay, ...]:
        """The devices that end connections and make others."""
        return tuple(device for device in self.devices if isinstance(device, Relay))

    @property
    def device_nodes(self) -> list[str]:
        """The nodes that have devices, each once."""
        return list(dict.fromkeys(device.node for device in self.devices))

    @property
    def hosting(self) -> tuple[str, ...]:
        """The nodes that have a program under test, or are emulated machines."""
        programs = tuple(
            node
            for stages in self.stages
            for node, stage in stages.items()
            if any(request.op == DEVICE_START for request in stage.requests)
        )
        return (*programs, *self.guests)

    def with_learned(self, learned: Mapping[Address, Address]) -> Self:
        """The same with the IPv6 addresses that were learned when it was built, each by the one that stood for it."""

        def actual(end: Interface) -> Interface:
            if end.ipv6 is None or end.ipv6.ip not in learned:
                return end
            return replace(end, ipv6=IPv6Interface((str(learned[end.ipv6.ip]), end.ipv6.network.prefixlen)))

        if not learned:
            return self
        links = tuple(replace(link, ends=(actual(link.ends[0]), actual(link.ends[1]))) for link in self.topology.links)
        return replace(self, topology=replace(self.topology, links=links))


@dataclass(frozen=True, kw_only=True)
class Network(Blueprint):
    """A topology with a path installed.

    Attributes:
        legs: of the path, from client to server.
        answering: the nodes besides relays that answer what one leg brings, and send packets of their own on the next.
    """

    legs: Legs
    answering: frozenset[str] = frozenset()

    @property
    def blueprint(self) -> Blueprint:
        """The parts that have to be built, whichever hosts use it."""
        return Blueprint(
            topology=self.topology,
            devices=self.devices,
            stages=self.stages,
            resolvers=self.resolvers,
            guests=self.guests,
        )

    @property
    def between(self) -> tuple[str, str]:
        """The hosts: the client and the server."""
        return self.legs[0].near, self.legs[-1].far

    @property
    def family(self) -> Family:
        return self.legs[0].family

    @property
    def parts(self) -> tuple[Network, ...]:
        """The same network with the legs up to the first relay, those up to the next one, and so on. Packets of one
        part are no packets of another: they begin anew at a relay, and where a node answers."""
        nodes = {relay.node for relay in self.relays} | self.answering
        starts = [0] + [number for number, leg in enumerate(self.legs) if number and leg.near in nodes]
        ends = [*starts[1:], len(self.legs)]
        return tuple(replace(self, legs=self.legs[start:end]) for start, end in zip(starts, ends, strict=True))

    @property
    def echoed(self) -> tuple[Legs, ...]:
        """The legs of each part, with the address that answers an echo at its end: a relay's own, since it does not
        pass echoes on to the server."""
        *before, last = self.parts
        return (*(part._to_own_end for part in before), last.legs)

    @property
    def _to_own_end(self) -> Legs:
        last = self.legs[-1]
        [*_, passage] = passages_of(self.topology, last.near, last.far, last.family)
        end_address = passage.link.end_of(passage.far).address(last.family)
        assert end_address is not None, "a link that carries a family has addresses of it at both ends"
        return tuple(replace(leg, destination=end_address.ip) for leg in self.legs)

    @property
    def tracking(self) -> tuple[str, ...]:
        """The nodes that track connections: those that masquerade, and those where the mechanism does."""
        by_mechanism = {node for stages in self.stages for node, stage in stages.items() if stage.tracks}
        return tuple(name for name, node in self.topology.nodes.items() if node.masquerade or name in by_mechanism)

    def with_learned(self, learned: Mapping[Address, Address]) -> Self:
        """The same with the addresses that were learned, in its legs too."""
        if not learned:
            return self
        legs = tuple(
            replace(
                leg,
                source=learned.get(leg.source, leg.source),
                destination=learned.get(leg.destination, leg.destination),
            )
            for leg in self.legs
        )
        return replace(super().with_learned(learned), legs=legs)

    @property
    def reversed(self) -> Network:
        """The same network with the path from the server to the client."""
        return replace(self, legs=reversed_legs(self.legs))

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """The wires from client to server in the order in which the path's packets cross them. Empty where a leg has no
        route."""
        parts = self.parts
        if len(parts) > 1:
            crossed = [part.crossings for part in parts]
            return tuple(crossing for entry in crossed for crossing in entry) if all(crossed) else ()
        legs = [(leg, passages_of(self.topology, leg.near, leg.far, leg.family)) for leg in self.legs]
        if any(leg.near != leg.far and not passages for leg, passages in legs):
            return ()
        client, server = (self._first_hop_limit(leg) for leg in (self.legs[0], self.legs[-1].reversed))
        taken = self._hops_taken([len(passages) for _, passages in legs])
        results: list[Crossing] = []
        for at, (leg, passage) in enumerate((leg, passage) for leg, passages in legs for passage in passages):
            inner = ExpectedIpHeader(
                family=leg.family,
                source=leg.source,
                destination=leg.destination,
                hop_limit=_less(client, taken[: at + 1]),
                reverse_hop_limit=_less(server, taken[at + 1 :]),
            )
            results += self._expanded(leg, passage, (f"ipv{leg.family}",), (inner,), (), None)
        return tuple(results)

    def _hops_taken(self, lengths: Sequence[int]) -> list[int | None]:
        """Decrease of the hop limit before each link of the legs, and behind the last one. `lengths`: how many links
        each leg has."""
        hops = {device.node: device.hops for device in self.devices if isinstance(device, Translator)}
        taken: list[int | None] = [0]
        for leg, length in zip(self.legs, lengths, strict=True):
            if leg is not self.legs[0]:  # a node between two legs forwards, as those between two links do
                taken_here, before = hops.get(leg.near, 1), taken[-1]
                taken[-1] = None if taken_here is None or before is None else before + taken_here
            taken += [1] * (length - 1) + [0] if length else []
        return taken

    @property
    def passed_tunnels(self) -> list[Passage]:
        """The tunnels on the way, each once: the one that packets enter first comes first."""
        passages: list[Passage] = []
        for crossing in self.crossings:
            passages += (tunnel for tunnel in reversed(crossing.tunnels) if tunnel not in passages)
        return passages

    def _expanded(
        self,
        leg: Leg,
        passage: Passage,
        headers: tuple[str, ...],
        ip: tuple[ExpectedIpHeader, ...],
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
        sources = _seen(self.topology, entry, below)
        destinations = _seen(self.topology, leaving, [element.reversed for element in reversed(below)])[::-1]
        inner, results = ip[0], []
        for index, (item, source, destination) in enumerate(zip(below, sources, destinations, strict=True)):
            outer = ExpectedIpHeader(
                family=link.carrier,
                source=source,
                destination=destination,
                hop_limit=_less(entry.ttl or inner.hop_limit, [index]),
                reverse_hop_limit=_less(leaving.ttl or inner.reverse_hop_limit, [len(below) - 1 - index]),
            )
            results += self._expanded(
                leg,
                item,
                (*link.headers, *headers),
                (outer, *ip),
                (passage, *tunnels),
                link.mtu_bytes if inner_mtu_bytes is None else min(inner_mtu_bytes, link.mtu_bytes),
            )
        return results

    def _first_hop_limit(self, leg: Leg) -> int | None:
        return self.topology.nodes[leg.near].hop_limit(leg.family)

    @cached_property
    def _tunnels(self) -> dict[tuple[str, str], Tunnel]:
        return {(tunnel.node, tunnel.device): tunnel for tunnel in self.tunnels}


def passages_of(topology: Topology, near: str, far: str, family: Family) -> list[Passage]:
    """The links of the route between two nodes, tunnels among them as they are. Empty where there is no route."""
    passages: list[Passage] = []
    at = near
    for link in topology.route(near, far, family) or []:
        reached = link.other_end(at).node
        passages.append(Passage(link=link, near=at, far=reached))
        at = reached
    return passages


def _seen(topology: Topology, end: Tunnel, passages: Sequence[Passage]) -> list[Address]:
    """The address of a tunnel's end on each link of the way from there: behind a NAT, the NAT's."""
    seen, results = end.local, []
    for passage in passages:
        near_address = passage.link.end_of(passage.near).address(end.outer)
        if (
            end.mapped is not None
            and topology.nodes[passage.near].masquerade
            and near_address is not None
            and near_address.ip == end.mapped
        ):
            seen = end.mapped
        results.append(seen)
    return results


def _less(hop_limit: int | None, taken: Sequence[int | None]) -> int | None:
    known = [hops for hops in taken if hops is not None]
    return None if hop_limit is None or len(known) < len(taken) else hop_limit - sum(known)
