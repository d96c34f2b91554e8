"""What a datagram becomes on each link of a path.

That is its fragments there, their bytes on the wire, the nodes that cut them and the nodes that put them together. It
is also the number of datagrams that path MTU discovery costs until they arrive.

Packets are followed through the network as Linux treats them. The pieces of each packet go on their own, into tunnels
and out of them. The packet of a tunnel is also a packet of its carrier. The entry sends it, and the exit reassembles
it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..model.headers import HEADERS, UDP
from ..model.network import Network, Segment
from ..model.topology import Family, Link
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
from .treatment import Treatment, treatments

Known = Mapping[tuple[str, str], int]
"""The path MTU from one node to another that the first has learned, by their names."""

MAX_ATTEMPTS = 1000


class NotPredicted(ValueError):
    """It is not known what happens to a packet at this point."""


def predict(
    network: Network,
    between: tuple[str, str],
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
    attempts = settle(network, between, datagram_bytes + UDP.size_bytes, policy, engine, known)
    return Prediction(datagram_bytes=datagram_bytes, policy=policy, attempts=tuple(attempts))


def settle(
    network: Network,
    between: tuple[str, str],
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
        attempt = packet(network, between, payload_bytes, policy, engine, knowledge)
        attempts.append(attempt)
        news = {who: mtu_bytes for who, mtu_bytes in attempt.told.items() if knowledge.get(who) != mtu_bytes}
        if attempt.outcome == "delivered" or not news or len(attempts) >= MAX_ATTEMPTS:
            return attempts
        knowledge.update(news)


def packet(
    network: Network,
    between: tuple[str, str],
    payload_bytes: int,
    policy: Policy,
    engine: str | None = None,
    known: Known | None = None,
) -> Attempt:
    """Predicts what becomes of one IP packet with that payload, transport header included. Arguments and errors are
    those of `predict`."""
    client, server = between
    family = network.ends.family
    way = network.topology.route(client, server, family)
    if policy == "atomic" and family == 4:
        raise ValueError("only IPv6 has atomic fragments (RFC 6946), and the hosts speak IPv4 on this path")
    if not way:
        raise ValueError(f'no route leads from "{client}" to "{server}" over IPv{family}')
    walk = _Walk(network, engine, known or {})
    segments = network.segments(client, server)
    walk.sizes_bytes = [[] for _ in segments]
    source_policy = _with_settings(policy, family, network, client)
    try:
        pieces = walk.sent(client, server, family, way, payload_bytes, source_policy)
    except TooLong as error:
        walk.reasons.append(f"{client} does not send it: {error}")
        return walk.attempt("refused", segments)
    arrived = walk.cross(pieces, client, server, family, way, start=0)
    return walk.attempt("delivered" if walk.delivered(arrived, server, family) else "lost", segments)


class _Walk:
    """Follows one packet on its way and notes what happens."""

    def __init__(self, network: Network, engine: str | None, known: Known) -> None:
        self._network = network
        self._topology = network.topology
        self._engine = engine
        self._known = known
        self._treatments = treatments(network)
        self._work: dict[tuple[str, Family], Work] = {}
        self._told: dict[tuple[str, str], int] = {}
        self.reasons: list[str] = []
        self.sizes_bytes: list[list[int]] = []

    def attempt(self, outcome: Outcome, segments: list[Segment]) -> Attempt:
        """The attempt, with what was noted on the way."""
        loads = zip(segments, self.sizes_bytes, strict=True)
        return Attempt(
            outcome=outcome,
            loads=tuple(LinkLoad(segment=segment, sizes_bytes=tuple(sizes)) for segment, sizes in loads),
            work=self._work,
            reasons=tuple(dict.fromkeys(self.reasons)),
            told=self._told,
        )

    def sent(
        self, source: str, destination: str, family: Family, way: list[Link], payload_bytes: int, policy: Policy
    ) -> list[Piece]:
        """A packet as it leaves its source. Raises `TooLong` where the source refuses."""
        known_bytes = self._known.get((source, destination))
        pieces = originate(payload_bytes, family, policy, way[0].mtu_bytes, known_bytes)
        if len(pieces) > 1:
            self._cut(source, family, len(pieces))
        return pieces

    def cross(
        self, pieces: list[Piece], source: str, destination: str, family: Family, way: list[Link], start: int
    ) -> list[Piece]:
        """The pieces that arrive at the other end.

        Args:
            start: which segment is the way's first.
        """
        at, segment = source, start
        for index, link in enumerate(way):
            if index:
                pieces = self._forwarded(pieces, at, source, destination, family, link)
            reached = link.other_end(at).node
            if link.is_tunnel:
                pieces, segment = self._tunnelled(pieces, at, reached, source, destination, family, link, segment)
            else:
                self.sizes_bytes[segment] += [piece.size_bytes(family) for piece in pieces]
                segment += 1
            pieces = self._kept(pieces, reached)
            at = reached
        return pieces

    def delivered(self, pieces: list[Piece], node: str, family: Family) -> bool:
        """Whether the packet is whole at its destination."""
        return self._collected(pieces, node, family, tracked=False) is not None

    def _forwarded(
        self, pieces: list[Piece], node: str, source: str, destination: str, family: Family, link: Link
    ) -> list[Piece]:
        if family in self._treatment(node).reassembles and any(piece.is_marked for piece in pieces):
            whole = self._collected(pieces, node, family, tracked=True)
            if whole is None:
                return []
            try:
                passed = forward_reassembled(whole, family, link.mtu_bytes)
            except TooLong as error:
                self._refused(node, source, destination, family, link, error)
                return []
            if any(piece.is_fragment for piece in passed):
                self._cut(node, family, len(passed))
            return passed
        passed = []
        for piece in pieces:
            try:
                parts = forward(piece, family, link.mtu_bytes)
            except TooLong as error:
                self._refused(node, source, destination, family, link, error)
                continue
            if len(parts) > 1:
                self._cut(node, family, len(parts))
            passed += parts
        return passed

    def _tunnelled(
        self,
        pieces: list[Piece],
        entry: str,
        leaving: str,
        source: str,
        destination: str,
        family: Family,
        link: Link,
        segment: int,
    ) -> tuple[list[Piece], int]:
        """The pieces that come out of a tunnel, and the segment behind it."""
        way = self._topology.route(entry, leaving, link.carrier) or []
        more_bytes = sum(HEADERS[name].size_bytes for name in link.headers[1:])
        policy: Policy = "set" if self._is_dynamic(entry, link) else "clear"
        through = []
        for piece in pieces:
            payload_bytes = piece.size_bytes(family) + more_bytes
            self._check_engine(piece, entry, link, payload_bytes, way)
            try:
                outer = self.sent(entry, leaving, link.carrier, way, payload_bytes, policy)
            except TooLong as error:
                raise NotPredicted(
                    f"what {entry} tells the sources of packets that do not fit its tunnel {link.end_of(entry).name}: "
                    f"{error}"
                ) from error
            arrived = self.cross(outer, entry, leaving, link.carrier, way, segment)
            if self.delivered(arrived, leaving, link.carrier):
                through.append(piece)
        return through, segment + self._width(entry, way)

    def _width(self, node: str, way: list[Link]) -> int:
        """How many segments a way has."""
        count = 0
        for link in way:
            reached = link.other_end(node).node
            below = self._topology.route(node, reached, link.carrier) or [] if link.is_tunnel else None
            count += 1 if below is None else self._width(node, below)
            node = reached
        return count

    def _is_dynamic(self, entry: str, link: Link) -> bool:
        device = link.end_of(entry).name
        return any(
            tunnel.pmtu == "dynamic"
            for tunnel in self._network.tunnels
            if (tunnel.node, tunnel.device) == (entry, device)
        )

    def _check_engine(self, piece: Piece, entry: str, link: Link, payload_bytes: int, way: list[Link]) -> None:
        """Raises `NotPredicted` for a packet that does not fit the carrier of one of Linux's own tunnels. Tunnels over
        IPv6 do not send it, nor do tunnels over IPv4 if the packet has DF. They tell its source of an MTU of the
        carrier."""
        if self._engine != "kernel" or "ethernet" in link.headers:
            return
        size_bytes = header_of(link.carrier).size_bytes + payload_bytes
        fits = size_bytes <= min(below.mtu_bytes for below in way)
        if not fits and (link.carrier == 6 or piece.is_df):
            raise NotPredicted(f"what the kernel's tunnel at {entry} does with packets that do not fit its carrier")

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

    def _refused(self, node: str, source: str, destination: str, family: Family, link: Link, error: TooLong) -> None:
        """Notes that a packet does not fit. Its source is told, unless a filter is in the way."""
        self._work_of(node, family).too_long += 1
        self.reasons.append(f"at {node}, {link.name} takes no more than {error.mtu_bytes} bytes")
        if error.mtu_bytes is None:
            return
        for passed in self._back(node, source, family):
            if self._treatment(passed).is_silent:
                self.reasons.append(f"{passed} lets no ICMP errors through")
                return
        known_bytes = self._told.get((source, destination), self._known.get((source, destination)))
        self._told[source, destination] = learned(known_bytes, error.mtu_bytes, family)

    def _back(self, node: str, source: str, family: Family) -> Collection[str]:
        """The nodes that an error passes on its way to a source, beginning with its origin."""
        found = [node]
        for link in self._topology.route(node, source, family) or []:
            found.append(link.other_end(found[-1]).node)
        return found[:-1]

    def _treatment(self, node: str) -> Treatment:
        return self._treatments.get(node, Treatment())

    def _work_of(self, node: str, family: Family) -> Work:
        return self._work.setdefault((node, family), Work())


def _with_settings(policy: Policy, family: Family, network: Network, client: str) -> Policy:
    """Linux's default depends on a setting."""
    setting = network.topology.nodes[client].sysctl.get("net.ipv4.ip_no_pmtu_disc", "0")
    return "clear" if policy == "kernel" and family == 4 and setting != "0" else policy
