"""The proof that a trial took its path: packets captured on every link that it crosses, counters of the nodes on the
path, and counters of the tunnels' ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...model.captured import IcmpHeader, IpHeader, Layer, TransportHeader, vlan_id_of
from ...model.evidence import Evidence
from ...model.evidence.packets import Changes, NodeCounters, Segment
from ...model.headers import FRAME_HEADERS, IP_HEADERS, STACK_HEADERS, in_vlan, stack_name
from ...model.observation import CaptureAnswer, CountersAnswer, Packet
from ...model.reason import Reason, ReasonKind
from ...model.topology import Family
from ...model.workload import Traffic
from .legs import LegMatch
from .viewpoints import Viewpoint, middle_of

SHOWN_PACKETS = 4
"""Number of packets of each link that the record keeps as decoded headers; the capture has all."""

BACKGROUND_PACKETS = 100
"""Number of packets of the other family that may pass a node in a trial without meaning anything: neighbour discovery,
MLD, address resolution."""

LINK_ICMPV6_TYPES = frozenset({*range(130, 138), 143})
"""Multicast listener discovery (RFC 2710, RFC 3810), neighbour discovery (RFC 4861 section 4). The kernel sends them
by its timers, so that they may be about an earlier trial's neighbour in the middle of a later trial."""

LEFTOVER_PACKETS = 8
"""Number of TCP segments without data that may belong to an earlier trial, of another path in the same network: the
last ones of a connection, sent again after the retransmission timeout of 200 ms because they were lost (RFC 9293
section 3.6)."""

IGMP = 2

Counters = Mapping[str, CountersAnswer]
"""The answers to `counters`, by node."""

ERROR_TYPES = {"icmp": frozenset({3, 11, 12}), "icmpv6": frozenset({1, 2, 3, 4})}
"""The ICMP errors with which a carrier answers packets that it does not carry, outside the tunnel (RFC 792, RFC 4443
section 3)."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Evidence, and the reasons against the trial."""

    evidence: Evidence
    invalid: list[Reason] = field(default_factory=list)


def judge(
    views: Sequence[Viewpoint],
    captures: Sequence[CaptureAnswer],
    before: Counters,
    after: Counters,
    traffic: Traffic,
    unreached: Collection[str] = (),
) -> Judgement:
    """Holds the observations against what the path claims.

    Args:
        captures: the agents' answers to `capture-stop`, one for each link.
        before, after: counters of the nodes on the way, by node.
        traffic: what must have crossed the links.
        unreached: the links that no packet of the trial reaches, as theory has it.
    """
    deltas = {node: _delta(before[node], after[node]) for node in after if node in before}
    invalid: list[Reason] = []
    segments: list[Segment] = []
    all_ways = frozenset(number for view in views for number in view.ways)
    for view, capture in zip(views, captures, strict=True):
        due = [
            name for name in view.all_claimed if view.link.name not in unreached and not _is_of(name, traffic.silent)
        ]
        segments.append(_segment(view, capture, invalid, due, traffic))
        if view.ways == all_ways:
            invalid += _count_checks(view, deltas, traffic)
    invalid += _ways_checks([view for view in views if view.ways != all_ways], deltas, traffic)
    invalid += _family_checks(views, deltas, traffic.foreign_packets)
    middle = middle_of(views)
    families = {
        kind: sum(count for stack, count in segments[middle].stacks.items() if stack.split(" in ")[0] == kind)
        for kind in IP_HEADERS
    }
    return Judgement(
        evidence=Evidence(
            segments=tuple(segments),
            middle=middle,
            families=families,
            silent={f"ipv{family}": _seen_on(segments, family) for family in sorted(traffic.silent)},
            payload_bytes={"forward": traffic.forward_payload_bytes, "reverse": traffic.reverse_payload_bytes},
            counters={node: _shown(delta) for node, delta in deltas.items()},
        ),
        invalid=invalid,
    )


def interface_changes(before: Counters, after: Counters) -> dict[str, dict[str, Changes]]:
    """Increases of the counters of each node's interfaces, without those that did not change."""
    return {node: _shown(_delta(before[node], after[node])).interfaces for node in after if node in before}


def silent_notes(silent: Mapping[str, Sequence[str]]) -> list[str]:
    """The furthest links of packets of families over which nothing was answered, in words.

    Args:
        silent: the links on which packets of each such family were seen.
    """
    return [
        f"no connection over {name.replace('ip', 'IP')}: its packets were seen "
        + (f"on {' and '.join(links)}" if links else "on no link")
        for name, links in silent.items()
    ]


