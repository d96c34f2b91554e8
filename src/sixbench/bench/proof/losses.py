"""Places at which the packets of a trial were lost: the socket, the link or the node's IP layer, and the reason.

There are two independent accounts: the kernel's report of each packet that it dropped, which names the trial's own
datagrams; and the drop counters of interfaces, queues, protocols, sockets and rulesets, which count
everybody's packets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...lab.filters import PASSING
from ...model.evidence.losses import DropCounter, Losses, LostPlace, Range
from ...model.networks import hosts_with_networks
from ...model.observation import CountersAnswer, Drop
from ...model.topology import Topology
from ...model.workload import Result, Transport
from .drops import Drops
from .packets import Counters

REASONS = {
    "NETFILTER_DROP": "a filter",
    "TC_INGRESS": "a traffic control program",
    "TC_EGRESS": "a traffic control program",
    "XDP": "an XDP program",
    "QDISC_DROP": "the queue was full",
    "QDISC_OVERLIMIT": "the queue was full",
    "CPU_BACKLOG": "the processor's backlog was full",
    "FULL_RING": "the device's ring was full",
    "SOCKET_RCVBUFF": "the socket's receive buffer was full",
    "PROTO_MEM": "no memory left for the protocol's sockets",
    "SOCKET_FILTER": "a socket's filter",
    "NO_SOCKET": "no socket was open there",
    "UDP_CSUM": "a wrong checksum",
    "IP_CSUM": "a wrong checksum",
    "IP_INHDR": "the IP header or its hop limit",
    "IP_RPFILTER": "the reverse path filter",
    "IP_INNOROUTES": "no route",
    "IP_OUTNOROUTES": "no route",
    "IP_INADDRERRORS": "the address",
    "IPV6DISABLED": "IPv6 is off",
    "PKT_TOO_BIG": "larger than the next link's MTU",
    "FRAG_REASM_TIMEOUT": "fragments were missing",
    "FRAG_TOO_FAR": "fragments were missing",
    "DUP_FRAG": "a fragment arrived twice",
    "NEIGH_FAILED": "the next hop did not answer",
    "NEIGH_QUEUEFULL": "the next hop had not answered yet",
    "NEIGH_CREATEFAIL": "the next hop could not be asked",
    "DEV_READY": "the device was down",
    "NOMEM": "no memory",
}
"""The kernel's reasons (include/net/dropreason-core.h) in words."""

NO_LOSSES = ("NOT_SPECIFIED", "TCP_")
"""The beginnings of reasons that mean no loss, for a packet whose bytes nobody named: the kernel does not say why, or
TCP had the data already."""

NO_SOCKET = "NO_SOCKET"
"""No losses either. TCP: packets that were under way when their connection had ended. ICMP: a packet of which a raw
socket got a copy."""

SLOW_PATH_COPY, FAR_DEVICE = "OTHERHOST", ".far"
"""Packets that the slow path of a tunnel has read from its far device (docs/protocol.md), and that the kernel does not
need."""

RING_COPIES = frozenset({("SOCKET_FILTER", "socket"), (NO_SOCKET, "ingress")})
"""The kernel's reasons for dropping its copies of frames that the receiver's ring has had (docs/protocol.md,
`frames`)."""

NOBODYS_COPIES = frozenset({("IP_INADDRERRORS", "ingress"), ("IP_INNOROUTES", "ingress")})
"""The kernel's reasons for dropping its copies of frames to the networks behind a host, in which nobody is."""

PROTOCOLS = {"tcp": {6}, "udp": {17}, "icmp": {1, 58}}
CARRIERS = frozenset({4, 41, 44, 47})
"""IPv4 and IPv6 in IP, IPv6 fragments, GRE: behind these may be the trial's packets."""

SOCKET_COUNTERS = ("NoPorts", "RcvbufErrors", "SndbufErrors", "InCsumErrors", "MemErrors")
DROP_COUNTERS = {
    "Ip": (
        *("InHdrErrors", "InAddrErrors", "InUnknownProtos", "InDiscards", "OutDiscards", "OutNoRoutes"),
        *("ReasmFails", "FragFails"),
    ),
    "Ip6": (
        *("InHdrErrors", "InTooBigErrors", "InNoRoutes", "InAddrErrors", "InUnknownProtos", "InTruncatedPkts"),
        *("InDiscards", "OutDiscards", "OutNoRoutes", "ReasmFails", "FragFails"),
    ),
    "Udp": SOCKET_COUNTERS,
    "Udp6": SOCKET_COUNTERS,
}
"""The counters of RFC 4293 and RFC 4113, as `/proc/net/snmp` names them, that mean that a packet went no further."""

WAYS = {"ingress": "coming from", "egress": "going to"}

INTERFACE_COUNTERS = ("rx_dropped", "tx_dropped", "rx_errors", "tx_errors")


@dataclass(frozen=True, kw_only=True)
class LossEvidence:
    """The findings.

    Attributes:
        losses: what a record keeps.
        notes: remarks: where datagrams were lost.
    """

    losses: Losses
    notes: list[str] = field(default_factory=list)


