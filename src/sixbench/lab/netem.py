"""Impairments of a link by the kernel's netem, at the end that the packets leave."""

from __future__ import annotations

from ..model.emulation import Chosen, GilbertElliott, Impairments

LIMIT_PACKETS = 100_000
"""What netem may hold: it drops beyond, and counts that."""


def unfit(way: Impairments) -> str | None:
    """What of it netem cannot do, in words; None: nothing."""
    if way.lists_packets:
        return "packets chosen by their number"
    if way.delays_ns:
        return "delays from a file"
    return None


def netem(way: Impairments) -> str:
    """The arguments of the queueing discipline, for what it can do."""
    words = ["netem"]
    if way.delay_ns or way.jitter_ns:
        words += ["delay", f"{way.delay_ns}ns"]
    if way.jitter_ns:
        words += [f"{way.jitter_ns}ns"]
        words += [_percent(way.jitter_correlation)] if way.jitter_correlation else []
        words += ["distribution", way.distribution] if way.distribution != "uniform" else []
    if isinstance(way.loss, GilbertElliott):
        states = (way.loss.to_bad, way.loss.to_good, way.loss.loss_in_bad, way.loss.loss_in_good)
        words += ["loss", "gemodel", *map(_percent, states)]
    elif way.loss is not None:
        words += ["loss", _percent(way.loss.ratio)]
    for name, chosen in (("duplicate", way.duplicate), ("corrupt", way.corrupt), ("reorder", way.overtaking)):
        words += [name, _percent(chosen.ratio)] if isinstance(chosen, Chosen) else []
    return " ".join([*words, "limit", str(LIMIT_PACKETS)])


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.9g}%"
