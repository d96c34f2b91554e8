"""What proves that a trial took its path: the evidence that a record keeps.

`run.proof` builds it, records keep it as JSON, and reports read it. A part that is None was not looked at, or the trial
has none of it. The JSON lacks what is None. Keys of later versions are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from .captured import KeptPacket
from .form import MAX_ITEMS, Counts, Flag, Kept, Name, Natural, Number, Text, Whole, words_of
from .topology import Family

Changes = dict[Name, Whole]
"""By how much counters rose, by name."""

Bounds = tuple[Whole, Whole]
"""The least and the most that something can be."""

Range = tuple[Natural, Natural]
"""Sequence numbers, both ends included."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment(Kept):
    """What was seen on a link of the way. Counts are of packets.

    Attributes:
        node, interface: where it was looked at.
        claimed: the headers that the path claims there.
        stacks: by their headers (`model.headers.stack_name`).
        outer: by their outermost addresses, such as `198.18.1.1 > 198.18.1.2`.
        other_addresses, other_hop_limits: those that have the path's headers, and other addresses or hop limits in
            them than the path, by the first of these. None: they were not compared.
        errors: of ICMP outside the tunnel, by type and code.
        leftovers: those of earlier trials, by their headers.
        atomic_fragments: those that have a Fragment header and are whole.
        captured_packets, capture_dropped: those that the capture took, and that it had no room for.
        max_ip_bytes: the length of the largest.
        packets: the largest ones.
    """

    link: Name
    node: Name | None = None
    interface: Name | None = None
    claimed: Name | None = None
    stacks: Counts = field(default_factory=dict)
    outer: Counts = field(default_factory=dict)
    other_addresses: Counts | None = None
    other_hop_limits: Counts | None = None
    errors: Counts = field(default_factory=dict)
    leftovers: Counts = field(default_factory=dict)
    atomic_fragments: Natural | None = None
    captured_packets: Natural | None = None
    capture_dropped: Natural | None = None
    max_ip_bytes: Natural | None = None
    packets: Annotated[tuple[KeptPacket, ...], Field(max_length=1000)] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeCounters(Kept):
    """By how much the counters of a node rose, without those that did not change.

    Attributes:
        interfaces: by interface.
        snmp: by group, named as in `/proc/net/snmp`.
    """

    interfaces: dict[Name, Changes] = field(default_factory=dict)
    snmp: dict[Name, Changes] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class FragmentLink(Kept):
    """What theory expects on a link of datagrams that may be fragmented, and what crossed it.

    Attributes:
        packets, sizes_bytes, wire_bytes: what one datagram is there once all path MTUs are known.
        expected_packets, expected_bytes: the least and the most that all datagrams are, bytes with Ethernet headers.
        counted_packets, counted_bytes: what crossed it. None: its counters are not known.
        agrees: whether that is what theory expects. Packets that keep a link going may be there besides, and what was
            lost may have been lost before it.
    """

    link: Name
    sizes_bytes: Annotated[tuple[Natural, ...], Field(max_length=MAX_ITEMS)]
    expected_packets: Bounds
    expected_bytes: Bounds
    packets: Natural | None = None
    wire_bytes: Natural | None = None
    counted_packets: Whole | None = None
    counted_bytes: Whole | None = None
    agrees: Flag | None = None

    def __post_init__(self) -> None:
        counted = (self.counted_packets, self.counted_bytes, self.agrees)
        if None in counted and counted != (None, None, None):
            raise ValueError("what crossed the link lacks its packets, its bytes, or whether they agree")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fragments(Kept):
    """The fragments that nodes counted, and what theory says of them (`run.proof.fragments`).

    Attributes:
        nodes: by node, then by family (`ipv4`, `ipv6`): what was `cut` into fragments, the fragments `created`, what
            was `too_long` to pass on, the fragments `collected`, the packets `reassembled` of them, what `failed` to
            be, all packets `forwarded`, and the errors about packets that are too big, `errors_sent` and
            `errors_received`. What is zero is left out.
        datagrams, delivered: those that were sent, and that arrived.
        not_predicted: why theory says nothing.
        known: whether the client had learned the path MTU before the trial.
        lost_first: the datagrams that theory expects to be lost while path MTUs are being learned.
        expected: the least and the most that theory expects, by node, family and name as in `nodes`.
        agrees: whether nodes and links counted what theory expects.
    """

    nodes: dict[Name, dict[Name, Changes]] | None = None
    datagrams: Natural | None = None
    delivered: Natural | None = None
    not_predicted: Text | None = None
    known: Flag | None = None
    lost_first: Natural | None = None
    links: tuple[FragmentLink, ...] | None = None
    expected: dict[Name, dict[Name, dict[Name, Bounds]]] | None = None
    agrees: Flag | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary(Kept):
    """A histogram without its buckets. One of no values has the count alone.

    Attributes:
        unit: that of all values, such as `ns`.
    """

    count: Natural | None = None
    unit: Name | None = None
    min: Natural | None = None
    max: Natural | None = None
    mean: Number | None = None
    stdev: Number | None = None
    p50: Natural | None = None
    p90: Natural | None = None
    p99: Natural | None = None
    p999: Natural | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EmulatedWay(Kept):
    """What an emulator of ours did in one direction of a link. docs/protocol.md says what it counts. The histograms are
    of nanoseconds."""

    packets: Natural | None = None
    control_packets: Natural | None = None
    lost: Natural | None = None
    duplicated: Natural | None = None
    corrupted: Natural | None = None
    overtaking: Natural | None = None
    late: Natural | None = None
    late_given_up: Natural | None = None
    no_room: Natural | None = None
    send_errors: Natural | None = None
    socket_drops: Natural | None = None
    user_timestamps: Natural | None = None
    delay: Summary | None = None
    lateness: Summary | None = None
    ipdv: Summary | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EmulatedLink(Kept):
    """A link with a known truth.

    Attributes:
        emulator: `netem` or `user`, which is ours.
        settings: what netem was asked for, by direction.
        forward, reverse: what ours did.
    """

    emulator: Name
    settings: dict[Name, Text] | None = None
    forward: EmulatedWay | None = None
    reverse: EmulatedWay | None = None

    def way(self, name: str) -> EmulatedWay:
        """What was done in a direction of `model.emulation.WAYS`. Nothing is known of it where the emulator is not
        ours."""
        return {"forward": self.forward, "reverse": self.reverse}[name] or EmulatedWay()