def _seen_on(segments: Sequence[Segment], family: Family) -> tuple[str, ...]:
    return tuple(segment.link for segment in segments if any(_is_of(stack, {family}) for stack in segment.stacks))


def _is_of(stack: str, families: Collection[Family]) -> bool:
    """True if the innermost packet is of one of these families."""
    return any(f"{stack} in ".startswith(f"ipv{family} in ") for family in families)


def _segment(
    view: Viewpoint,
    capture: CaptureAnswer,
    invalid: list[Reason],
    due: Collection[str],
    traffic: Traffic,
) -> Segment:
    """The packets that were seen on a link. Reasons against the trial are added to `invalid`. `due`: the claims of the
    path that must have been seen."""
    match = LegMatch(
        crossings=(view.crossing, *view.others),
        chooses_hop_limits=traffic.chooses_hop_limits,
        destinations=traffic.destinations,
    )
    seen = _seen_packets(capture.packets, view, match)
    invalid += _reasons(view, seen, match, due)
    return Segment(
        link=view.link.name,
        node=view.end.node,
        interface=view.end.name,
        claimed=" and ".join(view.all_claimed),
        stacks=seen.stacks,
        outer=dict(seen.outer),
        other_addresses=dict(match.addresses),
        other_hop_limits=dict(match.hop_limits),
        errors=dict(seen.errors),
        leftovers=seen.leftovers,
        atomic_fragments=seen.atomic,
        captured_packets=seen.packets,
        capture_dropped=capture.dropped,
        max_ip_bytes=seen.largest_bytes or None,
        packets=tuple(packet.kept for packet in _largest_first(capture.packets)[:SHOWN_PACKETS]),
    )


@dataclass(kw_only=True)
class _SeenPackets:
    """The captured packets of a link, by their kinds.

    Attributes:
        packets: their number, with those that keep the link going.
        stacks: numbers of packets by their headers.
        leftovers: the same of segments without data that the path does not claim, while they are few.
        errors: numbers of ICMP errors.
        outer: numbers of packets by the addresses of the outermost header.
        atomic: number of atomic fragments.
        largest_bytes: of an IP packet.
    """

    packets: int
    stacks: dict[str, int] = field(default_factory=dict)
    leftovers: dict[str, int] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    outer: Counter[str] = field(default_factory=Counter)
    atomic: int = 0
    largest_bytes: int = 0


def _allowed(view: Viewpoint) -> set[str]:
    """The stacks of headers that the path claims on a link, and their fragments."""
    return {*view.all_claimed, *(f"fragment of {name}" for name in view.all_claimed)}


def _seen_packets(packets: Sequence[Packet], view: Viewpoint, match: LegMatch) -> _SeenPackets:
    """Sorts the packets of a link, and shows those of the path to `match`."""
    seen = _SeenPackets(packets=len(packets))
    allowed = _allowed(view)
    fewest = min(len(crossing.headers) for crossing in (view.crossing, *view.others))
    for packet in packets:
        layers = [layer for layer in packet.layers if layer.kind in STACK_HEADERS]
        if not layers or _keeps_the_link_going(packet.layers):
            continue
        error = _error(packet.layers) if len(layers) < fewest else None
        if error is not None:
            seen.errors[error] += 1
            continue
        headers = stack_name(layer.kind for layer in layers)
        stack = in_vlan(headers, vlan_id_of(packet.layers))
        is_later_fragment = _is_later_fragment(packet.layers)
        if is_later_fragment:
            claims = (name for name in view.all_claimed if f"{name} in ".endswith(f" {stack} in "))
            stack = next((f"fragment of {name}" for name in claims), stack)
        if stack not in allowed and _is_bare_segment(packet.layers):
            seen.leftovers[stack] = seen.leftovers.get(stack, 0) + 1
            continue
        seen.stacks[stack] = seen.stacks.get(stack, 0) + 1
        if not is_later_fragment and not _has_error(packet.layers):
            match.see(headers, layers)
        seen.atomic += any(_is_atomic_fragment(layer) for layer in layers)
        if isinstance(layers[0], IpHeader):
            seen.largest_bytes = max(seen.largest_bytes, layers[0].total_bytes or 0)
            seen.outer.update([f"{layers[0].source} > {layers[0].destination}"] if layers[0].source else [])
    if sum(seen.leftovers.values()) > LEFTOVER_PACKETS:
        seen.stacks, seen.leftovers = dict(Counter(seen.stacks) + Counter(seen.leftovers)), {}
    return seen


