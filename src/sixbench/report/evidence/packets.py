"""Packets on the wire, link by link: the proof that trials took the path they claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache

from ...model.captured import IcmpHeader, IpHeader, KeptPacket, TransportHeader, vlan_id_of
from ...model.evidence.packets import Segment
from ...model.headers import in_vlan, stack_name
from ...model.json_object import JsonObject
from ...model.trial import TrialRecord
from .. import words
from .evidence_sum import EvidenceSum

_REMAINDERS = frozenset({"fragment-data", "unknown", "truncated", "malformed", "too-deep"})
"""Kinds of layers that are no header: what was not decoded."""


@dataclass(frozen=True, kw_only=True)
class PacketHeader:
    """A header of a captured packet.

    Attributes:
        bytes: None where the capture does not say.
        is_atomic: whether it is of an atomic fragment: a whole packet that has a Fragment header (RFC 6946).
    """

    name: str
    bytes: int | None
    is_atomic: bool = False


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A captured packet: its headers from the outermost, and the payload after the last."""

    layers: tuple[PacketHeader, ...]
    payload_bytes: int | None = None

    @cached_property
    def text(self) -> str:
        """Such as `Ethernet / IPv4 / IPv6 / TCP`."""
        return " / ".join(f"{layer.name} (atomic fragment)" if layer.is_atomic else layer.name for layer in self.layers)

    @property
    def header_bytes(self) -> int:
        """All headers whose size is known."""
        return sum(layer.bytes or 0 for layer in self.layers)

    @cached_property
    def total_bytes(self) -> int:
        """The frame, without preamble and check sequence."""
        return self.header_bytes + (self.payload_bytes or 0)


@dataclass(frozen=True, kw_only=True)
class LinkEvidence:
    """Packets of the trials of one path on one link.

    Attributes:
        node, interface: where it was looked at.
        claimed: the IP and tunnel headers that the path claims there, such as `ipv6 in ipv4`; several where trials
            claimed several.
        seen: packets by their headers, added up over trials, named as in `claimed`.
        outer: packets by their outermost addresses, such as `198.18.1.1 > 198.18.1.2`.
        errors: ICMP errors outside the tunnel, by type and code.
        captured, not_captured: packets that the captures took, and that they had no room for.
        max_ip_bytes: the largest IP packet.
        stacks: packets of the records by all their headers, most frequent first.
    """

    link: str
    node: str | None = None
    interface: str | None = None
    claimed: list[str] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    outer: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    captured: int = 0
    not_captured: int = 0
    max_ip_bytes: int | None = None
    stacks: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OnLinks:
    """A captured packet, and the links of the way on which packets have these headers."""

    links: tuple[str, ...]
    stack: Stack


class PacketSum(EvidenceSum):
    """Packets of the trials of a path on the wire.

    Attributes:
        families: packets on the link that tells most, by family as the records have it, such as `{"ipv4": 214}`;
            families with none are left out.
        packets: the largest packet of one trial with each of the stacks of the way, from client to server.
    """

    def __init__(self) -> None:
        """Nothing was seen so far."""
        self.families: dict[str, int] = {}
        self.packets: list[OnLinks] = []
        self._links: dict[str, _LinkSum] = {}
        self._middle: str | None = None
        self._most_bytes = -1

    def add(self, trial: TrialRecord) -> None:
        evidence = trial.evidence
        segments = evidence.segments or ()
        largest = []
        for segment in segments:
            stacks = _stacks(segment.packets)
            link = self._links.get(segment.link)
            if link is None:
                link = self._links[segment.link] = _LinkSum(segment)
            link.add(segment, stacks)
            stack = _largest(segment, stacks)
            if stack is not None:
                largest.append((segment.link, stack))
        if self._middle is None and segments:
            index = evidence.middle or 0
            self._middle = segments[index if index < len(segments) else 0].link
        _add(self.families, evidence.families or {})
        most_bytes = max((stack.total_bytes for _, stack in largest), default=-1)
        if most_bytes > self._most_bytes:
            self._most_bytes = most_bytes
            self.packets = _packets(largest)

    @cached_property
    def links(self) -> list[LinkEvidence]:
        """The links of the way, from client to server. To be asked for once all trials were added."""
        return [link.total(name) for name, link in self._links.items()]

    @property
    def middle(self) -> LinkEvidence | None:
        """The link that tells most."""
        return next((link for link in self.links if link.link == self._middle), None)

    def to_json(self) -> JsonObject:
        return {
            "links": [asdict(link) for link in self.links],
            "middle": None if self.middle is None else self.middle.link,
            "families": self.families,
            "packets": [{"links": packet.links, **asdict(packet.stack)} for packet in self.packets],
        }