@dataclass(frozen=True, kw_only=True, slots=True)
class LinkEvent(Kept):
    """A change of a link in the middle of the trial.

    Attributes:
        due_ns, done_ns: after the trial's start.
        mtu_bytes: the new MTU, where that changed.
        forward, reverse: the properties of the direction that changed (`model.topology.Direction`), with new values.
        failed: what went wrong.
    """

    link: Name
    due_ns: Natural
    done_ns: Natural
    mtu_bytes: Natural | None = None
    forward: dict[Name, Any] | None = None
    reverse: dict[Name, Any] | None = None
    failed: Text | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Count(Kept):
    """By how much packets and their bytes rose."""

    packets: Whole
    bytes: Whole

    def __add__(self, other: Count) -> Count:
        return Count(packets=self.packets + other.packets, bytes=self.bytes + other.bytes)


@dataclass(frozen=True, kw_only=True, slots=True)
class TunnelCounters(Kept):
    """What one end of a tunnel did.

    Attributes:
        encapsulated, decapsulated: by the fast path.
        slow_encapsulated, slow_decapsulated: by the slow path. None: the engine has none (`kernel`).
        slow: why packets were given to the slow path, without reasons for which none was.
        drops: by reason, without those of which there were none.
    """

    encapsulated: Count
    decapsulated: Count
    slow_encapsulated: Count | None = None
    slow_decapsulated: Count | None = None
    slow: dict[Name, Count] | None = None
    drops: dict[Name, Count] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslatorCounters(Kept):
    """What a translator did, in packets as they came to it.

    Attributes:
        to_ipv6, to_ipv4: those that it translated.
        slow: of these, those that user space translated, by the clause that decided.
        answered: those whose source was told of an error instead, by clause.
        drops: by clause.
    """

    to_ipv6: Count
    to_ipv4: Count
    slow: dict[Name, Count] = field(default_factory=dict)
    answered: dict[Name, Count] = field(default_factory=dict)
    drops: dict[Name, Count] = field(default_factory=dict)

    def to(self, family: Family) -> Count:
        """Those that it translated to a family."""
        return self.to_ipv6 if family == 6 else self.to_ipv4


