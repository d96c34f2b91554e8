"""Counts of packets by reason, added up over trials and ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...model.evidence.counts import CountIncrease
from .. import words

NOTHING = CountIncrease(packets=0, bytes=0)


def total(counts: Iterable[Mapping[str, CountIncrease]]) -> dict[str, CountIncrease]:
    """Counts by reason of several ends, the most frequent first."""
    summed: dict[str, CountIncrease] = {}
    for by_reason in counts:
        summed = with_reasons(summed, by_reason)
    return summed


def reasons(counts: Mapping[str, CountIncrease]) -> str:
    """Such as `no-route 12, ecn-invalid 1`."""
    return ", ".join(f"{reason} {words.whole(count.packets)}" for reason, count in counts.items() if count.packets)


def added(total: CountIncrease | None, counted: CountIncrease | None) -> CountIncrease | None:
    """The sum of two counts, of which each may not have been counted."""
    return total if counted is None else (total or NOTHING) + risen(counted)


def with_reasons(total: Mapping[str, CountIncrease], counts: Mapping[str, CountIncrease]) -> dict[str, CountIncrease]:
    """The sum of counts by reason, the most frequent first."""
    summed = dict(total)
    for reason, count in counts.items():
        summed[reason] = summed.get(reason, NOTHING) + count
    return dict(sorted(summed.items(), key=lambda item: -item[1].packets))


def risen_by_reason(counts: Mapping[str, CountIncrease]) -> dict[str, CountIncrease]:
    """`risen` of each reason."""
    return {reason: risen(count) for reason, count in counts.items()}


def risen(count: CountIncrease) -> CountIncrease:
    """The increases. A counter that began anew in the midst of a trial is lower than before, and says nothing."""
    return CountIncrease(packets=max(0, count.packets), bytes=max(0, count.bytes))
