"""Rates of links and the queues before them, as lines for `tc -batch`."""

from __future__ import annotations

from ..model.direction import LinkDirection
from ..model.headers import ETHERNET
from ..model.rate_buckets import burst_bytes
from ..model.topology import Interface, Link
from .netem import netem

DEFAULT_QUEUE_NS = 50_000_000
MIN_QUEUE_BYTES = 128 * 1024
"""The least queue: the largest UDP datagram, in fragments, fits into the queue of the slowest link."""

DEFAULT_LIMIT_PACKETS = {"codel": 1000, "fq_codel": 10240}
"""The kernel's own limits (sch_codel.c, sch_fq_codel.c): CoDel is meant to drop long before."""

NETEM, RATE, QUEUE = "10:", "1:", "2:"
"""The handles of the queueing disciplines, in order from the device."""


def queue_lines(link: Link, end: Interface) -> list[str]:
    """Lines that set up an end of a link: netem where it is the emulator, then the rate, then the queue."""
    direction = link.direction_from(end.node)
    if not _has_netem(link, direction):
        return _rate_lines(link, end, "add")
    # netem below the rate would hold the waiting packets, beyond the queue's limit.
    delay = f"qdisc add dev {end.name} root handle {NETEM} {netem(direction.impairments)}"
    return [delay, *_rate_lines(link, end, "add")]


def rate_change_lines(link: Link, end: Interface) -> list[str]:
    """Lines that give an end of a link, which has a rate, another rate or another queue of the same kind. Packets that
    wait stay in the queue."""
    return _rate_lines(link, end, "change")


def _rate_lines(link: Link, end: Interface, action: str) -> list[str]:
    direction = link.direction_from(end.node)
    if direction.rate_bps is None:
        return []
    parent = f"parent {NETEM}1" if _has_netem(link, direction) else "root"
    lines = [f"qdisc {action} dev {end.name} {parent} handle {RATE} {_rate(link, direction)}"]
    # After the rate, which sets a limit in bytes on a queue of packets (sch_fifo.c, `fifo_set_limit`).
    queue = _queue(link, direction)
    return lines + ([f"qdisc {action} dev {end.name} parent {RATE}1 handle {QUEUE} {queue}"] if queue else [])


def _has_netem(link: Link, direction: LinkDirection) -> bool:
    return link.emulator == "netem" and direction.impairments.any


def queue_bytes(link: Link, direction: LinkDirection) -> int:
    """Number of bytes that the queue of a direction with a rate can hold."""
    packets = _limit_packets(link, direction)
    return _limit_bytes(direction) if packets is None else packets * (link.mtu_bytes + ETHERNET.size_bytes)


def _rate(link: Link, direction: LinkDirection) -> str:
    """The rate limiter. tc counts a packet from its Ethernet header on, and the overhead comes to that. So does the tag
    of a VLAN: the kernel keeps it beside the packet until that has left its queue."""
    burst, framing = burst_bytes(link, direction), direction.framing
    words = [f"tbf rate {direction.rate_bps}bit burst {burst} limit {queue_bytes(link, direction) + burst}"]
    words.append(f"overhead {framing.overhead_bytes - ETHERNET.size_bytes + link.tag_bytes}")
    words += [f"mpu {framing.least_bytes}"] if framing.least_bytes else []
    words += ["linklayer atm"] if framing.atm else []
    return " ".join(words)


def _queue(link: Link, direction: LinkDirection) -> str | None:
    """The queue, where it is not tbf's own (which counts bytes)."""
    queue, packets = direction.queue, _limit_packets(link, direction)
    if packets is None:
        return None
    if queue.discipline == "tail-drop":
        return f"pfifo limit {packets}"
    words = [queue.discipline, "limit", str(packets)]
    for name, time_ns in (("target", queue.target_ns), ("interval", queue.interval_ns)):
        words += [name, f"{max(1, round(time_ns / 1000))}us"] if time_ns is not None else []
    if queue.ecn is not None:
        words.append("ecn" if queue.ecn else "noecn")
    return " ".join(words)


def _limit_packets(link: Link, direction: LinkDirection) -> int | None:
    """The limit of a queue that counts packets. CoDel counts nothing else, so bytes become packets of the MTU's
    size."""
    queue = direction.queue
    if queue.limit_packets is not None:
        return queue.limit_packets
    if queue.discipline == "tail-drop":
        return None
    if queue.limit_bytes is None and queue.limit_ns is None:
        return DEFAULT_LIMIT_PACKETS[queue.discipline]
    return max(1, _limit_bytes(direction) // (link.mtu_bytes + ETHERNET.size_bytes))


def _limit_bytes(direction: LinkDirection) -> int:
    queue = direction.queue
    if queue.limit_bytes is not None:
        return queue.limit_bytes
    assert direction.rate_bps is not None, "only a direction with a rate has a queue"
    if queue.limit_ns is not None:
        return direction.rate_bps * queue.limit_ns // 8 // 10**9
    return max(direction.rate_bps * DEFAULT_QUEUE_NS // 8 // 10**9, MIN_QUEUE_BYTES)