def _reasons(view: Viewpoint, seen: _SeenPackets, match: LegMatch, due: Collection[str]) -> Iterator[Reason]:
    """Reasons against a trial of which these packets were seen on a link."""
    place = f"on {view.link.name} at {view.end.node}"
    claimed, allowed = view.all_claimed, _allowed(view)
    if not seen.stacks and due:
        yield Reason(kind=ReasonKind.NOT_SEEN, text=f"no packet of the trial was seen {place}")
    for stack, count in seen.stacks.items():
        if stack not in allowed:
            claim = f"where the path claims {' and '.join(claimed)}"
            text = f"{count} of {seen.packets} packets seen {place} were {stack}, {claim}"
            yield Reason(kind=ReasonKind.OTHER_PATH, text=text)
    yield from match.reasons(place)
    if seen.stacks and len(claimed) > 1:
        missing = [name for name in due if not {name, f"fragment of {name}"} & seen.stacks.keys()]
        for name in missing:
            yield Reason(kind=ReasonKind.NOT_SEEN, text=f"no packet of {name} was seen {place}")
    if seen.largest_bytes > view.link.mtu_bytes and not view.link.offload_on:
        words = f"a packet of {seen.largest_bytes} bytes was seen {place}, whose MTU is {view.link.mtu_bytes}"
        yield Reason(kind=ReasonKind.TOO_LARGE, text=words)


def _keeps_the_link_going(layers: Sequence[Layer]) -> bool:
    """True if a packet is neighbour or multicast listener discovery, IGMP, or a bubble of Teredo (RFC 4380 section
    2.8), which say nothing about the trial's path. They occur on the link itself, and in a tunnel, because the kernel
    sends them on its device too."""
    network = [layer for layer in layers if layer.kind not in FRAME_HEADERS]
    kinds = [layer.kind for layer in network]
    if kinds[-2:] == ["ipv6", "icmpv6"]:
        return isinstance(network[-1], IcmpHeader) and network[-1].type in LINK_ICMPV6_TYPES
    if kinds[-2:] == ["teredo", "ipv6"]:
        return True  # a Teredo bubble: an IPv6 packet without a payload
    return kinds[:1] == ["ipv4"] and isinstance(network[0], IpHeader) and network[0].protocol == IGMP


def _error(layers: Sequence[Layer]) -> str | None:
    """The name of an ICMP error that is in no tunnel, such as `icmp 3/4`."""
    outermost = [layer for layer in layers if layer.kind not in FRAME_HEADERS][:2]
    error = outermost[1] if len(outermost) == 2 else None
    return f"{error.kind} {error.type}/{error.code}" if isinstance(error, IcmpHeader) and _is_error(error) else None


def _has_error(layers: Sequence[Layer]) -> bool:
    """True if an ICMP error is in a packet. Any router on the way may have sent it."""
    return any(_is_error(layer) for layer in layers)


def _is_error(layer: Layer) -> bool:
    return isinstance(layer, IcmpHeader) and layer.type in ERROR_TYPES.get(layer.kind, ())


def _is_later_fragment(layers: Sequence[Layer]) -> bool:
    return bool(layers) and layers[-1].kind == "fragment-data"


def _is_atomic_fragment(layer: Layer) -> bool:
    """True if it is the header of an IPv6 packet that is whole and has a Fragment header (RFC 6946)."""
    return isinstance(layer, IpHeader) and layer.fragment is not None and layer.fragment.is_atomic


def _is_bare_segment(layers: Sequence[Layer]) -> bool:
    last = layers[-1] if layers else None
    return isinstance(last, TransportHeader) and last.kind == "tcp" and last.payload_bytes == 0


def link_traffic(view: Viewpoint, before: Counters, after: Counters) -> tuple[int, int] | None:
    """Packets and bytes that crossed a link, both ways; None where they are not known."""
    if view.end.node not in before or view.end.node not in after:
        return None
    delta = _delta(before[view.end.node], after[view.end.node]).interfaces.get(view.end.name)
    if delta is None:
        return None
    return int(delta["rx_packets"] + delta["tx_packets"]), int(delta["rx_bytes"] + delta["tx_bytes"])


def _count_checks(view: Viewpoint, deltas: Mapping[str, NodeCounters], traffic: Traffic) -> list[Reason]:
    wrong = []
    interface = _changes_of(view, deltas)
    if not interface:
        return [_not_counted(view)]
    forward, reverse = ("tx", "rx") if view.towards_server else ("rx", "tx")
    for direction, prefix, payload in (
        ("to the server", forward, traffic.forward_payload_bytes),
        ("to the client", reverse, traffic.reverse_payload_bytes),
    ):
        crossed = interface[f"{prefix}_bytes"]
        if crossed < payload:
            wrong.append(
                f"{payload} bytes of payload arrived {direction}, "
                f"but only {crossed} bytes crossed {view.link.name}: they went another way"
            )
    if (
        traffic.forward_datagrams is not None
        and interface[f"{forward}_packets"] < traffic.forward_datagrams
        and not view.link.offload_on
    ):
        wrong.append(
            f"{traffic.forward_datagrams} datagrams arrived, "
            f"but only {interface[f'{forward}_packets']} packets crossed {view.link.name}"
        )
    return [Reason(kind=ReasonKind.OTHER_PATH, text=words) for words in wrong]


