"""`dns64`: questions for AAAA records at a rate, to a resolver that makes them of A records (RFC 8219 section 9)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from ..parameter import Parameter, Params, Wrong
from ..quantity import metric, share
from ..reason import ReasonKind
from ..topology import Family
from ..workload import Expected, Result, Side, Traffic, TrialMeasurements, WorkloadKind
from .common import DURATION, SECOND_NS, TIMEOUT, gap_by, histogram, in_words, is_behind, rate

if TYPE_CHECKING:
    from ..form import Form

QUESTION_BYTES = 48
"""The UDP payload of a question (docs/protocol.md)."""
MAX_WAITING = 50_000
"""Largest number of questions that are waited for at once. They are told apart by 16 bits."""
MAX_LATE_NS = 10_000_000
"""Largest lateness of 99.9 % of the questions."""

RATE = Parameter(
    name="rate",
    column="rate_per_s",
    kind="count",
    doc="questions to ask each second; must be given",
    minimum=1,
    maximum=200_000,
    identifying=True,
)
PREFIX = Parameter(
    name="prefix", kind="ipv6-prefix", doc="the prefix in which the addresses have to be", unless_given="the path's"
)
SELF_TEST = Parameter(
    name="self-test",
    kind="flag",
    doc="ask the server itself, which then answers with AAAA records: the tester's own limit (RFC 8219 section 9.2.1)",
    default=False,
    identifying=True,
)


def _check(params: Params, families: frozenset[Family]) -> Wrong | None:
    if RATE.column not in params:
        return Wrong(None, f"{RATE.name} is missing, such as {RATE.name}: 1000")
    if int(params[RATE.column]) * int(params.get(TIMEOUT.column, SECOND_NS)) > MAX_WAITING * SECOND_NS:
        most = f"{MAX_WAITING} questions can be waited for at once, each for 1 s (RFC 8219 section 9.2)"
        return Wrong(RATE.name, f"it is too high: {most}")
    return None


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    measured = TrialMeasurements()
    histogram(measured, client, "response", "response", "mean", "p50", "p99")
    measured.histograms["start_lateness"] = dict(client["lateness"])
    sent, right = client["sent"], client["right"]
    if not sent:
        measured.reject(ReasonKind.NOTHING_SENT, "no question was asked")
        return measured
    _schedule(measured, params, client)
    failed = sum(client["failed"].values())
    unanswered = sent - right - client["wrong"] - client["late"] - failed
    counts = {"answered": right, "wrong": client["wrong"], "failed": failed, "unanswered": unanswered + client["late"]}
    measured.metrics.update({f"questions_{name}_ratio": count / sent for name, count in counts.items()})
    answers = rate(right, client["measured_ns"])
    if answers is not None:
        measured.metrics["answers_rate_per_s"] = answers
    if client["failed"]:
        measured.notes.append(f"the resolver failed: {in_words(client['failed'])}")
    if client["wrong"]:
        measured.notes.append(f"{client['wrong']} answers did not have the one right address")
    if client["late"]:
        measured.notes.append(f"{client['late']} answers came after the timeout")
    return measured


def _schedule(measured: TrialMeasurements, params: Params, client: Result) -> None:
    """Checks whether the questions were asked when they were due."""
    sent, due, measured_s = client["sent"], client["due"], client["measured_ns"] / 1e9
    if sent < due or is_behind(sent - 1, float(params[RATE.column]), measured_s):
        words = f"{sent} questions were asked in {measured_s:.3g} s, where {due} were due at {params[RATE.column]}/s"
        measured.reject(ReasonKind.TESTER_LIMITED, words)
    lateness = client["lateness"]
    if lateness.get("count") and lateness["p999"] > MAX_LATE_NS:
        words = f"one question in a thousand was asked {lateness['p999'] / 1e6:.3g} ms late or later"
        measured.reject(ReasonKind.TESTER_LIMITED, f"{words}, where {MAX_LATE_NS / 1e6:g} ms are tolerated")


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    """To the resolver, and to the server as far as it was asked: a resolver may ask more than once, or have cached."""
    asked = min(client["sent"], server["asked"])
    return Traffic(
        forward_payload_bytes=QUESTION_BYTES * min(client["right"], asked),
        reverse_payload_bytes=QUESTION_BYTES * min(client["right"], server["answered"]),
        messages=2 * min(client["right"], asked),
    )


def _results(side: Side, params: Params) -> tuple[Expected, ...]:
    return (Expected(form=_forms()[side]),)


@cache
def _forms() -> dict[Side, type[Form]]:
    from pydantic import model_validator

    from ..form import Counts, Natural
    from ..result_form import Histogram, SideResult

    class AskedQuestions(SideResult):
        """The client that asks."""

        sent: Natural
        due: Natural
        right: Natural
        wrong: Natural
        late: Natural
        failed: Counts
        lateness: Histogram
        response: Histogram
        measured_ns: Natural

        @model_validator(mode="after")
        def _adds_up(self) -> AskedQuestions:
            if self.sent < self.right + self.wrong + self.late + sum(self.failed.values()):
                raise ValueError("more answers than questions")
            return self

    class Authority(SideResult):
        """The server, which is the authority of the names."""

        asked: Natural
        answered: Natural

    return {"client": AskedQuestions, "server": Authority}


KIND = WorkloadKind(
    name="dns64",
    title="DNS64",
    needs_network="a resolver of its own",
    transport="udp",
    doc="Questions for AAAA records, each of another name, at a rate, to the path's resolver with DNS64; the server is "
    "the authority that has A records alone. An answer counts if it is in time and has the right address (RFC 8219 "
    "section 9).",
    parameters=(
        RATE,
        DURATION,
        replace(TIMEOUT, doc="longest time of an answer (RFC 8219 section 9.2)", maximum=SECOND_NS, default=SECOND_NS),
        PREFIX,
        SELF_TEST,
    ),
    primary="answers_rate",
    headline=("answers_rate", "questions_answered", "questions_wrong", "response_p50", "response_p99", "cpu_busy"),
    metrics=(
        *("answers_rate", "questions_answered", "questions_wrong", "questions_failed", "questions_unanswered"),
        *("response_mean", "response_p50", "response_p99"),
    ),
    own_metrics=(
        metric("answers_rate", "per_s", "higher", "Right answers per second", "RFC 8219 section 9.2"),
        metric(
            "questions_answered", "ratio", "higher", "Questions with a right answer in time", "RFC 8219 section 9.2"
        ),
        share("questions_wrong", "Questions with another answer", "RFC 6147"),
        share("questions_failed", "Questions that the resolver failed", "RFC 1035 section 4.1.1"),
    ),
    check=_check,
    summarise=_summarise,
    traffic=_traffic,
    results=_results,
    gap_ns=gap_by(RATE),
)
