"""DNS64 performance (RFC 8219 section 9.2): the highest rate of questions that are all answered rightly within 1 s.

The tester's self-test is the same without a resolver: the client asks the authority, which answers with AAAA records,
within a quarter of the time (section 9.2.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...mechanisms.asking import unasked
from ...model.network import Network
from ...model.path import Path
from ...model.quoting import listed
from ...model.reason import ReasonKind
from ...model.trial import TrialRecord
from ...model.workloads.dns64 import MAX_WAITING
from ..rfc_test import Ask, RfcPlace, RfcTest, SelfTest, Value, asked, summary
from ..searching import bisect, found_again
from ..throughput import spoiled_by_tester
from . import delays

FIRST_PER_S = 1000
"""First rate of a search. At a lower rate the tester sleeps most of the time, so it is later on a machine that does
other things too."""
TIMEOUT_NS = 1_000_000_000
"""RFC 8219 section 9.2."""
SELF_TEST_TIMEOUT_NS = TIMEOUT_NS // 4
MOST_PER_S, SELF_TEST_MOST_PER_S = (MAX_WAITING * 10**9 // number for number in (TIMEOUT_NS, SELF_TEST_TIMEOUT_NS))
"""Last rate of a search: so many questions can be waited for at once."""
DELTA = 0.1
"""RFC 8219 section 9.2.1: the tester has to be able to do 2 (r + delta), where delta is at least 0.1. It does not
say of what; a tenth of r is the stricter reading."""


@dataclass(frozen=True, kw_only=True)
class AnswerRate:
    """The end of a search.

    Attributes:
        per_s: the highest rate at which all answers are right. 0: there is none.
        is_testers: whether the tester could not ask at the next higher one.
        why: what became of the questions at the lowest rate that failed, in words; where there is no rate because the
            tester could not ask, why it could not. None: neither.
        is_wrong: whether an answer was wrong. That is a failure at any rate, so it ends the search, without a rate.
    """

    per_s: int
    is_testers: bool = False
    why: str | None = None
    is_wrong: bool = False


class _Ended(Exception):
    """A search ends early."""

    def __init__(self, rate: AnswerRate) -> None:
        super().__init__()
        self.rate = rate


def _run(ask: Ask, place: RfcPlace) -> None:
    for _ in range(_searches(place)):
        _highest(ask, place)


def _searches(place: RfcPlace) -> int:
    return 1 if place.is_tester else place.lengths.repetitions


def _highest(ask: Ask, place: RfcPlace) -> AnswerRate:
    """Searches once. What the tester cannot ask is too much."""
    refused: dict[int, str] = {}
    failed: dict[int, TrialRecord] = {}

    def succeeds(per_s: int) -> bool:
        late: list[TrialRecord] = []

        def says(record: TrialRecord) -> bool:
            late.append(record)
            return _says_answers(record)

        params = {
            "rate_per_s": per_s,
            "duration_ns": round(place.lengths.questions_s * 1e9),
            "timeout_ns": SELF_TEST_TIMEOUT_NS if place.is_tester else TIMEOUT_NS,
            "self_test": place.is_tester,
        }
        record = asked(ask, params, says)
        if record is None:
            refused[per_s] = late[-1].reasons[0].text if late[-1].reasons else "it was not carried out"
            if per_s == FIRST_PER_S:
                raise _Ended(AnswerRate(per_s=0, is_testers=True, why=f"the tester could not ask: {refused[per_s]}"))
            return False
        if record.metrics.get("questions_wrong_ratio"):
            raise _Ended(AnswerRate(per_s=0, why=_became(record), is_wrong=True))
        if record.status == "ok" and record.metrics.get("questions_answered_ratio") == 1:
            return True
        failed[per_s] = record
        return False

    try:
        most_per_s = SELF_TEST_MOST_PER_S if place.is_tester else MOST_PER_S
        result = bisect(succeeds, FIRST_PER_S, most_per_s, place.lengths.width)
    except _Ended as ended:
        return ended.rate
    return AnswerRate(
        per_s=result.highest,
        is_testers=result.lowest in refused,
        why=_became(failed[min(failed)]) if failed else None,
    )


def _says_answers(record: TrialRecord) -> bool:
    """True if a trial says what the resolver answered: also where it answered nothing, or wrongly, which is its failure
    whether the tester was late or not."""
    silent = any(reason.kind is ReasonKind.NOTHING_ARRIVED for reason in record.reasons)
    is_wrong = bool(record.metrics.get("questions_wrong_ratio"))
    return record.status == "ok" or is_wrong or (silent and not spoiled_by_tester(record))


_NOT_RIGHT = {
    "questions_wrong_ratio": "had a wrong answer",
    "questions_failed_ratio": "were answered by an error",
    "questions_unanswered_ratio": "had no answer in time",
}


def _became(record: TrialRecord) -> str:
    """The outcome of the questions of a trial."""
    shares = [(record.metrics.get(name), words) for name, words in _NOT_RIGHT.items()]
    names = [f"{100 * share:.3g} % {words}" for share, words in shares if share]
    at = f"at {record.params['rate_per_s']}/s"
    return f"of the questions {at} {listed(names)}" if names else f"no question {at} had an answer"


def _values(records: Sequence[TrialRecord], place: RfcPlace) -> list[Value]:
    rates = list(found_again(_highest, records, place, _searches(place)))
    is_wrong = any(rate.is_wrong for rate in rates)
    values = [] if is_wrong else [float(rate.per_s) for rate in rates if rate.per_s]
    remarks = _remarks(rates)
    if place.is_tester:
        return [summary("self-test: answers", "1/s", values, place=place, remark="; ".join(remarks))]
    is_testers = any(rate.is_testers for rate in rates)
    if is_testers and values:
        remarks.append("the tester was the limit")
    self_test = None
    if rates:
        [tester] = _values(place.without_device, replace(place, is_tester=True))
        self_test = _self_test(values, tester, place.without_device)
        remarks.append(self_test.text)
    answers = summary("answers", "1/s", values, place=place, remark="; ".join(remarks))
    return [replace(answers, is_testers=is_testers, self_test=self_test)]


def _remarks(rates: Sequence[AnswerRate]) -> list[str]:
    """Remarks on searches that found no rate."""
    wrong = next((rate for rate in rates if rate.is_wrong), None)
    if wrong is not None:
        return [f"it answers wrongly: {wrong.why}"]
    why = next((rate.why for rate in rates if not rate.per_s and rate.why is not None), None)
    return [] if why is None else [f"no rate: {why}"]


def _self_test(values: Sequence[float], tester: Value, records: Sequence[TrialRecord]) -> SelfTest:
    """The self-test, of these trials, for the rates that were found."""
    if tester.value is None:
        failed = next(
            (record.reasons[0].text for record in records if record.status == "failed" and record.reasons), None
        )
        return SelfTest(is_passed=False, text=f"self-test not passed: {failed or tester.remark}")
    most = ", the highest rate that is tried" if tester.value >= SELF_TEST_MOST_PER_S else ""
    words = f"the tester answers {tester.value:.0f}/s by itself{most}"
    if not values:
        return SelfTest(is_passed=False, text=f"self-test without a rate to compare with: {words}")
    if tester.value >= 2 * (1 + DELTA) * max(values):
        return SelfTest(is_passed=True, text=f"self-test passed: {words}")
    return SelfTest(is_passed=False, text=f"self-test not passed: {words}, less than 2.2 times as many")


def _unfit(path: Path, network: Network) -> str | None:
    return unasked(path)


TEST = RfcTest(
    name="dns64",
    title="DNS64 performance",
    doc="the highest rate of questions to a resolver with DNS64 that are all answered rightly within 1 s",
    profiles=frozenset({"8219"}),
    lasts=lambda lengths: (13 * lengths.repetitions, lengths.questions_s),
    shortened=lambda lengths: f"{delays.in_words(lengths.repetitions, lengths.questions_s)} and more",
    times=lambda lengths: lengths.repetitions,
    run=_run,
    values=_values,
    params=lambda lengths: {"rate_per_s": FIRST_PER_S, "duration_ns": round(lengths.questions_s * 1e9)},
    workload="dns64",
    over_testers=True,
    by_frame_size=False,
    unfit=_unfit,
)
