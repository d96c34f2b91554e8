"""Frame loss rate (RFC 2544 section 26.3): the loss at ever lower rates, until two of them lose nothing."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.trial import TrialRecord
from ..rfc_test import Ask, RfcPlace, RfcTest, Value, asked
from ..throughput import load_of, load_trial, says_loss

STEP_PERCENT = 10
"""RFC 2544 section 26.3: steps of 10 % or finer, of the line's rate; of the tester's where no line has one."""


def _run(ask: Ask, place: RfcPlace) -> None:
    without = 0
    for percent in range(100, 0, -STEP_PERCENT):
        rate_pps = _rate_pps(place, percent)
        if rate_pps is None or without == 2:
            return
        params = {"rate_pps": rate_pps, "duration_ns": round(place.lengths.loss_s * 1e9)}
        record = asked(ask, params, says_loss)
        trial = None if record is None else load_trial(record)
        if trial is not None:
            without = 0 if trial.loss_ratio > 0 else without + 1


def _rate_pps(place: RfcPlace, percent: int) -> int | None:
    most_pps = place.line_pps or place.tester_pps
    return None if most_pps is None else max(1, int(most_pps * percent / 100))


def _values(records: Sequence[TrialRecord], place: RfcPlace) -> list[Value]:
    of_tester = "" if place.line_pps is not None else "of the tester's rate, because no line has one"
    values = []
    for percent in range(100, 0, -STEP_PERCENT):
        rate_pps = _rate_pps(place, percent)
        at_rate = [record for record in records if load_of(record) == rate_pps]
        if not at_rate:
            continue
        load_trials = [trial for record in at_rate if (trial := load_trial(record)) is not None]
        values.append(
            Value(
                name=f"loss at {percent} %",
                unit="1",
                value=load_trials[-1].loss_ratio if load_trials else None,
                trials=len(load_trials),
                rate_pps=rate_pps,
                remark=of_tester if load_trials else _why_not(at_rate),
            )
        )
    return values


def _why_not(refused: Sequence[TrialRecord]) -> str:
    """The reason why there is no loss at a rate."""
    why = "".join(f": {reason.text}" for reason in refused[-1].reasons[:1])
    return f"the tester could not send it{why}"


TEST = RfcTest(
    name="frame-loss-rate",
    title="Frame loss rate",
    doc="the share of frames that is lost at 100 %, 90 %, ... of the line's rate",
    profiles=frozenset({"2544", "5180", "8219"}),
    lasts=lambda lengths: (6, lengths.loss_s),
    shortened=lambda lengths: f"trials of {lengths.loss_s:g} s",
    run=_run,
    values=_values,
    needs=("throughput",),
)
