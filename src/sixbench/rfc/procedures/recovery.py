"""System recovery (RFC 2544 section 26.5): how long a device that was overloaded goes on losing frames at half the
rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...model.trial import TrialRecord
from ..rfc_test import Ask, RfcPlace, RfcTest, Value, asked, summary
from . import delays

NAME = "time to recover"
OVER = 1.1
"""RFC 2544 section 26.5: 110 % of the throughput, or the line's rate if that is lower; then half of it."""
AS_FAST = 0.99
"""The share of the line's rate from which on a throughput leaves no room for an overload."""


def _run(ask: Ask, place: RfcPlace) -> None:
    if _nothing(place) is not None:
        return
    rate_pps, lengths = _rate_pps(place), place.lengths
    params = {
        "rate_pps": rate_pps,
        "step_after_ns": round(lengths.overload_s * 1e9),
        "step_rate_pps": max(1, rate_pps // 2),
        "duration_ns": round((lengths.overload_s + lengths.recovering_s) * 1e9),
    }
    for _ in range(lengths.repetitions):
        if asked(ask, params) is None:
            return


def _rate_pps(place: RfcPlace) -> int:
    return int(min(OVER * (place.throughput_pps or 1), place.line_pps or float("inf")))


def _nothing(place: RfcPlace) -> Value | None:
    """The remark in place of the result where nothing is measured."""
    nothing = Value(name=NAME, unit="ns", value=None, trials=0)
    if place.throughput_pps is None:
        return replace(nothing, remark="no throughput is known")
    if place.line_pps is not None and place.throughput_pps >= AS_FAST * place.line_pps:
        return replace(nothing, remark="the device is as fast as the line, which cannot overload it", has_none=True)
    return None


def _values(records: Sequence[TrialRecord], place: RfcPlace) -> list[Value]:
    nothing = _nothing(place)
    if nothing is not None:
        return [nothing]
    valid = [record for record in records if record.status == "ok"]
    overloaded = [record for record in valid if _is_overloaded(record)]
    times = [record.metrics["recovery_ns"] for record in overloaded if "recovery_ns" in record.metrics]
    remark = ""
    if records and not valid:
        remark = "the tester could not overload it"
    elif valid and not overloaded:
        remark = "no overload lost frames, so that there was nothing to recover from"
    elif len(overloaded) < len(valid):
        remark = f"{len(valid) - len(overloaded)} of {len(valid)} overloads lost no frames, and do not count"
    elif any(time_ns > 0.9e9 * place.lengths.recovering_s for time_ns in times):
        remark = "it lost frames until the end: it may not have recovered"
    return [summary(NAME, "ns", times, place=place, rate_pps=_rate_pps(place), remark=remark)]


def _is_overloaded(record: TrialRecord) -> bool:
    return any(record.metrics.get(name, 0.0) > 0 for name in ("loss_ratio", "loss_reverse_ratio"))


TEST = RfcTest(
    name="recovery",
    title="System recovery",
    doc="time for which a device loses frames after an overload, at half the rate",
    profiles=frozenset({"2544", "5180", "8219"}),
    lasts=lambda lengths: delays.lasts(lengths, lengths.overload_s + lengths.recovering_s),
    shortened=lambda lengths: delays.in_words(lengths.repetitions, lengths.overload_s + lengths.recovering_s),
    times=lambda lengths: lengths.repetitions,
    run=_run,
    values=_values,
    needs=("throughput",),
)
