"""Back-to-back frames (RFC 9004, which updates RFC 2544 section 26.4): the longest burst that loses nothing.

Bursts have the least gap between frames: they go at the line's rate, or as fast as the tester can where no line has
one. A device that forwards at that rate has no longest burst (RFC 9004 section 6.1).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from ...model.trial import TrialRecord
from ..rfc_test import Ask, RfcPlace, RfcTest, Value, asked
from ..searching import bisect, found_again
from ..throughput import load_trial, says_loss

MEAN = "longest burst, mean"
FIRST_S = 0.01
"""The first burst takes so long; a longer one is double the one before, until frames are lost."""
WIDTH = 0.01
"""Largest distance between the longest burst without loss and the shortest one with loss, as a share."""
LEAST_TOLERANCE_NS = 200_000
"""A burst may be late by a tenth of its length, and by so much anyway: about a late timer."""
AS_FAST = 0.99
"""The share of the rate of bursts from which on a throughput is as good as that rate."""


def _run(ask: Ask, place: RfcPlace) -> None:
    if _nothing(place) is None:
        for _ in range(place.lengths.bursts):
            _longest(ask, place)


class _NotSent(Exception):
    """The tester could not send a burst."""


def _longest(ask: Ask, place: RfcPlace) -> int | None:
    """The longest burst without loss; 0: even a single frame is lost. None: the tester could not send one."""
    rate_pps = _rate_pps(place)

    def loses_none(burst: int) -> bool:
        tolerance_ns = max(LEAST_TOLERANCE_NS, round(0.1 * burst / rate_pps * 1e9))
        record = asked(ask, {"rate_pps": rate_pps, "count": burst, "tolerance_ns": tolerance_ns}, says_loss)
        trial = None if record is None else load_trial(record)
        if trial is None:
            raise _NotSent
        return trial.loss_ratio == 0

    try:
        return bisect(loses_none, max(1, round(FIRST_S * rate_pps)), _most(place), WIDTH).highest
    except _NotSent:
        return None


def _most(place: RfcPlace) -> int:
    """The longest burst that is tried."""
    return max(1, round(place.lengths.burst_s * _rate_pps(place)))


def _rate_pps(place: RfcPlace) -> int:
    most_pps = place.line_pps or place.tester_pps
    return max(1, int(most_pps or 1))


def _nothing(place: RfcPlace) -> Value | None:
    """The remark in place of the result where there is nothing to look for."""
    nothing = Value(name=MEAN, unit="frames", value=None, trials=0)
    if place.throughput_pps is None:
        return replace(nothing, remark="no throughput is known")
    if place.line_pps is None and place.tester_pps is None:
        return replace(nothing, remark="neither the line's nor the tester's rate is known")
    if place.throughput_pps >= AS_FAST * _rate_pps(place):
        if place.line_pps is None:
            words = "the device is as fast as the tester, which cannot send a burst that is too long for it"
            return replace(nothing, remark=words, is_testers=True)
        words = "the device is as fast as the line: no burst is too long for it (RFC 9004 section 6.1)"
        return replace(nothing, remark=words, has_none=True)
    return None


def _values(records: Sequence[TrialRecord], place: RfcPlace) -> list[Value]:
    """RFC 9004 section 6.4."""
    nothing = _nothing(place)
    if nothing is not None:
        return [nothing]
    numbers = [burst for burst in found_again(_longest, records, place, place.lengths.bursts) if burst is not None]
    rate_pps = _rate_pps(place)
    if not numbers:
        why_not = "the tester could not send bursts"
        return [Value(name=MEAN, unit="frames", value=None, trials=0, rate_pps=rate_pps, remark=why_not)]
    mean = statistics.fmean(numbers)
    longest = _most(place)
    remark = (
        f"bursts of up to {longest} frames were tried: {place.lengths.burst_s:g} s" if max(numbers) == longest else ""
    )
    implied_s = mean / rate_pps
    corrected_s = implied_s * (1 - (place.throughput_pps or 0) / rate_pps)
    spread = statistics.stdev(numbers) if len(numbers) > 1 else None
    quantities = (
        (MEAN, "frames", mean),
        ("longest burst, least", "frames", float(min(numbers))),
        ("longest burst, largest", "frames", float(max(numbers))),
        ("longest burst, standard deviation", "frames", spread),
        ("implied buffer time", "ns", implied_s * 1e9),
        ("corrected buffer time", "ns", corrected_s * 1e9),
    )
    return [
        Value(name=name, unit=unit, value=value, trials=len(numbers), rate_pps=rate_pps, remark=remark)
        for name, unit, value in quantities
    ]


TEST = RfcTest(
    name="back-to-back",
    title="Back-to-back frames",
    doc="the longest burst of frames at the line's rate that loses none, and the buffer that it implies",
    profiles=frozenset({"2544", "5180", "8219"}),
    lasts=lambda lengths: (12 * lengths.bursts, lengths.burst_s / 4),
    shortened=lambda lengths: f"{lengths.bursts} searches with bursts of up to {lengths.burst_s:g} s",
    times=lambda lengths: lengths.bursts,
    run=_run,
    values=_values,
    needs=("throughput",),
)
