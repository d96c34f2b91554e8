"""Packets and bytes that crossed each link from client to server, beside what theory says of so many datagrams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...model.evidence.fragments import FragmentLink
from ...model.headers import ETHERNET
from ...theory import Attempt, Prediction
from .packets import Counters
from .viewpoints import Viewpoint

UPKEEP = (
    "NeighborSolicits",
    "NeighborAdvertisements",
    "RouterSolicits",
    "RouterAdvertisements",
    "GroupMembQueries",
    "GroupMembResponses",
    "GroupMembReductions",
    "MLDv2Reports",
)
"""The packets that IPv6 sends on a link of its own accord, as /proc/net/snmp6 names them (RFC 4293)."""

UNCOUNTED_UPKEEP = 16
"""Largest number of packets of ARP, IGMP, and of a tunnel's own neighbour discovery among those that crossed a link."""

UPKEEP_BYTES = 150
"""The longest packet of such upkeep."""


def link_counts(
    views: Sequence[Viewpoint],
    prediction: Prediction,
    sent: int,
    delivered: int,
    before: Counters,
    after: Counters,
) -> list[FragmentLink]:
    """Expected packets on each link, from client to server, and the packets that crossed it."""
    fragment_links = []
    for index, view in enumerate(views):
        load = prediction.settled.loads[index]
        values: dict[str, Callable[[Attempt], int]] = {
            "packets": lambda attempt, at=index: attempt.loads[at].count,  # type: ignore[misc]
            "bytes": lambda attempt, at=index: _frames_bytes(attempt, at),  # type: ignore[misc]
        }
        limits = {what: bounds(prediction, value, sent, delivered) for what, value in values.items()}
        expected = {
            what: (_likely(prediction, value, sent, delivered, limits[what][0]), limits[what][1])
            for what, value in values.items()
        }
        link = FragmentLink(
            link=view.link.name,
            packets=load.count,
            sizes_bytes=tuple(load.sizes_bytes),
            wire_bytes=load.wire_bytes,
            expected_packets=expected["packets"],
            expected_bytes=expected["bytes"],
        )
        crossed = _crossed(view, before, after)
        if crossed is not None:
            packets, octets, upkeep = crossed
            # Some devices count the VLAN tag, and others do not.
            more = {"packets": upkeep, "bytes": upkeep * UPKEEP_BYTES + packets * view.link.tag_bytes}
            counted = {"packets": packets, "bytes": octets}
            agrees = all(limits[what][0] <= number <= limits[what][1] + more[what] for what, number in counted.items())
            link = replace(link, counted_packets=packets, counted_bytes=octets, agrees=agrees)
        fragment_links.append(link)
    return fragment_links


def bounds(prediction: Prediction, value: Callable[[Attempt], int], sent: int, delivered: int) -> tuple[int, int]:
    """The least and the most that `value` of all datagrams is.

    Each datagram that arrived is like the settled one; but while path MTUs are being learned, as many as there are
    attempts may have been in any state. One that did not arrive may have been lost anywhere.
    """
    settled = value(prediction.settled)
    others = [value(attempt) for attempt in prediction.attempts]
    unsettled = min(delivered, len(prediction.attempts)) if prediction.lost_first else 0
    lost = sent - delivered
    low = settled * (delivered - unsettled) + min(others) * unsettled
    return low, settled * (delivered - unsettled) + max(others) * (unsettled + lost)


def _likely(prediction: Prediction, value: Callable[[Attempt], int], sent: int, delivered: int, least: int) -> int:
    """The least where theory expects that all are lost, and where: of what the sender does not refuse to send."""
    if delivered or prediction.settled.outcome == "delivered":
        return least
    return min((value(attempt) for attempt in prediction.attempts if attempt.outcome != "refused"), default=0) * sent


def _frames_bytes(attempt: Attempt, index: int) -> int:
    load = attempt.loads[index]
    return load.total_bytes + load.count * ETHERNET.size_bytes


def _crossed(view: Viewpoint, before: Counters, after: Counters) -> tuple[int, int, int] | None:
    """Packets and bytes, and how many of these packets may have kept the link going."""
    node, name = view.end.node, view.end.name
    if node not in before or node not in after:
        return None
    early, late = (counters[node].interfaces.get(name) for counters in (before, after))
    if early is None or late is None:
        return None
    prefix, text = ("tx", "Out") if view.towards_server else ("rx", "In")
    names = [f"{text}{what}" for what in UPKEEP]
    groups = [counters[node].snmp.get("Icmp6", {}) for counters in (before, after)]
    upkeep = sum(groups[1].get(what, 0) - groups[0].get(what, 0) for what in names)
    return (
        late.counts[f"{prefix}_packets"] - early.counts[f"{prefix}_packets"],
        late.counts[f"{prefix}_bytes"] - early.counts[f"{prefix}_bytes"],
        upkeep + UNCOUNTED_UPKEEP,
    )