class _LinkSum:
    """The packets on a link, added up."""

    def __init__(self, first: Segment) -> None:
        self.node, self.interface = first.node, first.interface
        self.claimed: dict[str, None] = {}
        self.seen: dict[str, int] = {}
        self.outer: dict[str, int] = {}
        self.errors: dict[str, int] = {}
        self.stacks: dict[str, int] = {}
        self.captured = self.not_captured = 0
        self.max_ip_bytes: int | None = None

    def add(self, segment: Segment, stacks: _Stacks) -> None:
        """`stacks`: those of the segment's packets."""
        if segment.claimed is not None:
            self.claimed.setdefault(segment.claimed)
        _add(self.seen, segment.stacks)
        _add(self.outer, segment.outer)
        _add(self.errors, segment.errors)
        for _, stack in stacks:
            self.stacks[stack.text] = self.stacks.get(stack.text, 0) + 1
        self.captured += segment.captured_packets or 0
        self.not_captured += segment.capture_dropped or 0
        if segment.max_ip_bytes is not None:
            self.max_ip_bytes = max(segment.max_ip_bytes, self.max_ip_bytes or 0)

    def total(self, name: str) -> LinkEvidence:
        return LinkEvidence(
            link=name,
            node=self.node,
            interface=self.interface,
            claimed=list(self.claimed),
            seen=self.seen,
            outer=self.outer,
            errors=self.errors,
            captured=self.captured,
            not_captured=self.not_captured,
            max_ip_bytes=self.max_ip_bytes,
            stacks=dict(sorted(self.stacks.items(), key=lambda item: -item[1])),
        )


_Stacks = Sequence[tuple[str, Stack]]
"""Packets, each with the name of its headers, as a path claims them, and its stack."""


def _packets(largest: Iterable[tuple[str, Stack]]) -> list[OnLinks]:
    """The largest packet of a trial with each stack of the way, of the largest on each link."""
    results: dict[str, OnLinks] = {}
    for link, stack in largest:
        known = results.get(stack.text)
        links = (*(known.links if known else ()), link)
        larger = known.stack if known and known.stack.total_bytes >= stack.total_bytes else stack
        results[stack.text] = OnLinks(links=links, stack=larger)
    return list(results.values())


def _largest(segment: Segment, stacks: _Stacks) -> Stack | None:
    """The largest packet of a link that is what the path claims there; of all its packets where none is."""
    claimed = [stack for name, stack in stacks if name == segment.claimed]
    return max(claimed or [stack for _, stack in stacks], key=lambda stack: stack.total_bytes, default=None)


def _stacks(packets: Iterable[KeptPacket]) -> _Stacks:
    """Packets with their headers, without those of which no header was decoded."""
    pairs = []
    for packet in packets:
        shape = tuple(
            [
                (
                    layer.kind,
                    layer.bytes,
                    isinstance(layer, IpHeader) and layer.fragment is not None and layer.fragment.is_atomic,
                )
                for layer in packet.layers
            ]
        )
        headers = _headers(shape)
        if headers.layers:
            last = packet.layers[-1]
            payload_bytes = last.payload_bytes if isinstance(last, TransportHeader | IcmpHeader) else None
            if headers.bytes is not None:
                # A header gives the payload of the whole datagram, and this packet may be a fragment of it.
                payload_bytes = max(0, packet.wire_bytes - headers.bytes)
            pairs.append((in_vlan(headers.name, vlan_id_of(packet.layers)), _stack(shape, payload_bytes)))
    return pairs


_Shape = tuple[tuple[str, int | None, bool], ...]
"""The kind of each layer of a packet, its size, and whether it is of an atomic fragment. The packets of a run have few
shapes."""


@dataclass(frozen=True, kw_only=True)
class _Headers:
    """The headers of all packets of a shape.

    Attributes:
        name: of those that tell paths apart.
        bytes: the size of all of them; None where one is not known.
    """

    layers: tuple[PacketHeader, ...]
    name: str
    bytes: int | None


@lru_cache(maxsize=4096)
def _headers(shape: _Shape) -> _Headers:
    layers = tuple(
        PacketHeader(name=words.protocol(kind), bytes=size_bytes, is_atomic=is_atomic)
        for kind, size_bytes, is_atomic in shape
        if kind not in _REMAINDERS
    )
    sizes = [layer.bytes for layer in layers]
    return _Headers(
        layers=layers,
        name=stack_name(kind for kind, _, _ in shape),
        bytes=None if None in sizes else sum(size or 0 for size in sizes),
    )


@lru_cache(maxsize=4096)
def _stack(shape: _Shape, payload_bytes: int | None) -> Stack:
    """A stack once, however many packets have it."""
    return Stack(layers=_headers(shape).layers, payload_bytes=payload_bytes)


def _add(total: dict[str, int], counts: Mapping[str, int]) -> None:
    for name, packets in counts.items():
        if packets:
            total[name] = total.get(name, 0) + packets