def _changes_of(view: Viewpoint, deltas: Mapping[str, NodeCounters]) -> Changes | None:
    """The increases of the counters of the interface that sees a link; None where its node could not be asked."""
    here = deltas.get(view.end.node)
    return None if here is None else here.interfaces.get(view.end.name)


def _not_counted(view: Viewpoint) -> Reason:
    words = f"{view.end.node} could not be asked for the counters of {view.end.name}"
    return Reason(kind=ReasonKind.NOT_COUNTED, text=words)


def _ways_checks(views: Sequence[Viewpoint], deltas: Mapping[str, NodeCounters], traffic: Traffic) -> list[Reason]:
    """Checks that what arrived crossed the ways that the trial took one after the other, all of them together. Each way
    counts by the link of its own over which least went."""
    unknown = [view for view in views if not _changes_of(view, deltas)]
    if unknown:
        return [_not_counted(view) for view in unknown]
    wrong = []
    for direction, payload in (
        ("to the server", traffic.forward_payload_bytes),
        ("to the client", traffic.reverse_payload_bytes),
    ):
        least: dict[frozenset[int], tuple[int, str]] = {}
        for view in views:
            counters = _changes_of(view, deltas) or {}
            prefix = "tx" if view.towards_server == (direction == "to the server") else "rx"
            crossed = (int(counters.get(f"{prefix}_bytes", 0)), view.link.name)
            least[view.ways] = min(crossed, least.get(view.ways, crossed))
        crossed_bytes = sum(octets for octets, _ in least.values())
        if least and crossed_bytes < payload:
            names = " and ".join(name for _, name in least.values())
            words = (
                f"{payload} bytes of payload arrived {direction}, but only {crossed_bytes} bytes crossed {names} "
                "together: they went another way"
            )
            wrong.append(Reason(kind=ReasonKind.OTHER_PATH, text=words))
    return wrong


def _family_checks(
    views: Sequence[Viewpoint], deltas: Mapping[str, NodeCounters], foreign_packets: int
) -> list[Reason]:
    """Checks that a node which sees only one family on this path has not received many packets of the other, besides
    those that belong to the trial."""
    wrong = []
    for view in views:
        here = deltas.get(view.end.node)
        interface = here and here.interfaces.get(view.end.name)
        claimed = {
            name
            for other in views
            if view.end.node in (other.crossing.near, other.crossing.far)
            for name in other.headers
        }
        for kind, group in (("ipv4", "Ip"), ("ipv6", "Ip6")):
            if not here or not interface or kind in claimed:
                continue
            seen = here.snmp.get(group, {}).get("InReceives", 0)
            if seen > BACKGROUND_PACKETS + foreign_packets + interface["rx_packets"] // 20:
                over = " and ".join(name for name in IP_HEADERS if name in claimed)
                wrong.append(f"{view.end.node} received {seen} {kind} packets during a trial over {over}")
    return [Reason(kind=ReasonKind.OTHER_PATH, text=words) for words in dict.fromkeys(wrong)]


def _delta(before: CountersAnswer, after: CountersAnswer) -> NodeCounters:
    interfaces = {
        name: _rises(before.interfaces[name].counts, counters.counts)
        for name, counters in after.interfaces.items()
        if name in before.interfaces
    }
    snmp = {group: _rises(before.snmp.get(group, {}), counters) for group, counters in after.snmp.items()}
    return NodeCounters(interfaces=interfaces, snmp=snmp)


def _rises(early: Mapping[str, int], late: Mapping[str, int]) -> Changes:
    return {name: count - early.get(name, 0) for name, count in late.items()}


def _shown(delta: NodeCounters) -> NodeCounters:
    """The counters that changed."""
    snmp = {group: _not_zero(counters) for group, counters in delta.snmp.items()}
    return NodeCounters(
        interfaces={name: _not_zero(counters) for name, counters in delta.interfaces.items() if name != "lo"},
        snmp={group: counters for group, counters in snmp.items() if counters},
    )


def _not_zero(counters: Changes) -> Changes:
    return {name: rise for name, rise in counters.items() if rise}


def _largest_first(packets: Sequence[Packet]) -> list[Packet]:
    return sorted(packets, key=lambda packet: -packet.wire_bytes)
