"""What links are set to, in words."""

from __future__ import annotations

from ..model.direction import Direction, Queue
from ..model.emulation import Chosen, GilbertElliott, Impairments
from ..model.units import format_duration, plain
from . import words


def direction_words(direction: Direction) -> str:
    """Such as `33 Mbit/s, queue 100 ms, delay 10 ms`; empty where it is as fast as the machine and does nothing."""
    parts = []
    if direction.rate_bps is not None:
        parts.append(words.level("rate_bps", direction.rate_bps))
        parts.append(queue_words(direction.queue))
    if direction.burst_bytes is not None:
        parts.append(f"burst {words.level('burst_bytes', direction.burst_bytes)}")
    parts.append(impairments_words(direction.impairments))
    return ", ".join(filter(None, parts))


def queue_words(queue: Queue) -> str:
    """Such as `queue 100 ms`; empty for the default."""
    if queue.limit_bytes is not None:
        return f"queue {words.level('queue_bytes', queue.limit_bytes)}"
    return f"queue {format_duration(queue.limit_ns)}" if queue.limit_ns is not None else ""


def impairments_words(way: Impairments) -> str:
    """Such as `delay 10 ms, jitter 2 ms normal, loss 1 %`."""
    parts = []
    if way.delay_ns:
        parts.append(f"delay {format_duration(way.delay_ns)}")
    if way.delays_ns:
        parts.append(f"delays from a file, {words.duration(way.mean_delay_ns)} in the mean")
    if way.jitter_ns:
        correlated = f", correlation {_percent(way.jitter_correlation)}" if way.jitter_correlation else ""
        parts.append(f"jitter {format_duration(way.jitter_ns)} {way.distribution}{correlated}")
    if isinstance(way.loss, GilbertElliott):
        parts.append(f"loss {_percent(way.loss.ratio)} in bursts")
    elif way.loss is not None:
        parts.append(_chosen("loss", way.loss))
    named = (("duplicates", way.duplicate), ("corruption", way.corrupt), ("overtaking", way.overtaking))
    parts += [_chosen(name, chosen) for name, chosen in named if chosen is not None]
    if way.in_order:
        parts.append("in order")
    if way.late:
        parts.append(f"{words.count(len(way.late), 'listed packet')} late by {way.late_by}")
    return ", ".join(parts)


def _chosen(name: str, chosen: Chosen) -> str:
    if chosen.packets:
        return f"{name} of {words.count(len(chosen.packets), 'listed packet')}"
    return f"{name} {_percent(chosen.ratio)}"


def _percent(ratio: float) -> str:
    return f"{plain(float(f'{100 * ratio:.3g}'))} %"