def loss_evidence(
    transports: Collection[Transport],
    topology: Topology,
    netns: Mapping[int, str],
    client: Result,
    server: Result,
    drops: Drops,
    before: Counters,
    after: Counters,
    emulated: Sequence[LostPlace] = (),
) -> LossEvidence:
    """Locates the losses of a trial.

    Args:
        transports: what the trial's packets carry.
        topology: the network with the path in it.
        netns: the nodes by the inode of their namespace.
        emulated: the places where links were to lose packets.
    """
    flows = _flows(client, server)
    lost, ranges = _lost(flows), _lost_ranges(flows)
    located = None
    if drops.reports is not None:
        reports = drops.reports
        if _has_ring(client, server):
            hosts = hosts_with_networks(topology)
            reports = [report for report in reports if not _is_copy(report, netns.get(report.netns_inode) in hosts)]
        located = [*_located(transports, topology, netns, reports, ranges), *emulated]
    losses = Losses(counters=tuple(_counters(before, after, drops)), refused=_refused(client) or None, lost=lost)
    if located is None:
        return LossEvidence(losses=replace(losses, not_told=drops.not_told or "the kernel was not asked"))
    notes = [_note(place) for place in located if place.datagrams]
    # Several flows use the same sequence numbers.
    kept = [replace(place, sequences=()) for place in located] if len(flows) > 1 else located
    losses = replace(losses, located=tuple(kept))
    if lost is not None:
        unlocated, sequences = _unlocated(lost, located, ranges)
        losses = replace(losses, unlocated=unlocated, unlocated_sequences=sequences)
        if unlocated:
            notes.append(f"{unlocated} of {lost} lost datagrams were lost at an unknown place")
    return LossEvidence(losses=losses, notes=notes)


def _flows(client: Result, server: Result) -> list[tuple[Result, Result]]:
    """The results of the sender and of the receiver of each flow."""
    if "parts" in client:
        parts = ((client["parts"][name], server["parts"][name]) for name in client["parts"])
        return [flow for part in parts for flow in _flows(*part)]
    ends = {**client, **server}
    names = [(f"{direction}_sender", f"{direction}_receiver") for direction in ("forward", "reverse")]
    return [(ends[sender], ends[receiver]) for sender, receiver in names if {sender, receiver} <= ends.keys()] or [
        (client, server)
    ]


def _lost(flows: Sequence[tuple[Result, Result]]) -> int | None:
    """Datagrams that were sent and never arrived, of all flows; None for workloads that keep no such ledger."""
    known = [
        max(0, int(sender["sent"]) - int(receiver["unique"]))
        for sender, receiver in flows
        if "sent" in sender and "unique" in receiver
    ]
    return sum(known) if known else None


def _has_ring(client: Result, server: Result) -> bool:
    """True if an end took whole frames, so that a filter drops what the kernel brings to its socket."""
    ends = [end for side in (client, server) for end in (side, *side.values()) if isinstance(end, Mapping)]
    return any("ring_drops" in end for end in ends)


def _is_copy(report: Drop, has_networks: bool) -> bool:
    """True if a drop is of the kernel's copies of what the receiver's ring has had."""
    how = report.reason, report.side
    return how in RING_COPIES or (has_networks and how in NOBODYS_COPIES)


def _refused(client: Result) -> dict[str, int]:
    """The datagrams that never left the sender's socket, by the system's error."""
    refused = {str(name): int(count) for name, count in (client.get("send_errors") or {}).items() if count}
    if client.get("refused"):
        refused["EMSGSIZE"] = refused.get("EMSGSIZE", 0) + int(client["refused"])
    return refused


def _lost_ranges(flows: Sequence[tuple[Result, Result]]) -> list[Range] | None:
    """The sequence numbers of all lost datagrams; None where some are not known, or flows share them."""
    if len(flows) > 1:
        return None
    known = (flows[0][1].get("sequences") or {}).get("lost") or {}
    return None if "ranges" not in known or known.get("omitted") else joined(known["ranges"])


def _located(
    transports: Collection[Transport],
    topology: Topology,
    netns: Mapping[int, str],
    reports: Iterable[Drop],
    lost: Sequence[Range] | None,
) -> list[LostPlace]:
    """The places of drops. A datagram that arrived is in none of them: only a copy of it was dropped."""
    places: dict[tuple[str, str | None, str, str], LostPlace] = {}
    for report in reports:
        node = netns.get(report.netns_inode)
        if report.reason == SLOW_PATH_COPY and (report.device or "").endswith(FAR_DEVICE):
            continue
        if report.reason == NO_SOCKET and report.protocol in PROTOCOLS["icmp"]:
            continue
        sequences = joined(report.sequences)
        if lost is not None:
            sequences = list(without(sequences, list(without(sequences, lost))))
        datagrams = _count(sequences) + report.untold
        others = report.packets - report.measured - report.warmup
        if node is None or not (datagrams or (others and _may_be_the_trials(transports, report))):
            continue
        key = (node, report.device, report.side, report.reason)
        place = places.get(key) or _place(topology, *key)
        places[key] = replace(
            place,
            datagrams=place.datagrams + datagrams,
            sequences=tuple(joined([*place.sequences, *sequences])),
            other_packets=place.other_packets + (others if _may_be_the_trials(transports, report) else 0),
        )
    return sorted(places.values(), key=lambda place: -(place.datagrams or place.other_packets))


