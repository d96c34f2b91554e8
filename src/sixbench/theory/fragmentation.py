"""The packets that a datagram becomes on each link of a path.

That is its fragments there, their bytes on the wire, the nodes that cut them and the nodes that put them together. It
is also the number of datagrams that path MTU discovery costs until they arrive.

Packets are followed through the network as Linux treats them. The pieces of each packet go on their own, into tunnels
and out of them. The packet of a tunnel is also a packet of its carrier. The entry sends it, and the exit reassembles
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ..model.headers import HEADERS, UDP
from ..model.leg import Crossing, Passage
from ..model.network import Network
from ..model.topology import Family
from .pieces import (
    Piece,
    Policy,
    TooLong,
    forward,
    forward_reassembled,
    header_of,
    is_complete,
    learned,
    originate,
)
from .prediction import Attempt, LinkLoad, Outcome, Prediction, Work
from .translation import translate
from .treatment import Treatment, treatments

Known = Mapping[tuple[str, str], int]
"""The path MTU from one node to another that the first has learned, by their names."""

MAX_ATTEMPTS = 1000


class NotPredicted(ValueError):
    """It is not known what happens to a packet at this point."""


def predict(
    network: Network,
    datagram_bytes: int,
    policy: Policy = "clear",
    engine: str | None = None,
    known: Known | None = None,
) -> Prediction:
    """Predicts what becomes of datagrams of one size from client to server.

    Args:
        engine: the engine of the network's tunnels. None: one that follows RFC 4213, as the agent's engines do.
        known: path MTUs that are known beforehand.

    Raises:
        NotPredicted: it is not known what would happen.
        ValueError: there is no route, or the policy is for IPv6 only and the path carries IPv4.
    """
    attempts = settle(network, datagram_bytes + UDP.size_bytes, policy, engine, known)
    return Prediction(datagram_bytes=datagram_bytes, policy=policy, attempts=tuple(attempts))


def settle(
    network: Network,
    payload_bytes: int,
    policy: Policy,
    engine: str | None = None,
    known: Known | None = None,
) -> list[Attempt]:
    """Predicts what becomes of equal IP packets, one after the other, until one arrives or nothing more is learned.
    Arguments and errors are those of `predict`. `payload_bytes` is the payload of IP, with the transport header."""
    knowledge = dict(known or {})
    attempts: list[Attempt] = []
    while True:
        attempt = packet(network, payload_bytes, policy, engine, knowledge)
        attempts.append(attempt)
        news = {who: mtu_bytes for who, mtu_bytes in attempt.learned_mtus.items() if knowledge.get(who) != mtu_bytes}
        if attempt.outcome == "delivered" or not news or len(attempts) >= MAX_ATTEMPTS:
            return attempts
        knowledge.update(news)


def packet(
    network: Network,
    payload_bytes: int,
    policy: Policy,
    engine: str | None = None,
    known: Known | None = None,
) -> Attempt:
    """Predicts what becomes of one IP packet with that payload, transport header included. Arguments and errors are
    those of `predict`."""
    client, server = network.between
    family, crossings = network.family, network.crossings
    if network.relays and len(network.parts) > 1:
        node = network.parts[1].legs[0].near
        raise NotPredicted(f"the fate of datagrams behind {node}, which sends others with the same content")
    if policy == "atomic" and family == 4:
        raise ValueError("only IPv6 has atomic fragments (RFC 6946), and the hosts speak IPv4 on this path")
    if not crossings:
        raise ValueError(f'no route leads from "{client}" to "{server}" over IPv{family}')
    walk = _Walk(network, engine, known or {})
    source_policy = _with_settings(policy, family, network, client)
    numbered = list(enumerate(crossings))
    ends = _Ends(source=client, destination=server, family=family)
    try:
        pieces = walk.sent(ends, numbered, 0, payload_bytes, source_policy)
    except TooLong as error:
        walk.reasons.append(f"{client} does not send it: {error}")
        return walk.attempt("refused")
    arrived = walk.cross(pieces, ends, numbered)
    return walk.attempt("delivered" if walk.delivered(arrived, server, network.legs[-1].family) else "lost")


_NumberedCrossings = Sequence[tuple[int, Crossing]]
"""Wires with their numbers, from client to server."""


@dataclass(frozen=True, kw_only=True)
class _Ends:
    """The nodes between which a packet goes, and its family at the first of them."""

    source: str
    destination: str
    family: Family


def _passages(numbered: _NumberedCrossings, depth: int) -> Iterator[tuple[Passage, _NumberedCrossings]]:
    """The links over which packets inside so many tunnels go as they are, each with its wires: those of its carrier
    where it is a tunnel."""

    def passage(wire: tuple[int, Crossing]) -> Passage:
        crossing = wire[1]
        if len(crossing.tunnels) > depth:
            return crossing.tunnels[-1 - depth]
        return Passage(link=crossing.link, near=crossing.near, far=crossing.far)

    return ((result, list(wires)) for result, wires in groupby(numbered, key=passage))


class _Walk:
    """Follows one packet on its way and notes what happens."""

    def __init__(self, network: Network, engine: str | None, known: Known) -> None:
        self._network = network
        self._engine = engine
        self._known = known
        self._treatments = treatments(network)
        self._work: dict[tuple[str, Family], Work] = {}
        self._learned_mtus: dict[tuple[str, str], int] = {}
        self.reasons: list[str] = []
        self._sizes_bytes: list[list[int]] = [[] for _ in network.crossings]

    def attempt(self, outcome: Outcome) -> Attempt:
        """The attempt, with what was noted on the way."""
        loads = zip(self._network.crossings, self._sizes_bytes, strict=True)
        return Attempt(
            outcome=outcome,
            loads=tuple(LinkLoad(crossing=crossing, sizes_bytes=tuple(sizes)) for crossing, sizes in loads),
            work=self._work,
            reasons=tuple(dict.fromkeys(self.reasons)),
            learned_mtus=self._learned_mtus,
        )

    def sent(
        self, ends: _Ends, numbered: _NumberedCrossings, depth: int, payload_bytes: int, policy: Policy
    ) -> list[Piece]:
        """A packet as it leaves its source. Raises `TooLong` where the source refuses."""
        first, _ = next(_passages(numbered, depth))
        known_bytes = self._known.get((ends.source, ends.destination))
        pieces = originate(payload_bytes, ends.family, policy, first.link.mtu_bytes, known_bytes)
        if len(pieces) > 1:
            self._cut(ends.source, ends.family, len(pieces))
        return pieces

    def cross(self, pieces: list[Piece], ends: _Ends, numbered: _NumberedCrossings, depth: int = 0) -> list[Piece]:
        """The pieces that arrive at the other end. `depth`: how many tunnels they are in."""
        passed: list[str] = []
        family = ends.family
        for passage, wires in _passages(numbered, depth):
            following = wires[0][1].leg.family if depth == 0 else family
            if following != family:
                pieces = self._translated(pieces, [*passed, passage.near], ends, following)
                family = following
            if passage.near != ends.source:
                passed.append(passage.near)
                pieces = self._forwarded(pieces, passed, ends, family, passage)
            if passage.link.is_tunnel:
                pieces = self._tunnelled(pieces, passage, family, wires, depth + 1)
            else:
                [(number, _)] = wires
                self._sizes_bytes[number] += [piece.size_bytes(family) for piece in pieces]
            pieces = self._kept(pieces, passage.far)
        return pieces

    def delivered(self, pieces: list[Piece], node: str, family: Family) -> bool:
        """True if the packet is whole at its destination."""
        return self._collected(pieces, node, family, tracked=False) is not None

    def _forwarded(
        self, pieces: list[Piece], passed: Sequence[str], ends: _Ends, family: Family, onto: Passage
    ) -> list[Piece]:
        """The pieces that the last of the nodes `passed` sends on."""
        node, mtu_bytes = onto.near, onto.link.mtu_bytes
        if family in self._treatment(node).reassembles and any(piece.is_marked for piece in pieces):
            whole = self._collected(pieces, node, family, tracked=True)
            if whole is None:
                return []
            try:
                sent = forward_reassembled(whole, family, mtu_bytes)
            except TooLong as error:
                self._refused(passed, ends, family, onto, error)
                return []
            if any(piece.is_fragment for piece in sent):
                self._cut(node, family, len(sent))
            return sent
        sent = []
        for piece in pieces:
            try:
                parts = forward(piece, family, mtu_bytes)
            except TooLong as error:
                self._refused(passed, ends, family, onto, error)
                continue
            if len(parts) > 1:
                self._cut(node, family, len(parts))
            sent += parts
        return sent

    def _translated(self, pieces: list[Piece], passed: Sequence[str], ends: _Ends, to: Family) -> list[Piece]:
        """The pieces that the last of the nodes `passed` has translated to another family."""
        node = passed[-1]
        device = next((device for device in self._network.translators if device.node == node), None)
        if device is None or device.mapping["kind"] != "siit":
            raise NotPredicted(
                f"the packets behind {node}, which translates them to another family by another rule than SIIT"
            )
        through: list[Piece] = []
        for piece in pieces:
            try:
                through += translate(piece, device, to)
            except TooLong as error:
                self.reasons.append(f"the translator of {node} takes no more: {error}")
                self._tell(passed, ends, 6 if to == 4 else 4, error)
        return through

    def _tunnelled(
        self, pieces: list[Piece], tunnel: Passage, family: Family, numbered: _NumberedCrossings, depth: int
    ) -> list[Piece]:
        """The pieces that come out of a tunnel, whose wires are `numbered`."""
        link, entry = tunnel.link, tunnel.near
        ends = _Ends(source=entry, destination=tunnel.far, family=link.carrier)
        more_bytes = sum(HEADERS[name].size_bytes for name in link.headers[1:])
        policy: Policy = "set" if self._is_dynamic(tunnel) else "clear"
        through = []
        for piece in pieces:
            payload_bytes = piece.size_bytes(family) + more_bytes
            self._check_engine(piece, tunnel, payload_bytes, numbered, depth)
            try:
                outer = self.sent(ends, numbered, depth, payload_bytes, policy)
            except TooLong as error:
                raise NotPredicted(
                    f"the errors of {entry} about packets that do not fit its tunnel {link.end_of(entry).name}: {error}"
                ) from error
            arrived = self.cross(outer, ends, numbered, depth)
            if self.delivered(arrived, tunnel.far, link.carrier):
                through.append(piece)
        return through

    def _is_dynamic(self, passage: Passage) -> bool:
        device = passage.link.end_of(passage.near).name
        return any(
            tunnel.pmtu == "dynamic"
            for tunnel in self._network.tunnels
            if (tunnel.node, tunnel.device) == (passage.near, device)
        )

    def _check_engine(
        self, piece: Piece, tunnel: Passage, payload_bytes: int, numbered: _NumberedCrossings, depth: int
    ) -> None:
        """Raises `NotPredicted` for a packet that does not fit the carrier of one of Linux's own tunnels. Tunnels over
        IPv6 do not send it, nor do tunnels over IPv4 if the packet has DF. They tell its source of an MTU of the
        carrier."""
        if self._engine != "kernel" or "ethernet" in tunnel.link.headers:
            return
        carrier = tunnel.link.carrier
        size_bytes = header_of(carrier).size_bytes + payload_bytes
        fits = size_bytes <= min(below.link.mtu_bytes for below, _ in _passages(numbered, depth))
        if not fits and (carrier == 6 or piece.is_df):
            raise NotPredicted(
                f"the fate of packets that do not fit the carrier of the kernel's tunnel at {tunnel.near}"
            )

    def _kept(self, pieces: list[Piece], node: str) -> list[Piece]:
        """The pieces that a node does not drop."""
        treatment = self._treatment(node)
        kept = [piece for piece in pieces if not treatment.drops_piece(piece)]
        if len(kept) < len(pieces):
            self.reasons.append(f"{node} drops {treatment.drops.replace('-', ' ')}")
        return kept

    def _collected(self, pieces: list[Piece], node: str, family: Family, *, tracked: bool) -> list[Piece] | None:
        """The whole packet, if all of its pieces are there."""
        if not any(piece.is_marked for piece in pieces):
            return pieces or None
        work = self._work_of(node, family)
        work.collected += len(pieces)
        work.tracked = tracked
        if not is_complete(pieces):
            self.reasons.append(f"{node} does not get all fragments")
            return None
        work.reassembled += 1
        return pieces

    def _cut(self, node: str, family: Family, count: int) -> None:
        work = self._work_of(node, family)
        work.cut += 1
        work.created += count

    def _refused(self, passed: Sequence[str], ends: _Ends, family: Family, onto: Passage, error: TooLong) -> None:
        """Notes that a packet does not fit, and tells its source."""
        self._work_of(onto.near, family).too_long += 1
        self.reasons.append(f"at {onto.near}, {onto.link.name} takes no more than {error.mtu_bytes} bytes")
        self._tell(passed, ends, family, error)

    def _tell(self, passed: Sequence[str], ends: _Ends, family: Family, error: TooLong) -> None:
        """Tells the source of a packet which size would fit, unless a filter is in the way: the error passes the nodes
        that the packet has passed. On its way back it is translated as the packet was (RFC 7915 sections 4.2, 5.2)."""
        if error.mtu_bytes is None:
            return
        for node in reversed(passed):
            if self._treatment(node).is_silent:
                self.reasons.append(f"{node} lets no ICMP errors through")
                return
        between = ends.source, ends.destination
        known_bytes = self._learned_mtus.get(between, self._known.get(between))
        told_bytes = error.mtu_bytes + header_of(ends.family).size_bytes - header_of(family).size_bytes
        self._learned_mtus[between] = learned(known_bytes, told_bytes, ends.family)

    def _treatment(self, node: str) -> Treatment:
        return self._treatments.get(node, Treatment())

    def _work_of(self, node: str, family: Family) -> Work:
        return self._work.setdefault((node, family), Work())


def _with_settings(policy: Policy, family: Family, network: Network, client: str) -> Policy:
    """Linux's default depends on a setting."""
    setting = network.topology.nodes[client].sysctl.get("net.ipv4.ip_no_pmtu_disc", "0")
    return "clear" if policy == "kernel" and family == 4 and setting != "0" else policy
