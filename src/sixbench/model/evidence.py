"""What proves that a trial took its path: the evidence that a record keeps, and the form of each of its parts."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from .form import ABSENT, MAX_ITEMS, Bounds, Counts, Form, Name, Natural, Number, Ranges, Text, Whole

Changes = dict[Name, Whole]
"""By how much counters rose."""


class Fragment(Form):
    """The place of a fragment in its packet."""

    offset_bytes: Natural
    more: bool


class Layer(Form):
    """A header of a captured packet."""

    kind: Name
    bytes: Natural = ABSENT
    source: Name = ABSENT
    destination: Name = ABSENT
    total_bytes: Natural = ABSENT
    payload_bytes: Natural = ABSENT
    protocol: Natural = ABSENT
    type: Natural = ABSENT
    code: Natural = ABSENT
    fragment: Fragment | None = None


class KeptPacket(Form):
    """A captured packet by its headers."""

    wire_bytes: Natural
    layers: Annotated[list[Layer], Field(max_length=100)]


class Link(Form):
    """What was seen on one link. Counts are of packets.

    Attributes:
        claimed: the headers that the path claims there.
        stacks: by their headers; `leftovers` are those of earlier trials.
        outer: by their outermost addresses.
        errors: of ICMP outside the tunnel, by type and code.
        packets: the largest ones.
    """

    node: Name = ABSENT
    interface: Name = ABSENT
    claimed: Name = ABSENT
    stacks: Counts = ABSENT
    outer: Counts = ABSENT
    errors: Counts = ABSENT
    leftovers: Counts = ABSENT
    atomic_fragments: Natural = ABSENT
    captured_packets: Natural = ABSENT
    capture_dropped: Natural | None = None
    max_ip_bytes: Natural | None = None
    packets: Annotated[list[KeptPacket], Field(max_length=1000)] = ABSENT


class Segment(Link):
    """What was seen on a link of the way."""

    link: Name


class FragmentLink(Form):
    """What theory expects on a link of datagrams that are fragmented, and what crossed it."""

    link: Name
    sizes_bytes: Annotated[list[Natural], Field(max_length=MAX_ITEMS)]
    expected_packets: Bounds
    expected_bytes: Bounds
    packets: Natural = ABSENT
    wire_bytes: Natural = ABSENT
    counted_packets: Whole = ABSENT
    counted_bytes: Whole = ABSENT
    agrees: bool = ABSENT

    @model_validator(mode="after")
    def _is_whole(self) -> FragmentLink:
        counted = (self.counted_packets, self.counted_bytes, self.agrees)
        if ABSENT in counted and counted != (ABSENT, ABSENT, ABSENT):
            raise ValueError("what crossed the link lacks its packets, its bytes, or whether they agree")
        return self


class Fragments(Form):
    """The fragments that nodes counted, and what theory says of them (`run.proof.fragments`)."""

    nodes: dict[Name, dict[Name, Changes]] = ABSENT
    datagrams: Natural = ABSENT
    delivered: Natural = ABSENT
    not_predicted: Text = ABSENT
    known: bool = ABSENT
    lost_first: Natural = ABSENT
    links: list[FragmentLink] = ABSENT
    expected: dict[Name, dict[Name, dict[Name, Bounds]]] = ABSENT
    agrees: bool = ABSENT


class Summary(Form):
    """A histogram without its buckets."""

    count: Natural = ABSENT
    mean: Number = ABSENT
    p50: Natural = ABSENT
    p99: Natural = ABSENT


class EmulatedWay(Form):
    """What an emulator of ours did in one direction of a link."""

    packets: Natural = ABSENT
    lost: Natural = ABSENT
    delay: Summary = ABSENT
    lateness: Summary = ABSENT


class EmulatedLink(Form):
    """A link with a known truth: who emulated it, and what he did where he is ours."""

    emulator: Name
    forward: EmulatedWay = ABSENT
    reverse: EmulatedWay = ABSENT


class Event(Form):
    """A change of a link in the middle of the trial; times count from its start."""

    link: Name
    due_ns: Natural
    done_ns: Natural
    mtu_bytes: Natural = ABSENT
    failed: Text = ABSENT


class Count(Form):
    """By how much packets and their bytes rose."""

    packets: Whole
    bytes: Whole


class TunnelEnd(Form):
    """What one end of a tunnel did; `slow` and `drops` by reason."""

    encapsulated: Count
    decapsulated: Count
    slow_encapsulated: Count = ABSENT
    slow_decapsulated: Count = ABSENT
    slow: dict[Name, Count] = ABSENT
    drops: dict[Name, Count] = ABSENT


class LateTimers(Form):
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


class LostPlace(Form):
    """A place at which packets were lost (`run.proof.losses`)."""

    where: Name
    what: Name
    datagrams: Natural
    other_packets: Whole
    sequences: Ranges = ABSENT
    node: Name = ABSENT
    link: Name = ABSENT
    device: Name = ABSENT
    side: Name = ABSENT
    reason: Name = ABSENT


class DropCounter(Form):
    """A drop counter that rose."""

    node: Name
    counter: Name
    packets: Whole


class Losses(Form):
    """What was lost, and where."""

    located: Annotated[list[LostPlace], Field(max_length=MAX_ITEMS)] = ABSENT
    counters: Annotated[list[DropCounter], Field(max_length=MAX_ITEMS)] = ABSENT
    refused: Counts = ABSENT
    lost: Natural = ABSENT
    unlocated: Natural = ABSENT
    unlocated_sequences: Ranges = ABSENT
    not_told: Text = ABSENT


class Evidence(Link):
    """All evidence of a trial. Each part is absent where the trial has none of it.

    Attributes:
        segments: the links of the way. The first version kept one link, at the top level.
        middle: the index of the link that tells most.
        families: packets there by family.
        silent: the links on which packets of a family were seen that got no answer.
        payload_bytes: what must have crossed the links, by direction.
        filters: packets that the rulesets of nodes counted.
        emulation: links with a known truth, by name.
        tunnels: the ends of tunnels by node and device.
        timers: those of links' rates, by link and the node that sends.
        processors: those that each node on the way ran on; empty where the kernel put none there.
        proved, client, server: of a measurement between two machines: that nothing was proved, and the addresses.
    """

    link: Name = ABSENT
    segments: Annotated[list[Segment], Field(max_length=10_000)] = ABSENT
    middle: Natural = ABSENT
    families: Counts = ABSENT
    silent: dict[Name, list[Name]] = ABSENT
    payload_bytes: Counts = ABSENT
    fragments: Fragments = ABSENT
    filters: dict[Name, Counts] = ABSENT
    emulation: dict[Name, EmulatedLink] = ABSENT
    events: Annotated[list[Event], Field(max_length=MAX_ITEMS)] = ABSENT
    tunnels: dict[Name, dict[Name, TunnelEnd]] = ABSENT
    losses: Losses = ABSENT
    timers: dict[Name, dict[Name, LateTimers]] = ABSENT
    processors: dict[Name, Annotated[list[Natural], Field(max_length=MAX_ITEMS)]] = ABSENT
    proved: bool = ABSENT
    client: Name = ABSENT
    server: Name = ABSENT