@dataclass(frozen=True, kw_only=True, slots=True)
class DiscoveredPrefix(Kept):
    """The prefix of its NAT64 that a CLAT learned, and translates by.

    Attributes:
        by: `ra` (RFC 8781) or `dns64` (RFC 7050).
        source: the address that told it.
        asked: how many solicitations or questions it took.
        took_ns: how long.
        others: the prefixes that were told besides.
    """

    prefix: Name
    by: Name
    source: Name
    asked: Natural
    took_ns: Natural
    others: Annotated[tuple[Name, ...], Field(max_length=MAX_ITEMS)] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RelayCounters(Kept):
    """What a relay did (`run.proof.relays`).

    Attributes:
        connections: pairs of connections that it made.
        pairs: pairs of hosts and ports between which it passed datagrams on.
        bytes_to_ipv6, bytes_to_ipv4: payload that it passed on.
        datagrams_to_ipv6, datagrams_to_ipv4: likewise.
        failed: what else became of sessions and datagrams, by name, without those of which there were none.
    """

    connections: Natural
    pairs: Natural
    bytes_to_ipv6: Natural
    bytes_to_ipv4: Natural
    datagrams_to_ipv6: Natural
    datagrams_to_ipv4: Natural
    failed: Counts = field(default_factory=dict)

    def bytes_to(self, family: Family) -> int:
        """Payload that it passed on to a family."""
        return self.bytes_to_ipv6 if family == 6 else self.bytes_to_ipv4


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedSessions(Kept):
    """The sessions of a node that keeps state: the connections that Linux tracks there (`run.proof.sessions`), or those
    of a relay.

    Attributes:
        before, after: how many there were at the beginning and at the end.
        most: how many there may be (`nf_conntrack_max`).
        failed: what the table refused or gave up, by the kernel's counter (`insert_failed`, `drop`, `early_drop`), or
            what a relay refused (`sessions`), without those of which there were none. None: the kernel does not tell.
        object_bytes: the memory that the kernel's entry of a session takes. None: only root may know.
        objects: by how much the entries of the whole machine rose. None: likewise.
    """

    before: Natural
    after: Natural
    most: Natural
    failed: Counts | None = None
    object_bytes: Natural | None = None
    objects: Whole | None = None

    @property
    def rise(self) -> int:
        """How many more there were at the end."""
        return self.after - self.before


@dataclass(frozen=True, kw_only=True, slots=True)
class LateTimers(Kept):
    """The timers of the token bucket that sends on a link (`run.proof.timers`).

    Attributes:
        expired: how often one ran.
        late: how often it was later than the bucket has room for, which is `slack_ns`.
        worst_ns: the latest.
        lost_ns: for how long nothing was sent because of that, in all.
    """

    expired: Natural
    late: Natural
    worst_ns: Natural
    lost_ns: Natural
    slack_ns: Natural


@dataclass(frozen=True, kw_only=True, slots=True)
class LostPlace(Kept):
    """A place at which packets were lost, and why (`run.proof.losses`).

    Attributes:
        where: in words, such as `by r1, coming from access`.
        what: the reason in words.
        datagrams: those of the trial that were dropped there.
        other_packets: packets of the same protocol that could not be named: segments of TCP, later fragments.
        sequences: the numbers of the datagrams, as ranges with both ends included.
        node: the one that dropped.
        link, device: None at sockets, and where the kernel knows none.
        side: `ingress`: it had come from the link; `egress`: it was to go there; `socket`; `emulated`: the link is
            configured to lose; `unknown`.
        reason: the kernel's.
    """

    where: Name
    what: Name
    datagrams: Natural
    other_packets: Whole
    sequences: tuple[Range, ...] = ()
    node: Name | None = None
    link: Name | None = None
    device: Name | None = None
    side: Name | None = None
    reason: Name | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DropCounter(Kept):
    """A drop counter that rose. It counts everybody's packets."""

    node: Name
    counter: Name
    packets: Whole