def _may_be_the_trials(transports: Collection[Transport], report: Drop) -> bool:
    """True if packets that nobody named may be the trial's."""
    protocol = report.protocol
    if report.reason == NO_SOCKET and protocol in PROTOCOLS["tcp"]:
        return False
    known = CARRIERS.union(*(PROTOCOLS[transport] for transport in transports))
    return protocol in known and not report.reason.startswith(NO_LOSSES)


def _place(topology: Topology, node: str, device: str | None, side: str, reason: str) -> LostPlace:
    """A place where nothing was lost so far."""
    where = f"at a socket of {node}" if side == "socket" else f"by {node}"
    link = next((link.name for link in topology.links_of(node) if link.end_of(node).name == device), None)
    if device is not None and side in WAYS:
        where += f", {WAYS[side]} {link or device}"
    return LostPlace(
        where=where,
        what=_words(reason),
        datagrams=0,
        other_packets=0,
        node=node,
        link=link,
        device=device,
        side=side,
        reason=reason,
    )


def _words(reason: str) -> str:
    return REASONS.get(reason, reason.lower().replace("_", " "))


def _note(place: LostPlace) -> str:
    return f"{place.datagrams} datagrams were lost {place.where}: {place.what}"


def _unlocated(
    lost: int, located: Sequence[LostPlace], ranges: Sequence[Range] | None
) -> tuple[int, tuple[Range, ...] | None]:
    """The lost datagrams that are in no report, and their numbers where all are known."""
    datagrams = sum(place.datagrams for place in located)
    sequences = joined(sequence for place in located for sequence in place.sequences)
    if ranges is None or _count(sequences) < datagrams:
        return max(0, lost - datagrams), None
    left = tuple(without(ranges, sequences))
    return _count(left), left


def _count(ranges: Iterable[Range]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def joined(ranges: Iterable[Sequence[int]]) -> list[Range]:
    """Ranges in order, those that touch or overlap as one."""
    pairs: list[Range] = []
    for first, last in sorted((int(numbers[0]), int(numbers[1])) for numbers in ranges):
        if pairs and first <= pairs[-1][1] + 1:
            pairs[-1] = pairs[-1][0], max(pairs[-1][1], last)
        else:
            pairs.append((first, last))
    return pairs


def without(ranges: Iterable[Sequence[int]], taken: Sequence[Range]) -> Iterator[Range]:
    """The ranges without others. Both are in order and do not overlap."""
    index = 0
    for first, last in ranges:
        start = first
        while index < len(taken) and taken[index][1] < start:
            index += 1
        at = index
        while at < len(taken) and taken[at][0] <= last:
            if start < taken[at][0]:
                yield start, taken[at][0] - 1
            start = taken[at][1] + 1
            at += 1
        if start <= last:
            yield start, last


def _counters(before: Counters, after: Counters, drops: Drops) -> list[DropCounter]:
    """The drop counters that rose, in the order of the way."""
    drop_counters: list[DropCounter] = []
    for node in after:
        if node in before:
            early, late = before[node], after[node]
            rises = [*_interfaces(early, late), *_queues(early, late), *_protocols(early, late)]
            drop_counters.extend(DropCounter(node=node, counter=name, packets=rise) for name, rise in rises if rise > 0)
        for name, rise in drops.rules.get(node, {}).items():
            if name not in PASSING:
                drop_counters.append(DropCounter(node=node, counter=f"ruleset {name}", packets=rise))
    return drop_counters


def _interfaces(early: CountersAnswer, late: CountersAnswer) -> Iterator[tuple[str, int]]:
    for device, counted in late.interfaces.items():
        known = early.interfaces.get(device)
        for name in INTERFACE_COUNTERS:
            yield f"{device} {name}", counted.counts[name] - (0 if known is None else known.counts[name])


def _queues(early: CountersAnswer, late: CountersAnswer) -> Iterator[tuple[str, int]]:
    for device, queues in (late.queues or {}).items():
        known = {queue.handle: queue.dropped for queue in (early.queues or {}).get(device, [])}
        for queue in queues:
            # The kernel's counter has 32 bits.
            rise = (queue.dropped - known.get(queue.handle, 0)) % 2**32
            yield f"{device} {queue.kind} {queue.handle} dropped", rise


def _protocols(early: CountersAnswer, late: CountersAnswer) -> Iterator[tuple[str, int]]:
    for group, names in DROP_COUNTERS.items():
        counted, known = late.snmp.get(group, {}), early.snmp.get(group, {})
        for name in names:
            yield f"{group} {name}", counted.get(name, 0) - known.get(name, 0)
