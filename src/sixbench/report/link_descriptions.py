"""Settings of links, as text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..model.direction import LinkDirection, RateQueue
from ..model.emulation import ChosenPackets, GilbertElliott, Impairments
from ..model.experiment import LinkChange
from ..model.framing import ETHERNET_FRAMING
from ..model.topology import Link, Topology
from ..model.units import format_duration, plain
from . import words


def direction_words(direction: LinkDirection) -> str:
    """Such as `33 Mbit/s, queue 100 ms, delay 10 ms`; empty where it is as fast as the machine and does nothing."""
    parts = []
    if direction.rate_bps is not None:
        parts.append(words.level("rate_bps", direction.rate_bps))
        parts.append("" if direction.overhead == ETHERNET_FRAMING.name else f"overhead {direction.overhead}")
        parts.append(queue_words(direction.queue))
    if direction.burst_bytes is not None:
        parts.append(f"burst {words.level('burst_bytes', direction.burst_bytes)}")
    parts.append(impairments_words(direction.impairments))
    return ", ".join(filter(None, parts))


def event_words(topology: Topology, events: Iterable[LinkChange]) -> list[str]:
    """Changes of links in the midst of a trial, in order: `after 1s h1-r1 has 5 Mbit/s`."""
    links = {link.name: link for link in topology.links}
    names = []
    for event in events:
        if event.takes is not None:
            lost = "goes down" if event.takes == "link" else "loses the client's addresses"
            names.append(f"after {format_duration(event.at_ns)} {event.link} {lost}")
            continue
        before = links[event.link]
        after = replace(before, mtu_bytes=event.mtu_bytes, directions=event.directions)
        links[event.link] = after
        names.append(f"after {format_duration(event.at_ns)} {event.link} has {_changed(before, after)}")
    return names


def _changed(before: Link, after: Link) -> str:
    parts = [f"MTU {after.mtu_bytes}"] if after.mtu_bytes != before.mtu_bytes else []
    names = [_new(old, new) for old, new in zip(before.directions, after.directions, strict=True)]
    if names[0] == names[1]:
        parts += [names[0]]
    else:
        parts += [f"from {end.node} {words}" for end, words in zip(after.ends, names, strict=True) if words]
    return " and ".join(filter(None, parts)) or "what it had"


def _new(before: LinkDirection, after: LinkDirection) -> str:
    """The new settings of a direction."""
    parts = []
    if after.rate_bps != before.rate_bps and after.rate_bps is not None:
        parts.append(words.level("rate_bps", after.rate_bps))
    if after.overhead != before.overhead:
        parts.append(f"overhead {after.overhead}")
    if after.queue != before.queue:
        parts.append(queue_words(after.queue))
    if after.burst_bytes != before.burst_bytes and after.burst_bytes is not None:
        parts.append(f"burst {words.level('burst_bytes', after.burst_bytes)}")
    if after.impairments != before.impairments:
        parts.append(impairments_words(after.impairments) or "no delay and no loss")
    return ", ".join(filter(None, parts))


def queue_words(queue: RateQueue) -> str:
    """Such as `queue 100ms`, `codel queue 1000 packets, target 5ms`; empty for the default."""
    parts = []
    if queue.limit_bytes is not None:
        parts.append(words.level("queue_bytes", queue.limit_bytes))
    if queue.limit_ns is not None:
        parts.append(format_duration(queue.limit_ns))
    if queue.limit_packets is not None:
        parts.append(words.count(queue.limit_packets, "packet"))
    if queue.target_ns is not None:
        parts.append(f"target {format_duration(queue.target_ns)}")
    if queue.interval_ns is not None:
        parts.append(f"interval {format_duration(queue.interval_ns)}")
    if queue.ecn is not None:
        parts.append("ECN" if queue.ecn else "no ECN")
    name = "queue" if queue.discipline == "tail-drop" else f"{queue.discipline} queue"
    return f"{name} {', '.join(parts)}" if parts else name.removesuffix("queue") and name


def impairments_words(impairments: Impairments) -> str:
    """Such as `delay 10 ms, jitter 2 ms normal, loss 1 %`."""
    parts = []
    if impairments.delay_ns:
        parts.append(f"delay {format_duration(impairments.delay_ns)}")
    if impairments.delays_ns:
        parts.append(f"delays from a file, {words.duration(impairments.mean_delay_ns)} on average")
    if impairments.jitter_ns:
        correlated = (
            f", correlation {_percent(impairments.jitter_correlation)}" if impairments.jitter_correlation else ""
        )
        parts.append(f"jitter {format_duration(impairments.jitter_ns)} {impairments.distribution}{correlated}")
    if isinstance(impairments.loss, GilbertElliott):
        parts.append(f"loss {_percent(impairments.loss.ratio)} in bursts")
    elif impairments.loss is not None:
        parts.append(_chosen("loss", impairments.loss))
    named = (
        ("duplicates", impairments.duplicate),
        ("corruption", impairments.corrupt),
        ("overtaking", impairments.overtaking),
    )
    parts += [_chosen(name, chosen) for name, chosen in named if chosen is not None]
    if impairments.in_order:
        parts.append("in order")
    if impairments.late:
        parts.append(f"{words.count(len(impairments.late), 'listed packet')} late by {impairments.late_by}")
    return ", ".join(parts)


def _chosen(name: str, chosen: ChosenPackets) -> str:
    if chosen.packets:
        return f"{name} of {words.count(len(chosen.packets), 'listed packet')}"
    return f"{name} {_percent(chosen.ratio)}"


def _percent(ratio: float) -> str:
    return f"{plain(float(f'{100 * ratio:.3g}'))} %"
