"""DNS64 performance (RFC 8219 section 9.2): the highest rate of questions that are all answered rightly within 1 s.

The tester's self-test is the same without a resolver: the client asks the authority, which answers with AAAA records,
within a quarter of the time (section 9.2.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...mechanisms.asking import unasked
from ...model.network import Network
from ...model.path import Path
from ...model.trial import TrialRecord
from ..searching import bisect, found_again
from ..test import Ask, Place, RfcTest, Value, asked, summary
from . import delays

FIRST_PER_S, MOST_PER_S = 200, 50_000
TIMEOUT_NS = 1_000_000_000
"""RFC 8219 section 9.2."""
SELF_TEST_TIMEOUT_NS = TIMEOUT_NS // 4
DELTA = 0.1
"""RFC 8219 section 9.2.1: the tester has to be able to do 2 (r + delta), where delta is at least 0.1. It does not
say of what; a tenth of r is the stricter reading."""


def _run(ask: Ask, place: Place) -> None:
    for _ in range(_searches(place)):
        _highest(ask, place)


def _searches(place: Place) -> int:
    return 1 if place.is_tester else place.own.repetitions


def _highest(ask: Ask, place: Place) -> int:
    """The highest rate at which all answers are right; what the tester cannot ask is too much. 0: there is none."""

    def succeeds(per_s: int) -> bool:
        record = asked(
            ask,
            {
                "rate_per_s": per_s,
                "duration_ns": round(place.own.questions_s * 1e9),
                "timeout_ns": SELF_TEST_TIMEOUT_NS if place.is_tester else TIMEOUT_NS,
                "self_test": place.is_tester,
            },
        )
        return record is not None and record.metrics.get("questions_answered_ratio") == 1

    return bisect(succeeds, FIRST_PER_S, MOST_PER_S, place.own.width).highest


def _values(records: Sequence[TrialRecord], place: Place) -> list[Value]:
    found = [float(rate) for rate in found_again(_highest, records, place, _searches(place)) if rate]
    if place.is_tester:
        return [summary("self-test: answers", "1/s", found, place=place)]
    own = summary("answers", "1/s", found, place=place)
    [tester] = _values(place.without_device, replace(place, is_tester=True))
    if own.value is None or tester.value is None:
        return [own]
    passed = tester.value >= 2 * (1 + DELTA) * own.value
    words = f"the tester answers {tester.value:.0f}/s by itself"
    remark = f"self-test passed: {words}" if passed else f"self-test not passed: {words}, less than 2.2 times as many"
    return [summary("answers", "1/s", found, place=place, remark=remark)]


def _unfit(path: Path, network: Network) -> str | None:
    return unasked(path)


TEST = RfcTest(
    name="dns64",
    title="DNS64 performance",
    doc="the highest rate of questions to a resolver with DNS64 that are all answered rightly within 1 s",
    profiles=frozenset({"8219"}),
    lasts=lambda own: (13 * own.repetitions, own.questions_s),
    shortened=lambda own: f"{delays.in_words(own.repetitions, own.questions_s)} and more",
    times=lambda own: own.repetitions,
    run=_run,
    values=_values,
    params=lambda own: {"rate_per_s": FIRST_PER_S, "duration_ns": round(own.questions_s * 1e9)},
    workload="dns64",
    over_testers=True,
    by_frame_size=False,
    unfit=_unfit,
)