@dataclass(frozen=True, kw_only=True, slots=True)
class Losses(Kept):
    """What was lost, and where.

    Attributes:
        located: the places at which packets were lost. None: the kernel told nothing, as `not_told` says.
        counters: the drop counters that rose.
        refused: what the sender's socket refused, by error.
        lost: the datagrams that were sent and never arrived. None: the workload keeps no such ledger.
        unlocated: those of them that are at no place.
        unlocated_sequences: their numbers, where all are known.
    """

    located: Annotated[tuple[LostPlace, ...], Field(max_length=MAX_ITEMS)] | None = None
    counters: Annotated[tuple[DropCounter, ...], Field(max_length=MAX_ITEMS)] | None = None
    refused: Counts | None = None
    lost: Natural | None = None
    unlocated: Natural | None = None
    unlocated_sequences: tuple[Range, ...] | None = None
    not_told: Text | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence(Kept):
    """All evidence of a trial.

    Attributes:
        segments: the links of the way, from client to server.
        middle: the index of the link that tells most.
        families: packets there by family (`ipv4`, `ipv6`).
        silent: the links on which packets of a family were seen that got no answer.
        payload_bytes: what must have crossed the links, by direction.
        counters: by node on the way.
        filters: packets that the rulesets of nodes counted, by node and counter.
        emulation: links with a known truth, by name.
        tunnels: the ends of tunnels by node and device.
        translators: likewise.
        discovered: the prefixes that CLATs learned, by node: when the network was built, or by the last bring-up.
        relays: the relays by node.
        sessions: of the nodes that keep state.
        timers: those of links' rates, by link and the node that sends.
        processors: those that each node on the way ran on; empty where the kernel put none there.
        proved, client, server: of a measurement between two machines: that nothing was proved, and the addresses.
    """

    segments: Annotated[tuple[Segment, ...], Field(max_length=10_000)] | None = None
    middle: Natural | None = None
    families: Counts | None = None
    silent: dict[Name, tuple[Name, ...]] | None = None
    payload_bytes: Counts | None = None
    counters: dict[Name, NodeCounters] | None = None
    fragments: Fragments | None = None
    filters: dict[Name, Counts] | None = None
    emulation: dict[Name, EmulatedLink] | None = None
    events: Annotated[tuple[LinkEvent, ...], Field(max_length=MAX_ITEMS)] | None = None
    tunnels: dict[Name, dict[Name, TunnelCounters]] | None = None
    translators: dict[Name, dict[Name, TranslatorCounters]] | None = None
    discovered: dict[Name, DiscoveredPrefix] | None = None
    relays: dict[Name, RelayCounters] | None = None
    sessions: dict[Name, TrackedSessions] | None = None
    losses: Losses | None = None
    timers: dict[Name, dict[Name, LateTimers]] | None = None
    processors: dict[Name, Annotated[tuple[Natural, ...], Field(max_length=MAX_ITEMS)]] | None = None
    proved: Flag | None = None
    client: Name | None = None
    server: Name | None = None


NO_EVIDENCE = Evidence()
"""That of a trial which was not measured."""


def _with_segments(data: Any) -> Any:
    """Evidence of the first version, which is of one link and has its keys at the top level, in the form of today."""
    if isinstance(data, Mapping) and "link" in data and "segments" not in data:
        return {**data, "segments": [data]}
    return data


KeptEvidence = Annotated[Evidence, BeforeValidator(_with_segments)]
"""Evidence as records of any version have it."""


@cache
def _adapter() -> TypeAdapter[Evidence]:
    return TypeAdapter(KeptEvidence)


@cache
def _way_adapter() -> TypeAdapter[EmulatedWay]:
    return TypeAdapter(EmulatedWay)


def evidence_to_json(evidence: Evidence) -> dict[str, Any]:
    """What `trial.json` has of it."""
    data: dict[str, Any] = _adapter().dump_python(evidence, mode="json", exclude_none=True)
    return data


def evidence_from_json(data: Any) -> Evidence:
    """Reads it back. Raises `ValueError`."""
    try:
        return _adapter().validate_python(data)
    except ValidationError as error:
        raise ValueError(next(words_of(error))) from None


def emulated_way(answer: Mapping[str, Any]) -> EmulatedWay:
    """An emulator's record of one direction (docs/protocol.md), without the buckets of its histograms."""
    return _way_adapter().validate_python(answer)
