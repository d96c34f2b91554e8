"""Strays: packets that came to the sockets of a trial and were none of its traffic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ...model.evidence.arrivals import ArrivedSegments
from ...model.reason import Reason, ReasonKind
from ...model.workload import CONNECTION_PACKETS, Result

MAX_STRAY_SHARE = 0.01
"""Strays up to this share of the trial's own packets leave it valid. A stray costs its receiver about what a packet of
the trial costs, which is a read and a check of its token. So they take at most this share of the receiver's time, and
1 % is also the least change that docs/statistics.md calls relevant unless an experiment says otherwise."""

FEW_STRAYS = 16
"""So many strays never matter, however few packets the trial has: a read takes some microseconds, and a whole scan of
the ports of a host sends few packets to each port."""

SEGMENTS = "segments"
"""Those of TCP that the kernel of a host counted (`segments`), and no workload."""

_PACKETS = {"connections": CONNECTION_PACKETS, "datagrams": 1, SEGMENTS: 1}
"""The packets of one stray, at least."""


def judge_strays(
    *results: Result, own_packets: int, arrived: Mapping[str, ArrivedSegments] | None = None
) -> tuple[list[str], list[Reason]]:
    """The strays of a trial in words, and why it is invalid if they are many.

    Args:
        results: the agents' results, as docs/protocol.md describes them.
        own_packets: the packets of the trial itself that arrived, both ways.
        arrived: the segments of TCP that came to each host; None: nobody counted them.
    """
    counts = stray_counts(*results)
    segments = sum(arrived_segments.strays for arrived_segments in (arrived or {}).values())
    if segments > FEW_STRAYS:
        counts[SEGMENTS] = segments
    reason = stray_reason(counts, own_packets)
    notes = [
        f"at least {count} TCP segments reached the hosts that did not come from the trial"
        if what == SEGMENTS
        else f"{count} stray {what} were refused or ignored"
        for what, count in counts.items()
    ]
    return notes, [] if reason is None else [reason]


def stray_counts(*results: Result) -> dict[str, int]:
    """Number of strays of each kind that came to both sides' sockets, in all flows of a trial. Kinds of which there
    were none are left out."""
    counts: Counter[str] = Counter()
    for result in results:
        for strays in _find_strays(result):
            counts.update(strays)
    return {what: count for what, count in counts.items() if count}


def stray_reason(counts: Mapping[str, int], own_packets: int) -> Reason | None:
    """The reason why a trial with so many strays is invalid; None where they are few.

    Args:
        own_packets: the packets of the trial itself that arrived, both ways.
    """
    packets = sum(_PACKETS.get(what, 1) * count for what, count in counts.items())
    if packets <= max(FEW_STRAYS, MAX_STRAY_SHARE * own_packets):
        return None
    strays = " and ".join(f"{count} stray {what}" for what, count in counts.items())
    return Reason(
        kind=ReasonKind.STRAYS,
        text=(
            f"{strays} reached the trial's sockets beside {own_packets} packets of the trial: more than "
            f"{MAX_STRAY_SHARE:.0%}, so they disturbed the measurement"
        ),
    )


def _find_strays(result: Result) -> Iterator[Mapping[str, int]]:
    """The counts of a result, of the ends of flows in it, and of its parts."""
    if isinstance(result.get("strays"), Mapping):
        yield result["strays"]
    for name, inner in result.items():
        if name != "strays" and isinstance(inner, Mapping):
            yield from _find_strays(inner)
