"""Counts of packets by reason, added up over trials and ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...model.evidence.counts import Count
from .. import words

NOTHING = Count(packets=0, bytes=0)


def total(counts: Iterable[Mapping[str, Count]]) -> dict[str, Count]:
    """Counts by reason of several ends, the most frequent first."""
    summed: dict[str, Count] = {}
    for by_reason in counts:
        summed = with_reasons(summed, by_reason)
    return summed


def reasons(counts: Mapping[str, Count]) -> str:
    """Such as `no-route 12, ecn-invalid 1`."""
    return ", ".join(f"{reason} {words.whole(count.packets)}" for reason, count in counts.items() if count.packets)


def added(total: Count | None, counted: Count | None) -> Count | None:
    """The sum of two counts, of which each may not have been counted."""
    return total if counted is None else (total or NOTHING) + risen(counted)


def with_reasons(total: Mapping[str, Count], counts: Mapping[str, Count]) -> dict[str, Count]:
    """The sum of counts by reason, the most frequent first."""
    summed = dict(total)
    for reason, count in counts.items():
        summed[reason] = summed.get(reason, NOTHING) + count
    return dict(sorted(summed.items(), key=lambda item: -item[1].packets))


def risen_by_reason(counts: Mapping[str, Count]) -> dict[str, Count]:
    """`risen` of each reason."""
    return {reason: risen(count) for reason, count in counts.items()}


def risen(count: Count) -> Count:
    """The increases. A counter that began anew in the midst of a trial is lower than before, and says nothing."""
    return Count(packets=max(0, count.packets), bytes=max(0, count.bytes))
