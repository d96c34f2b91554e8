"""Throughput: the highest rate at which a device loses no more than a goal allows (RFC 2544 section 26.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model.reason import ReasonKind
from ..model.trial import TrialRecord
from .goal import Bounds, Goal, LoadTrial, bounds
from .lengths import Lengths
from .search import LEAST_PPS, Measure, search

FIRST_PPS = 10_000.0
"""First rate of the ramp that looks for a rate that the tester cannot send."""

LAST_PPS = 2.0**14 * FIRST_PPS
"""Its last rate: 100 Gbit/s of the least frames."""

_DEVICES_OWN = frozenset({ReasonKind.NOTHING_ARRIVED})
"""The reason that a trial has whose frames were all lost, which is what it measured."""


@dataclass(frozen=True, kw_only=True)
class Throughput:
    """The throughput of a path at one frame size for one goal, by the trials there are.

    Attributes:
        bounds: the rates between which it lies.
        trials, refused: how many trials say something of the device, and how many do not.
        refused_pps: the lowest rate at which a trial was refused that is over `bounds.lower_pps`. None: there is none.
        refused_why: the reason of the last one that was refused. None: none was.
        failed: why measuring it ended early. None: it did not.
    """

    goal: Goal
    bounds: Bounds
    trials: int
    refused: int
    refused_pps: float | None
    refused_why: str | None
    failed: str | None

    @property
    def is_testers(self) -> bool:
        """True if the tester rather than the device set it."""
        return self.bounds.upper_pps is None and self.refused_pps is not None

    @property
    def is_settled(self) -> bool:
        """True if the search came to its end: the bounds are as near to each other as the goal asks."""
        lower_pps, upper_pps = self.bounds.lower_pps, self.bounds.upper_pps
        if upper_pps is None:
            return lower_pps is not None
        rounding_pps = 1  # the rates of trials are whole numbers
        return upper_pps - max(LEAST_PPS, lower_pps or 0.0) <= self.goal.width * upper_pps + rounding_pps


def run(measure: Measure, lengths: Lengths, most_pps: float | None) -> None:
    """Asks for the trials of a search.

    Args:
        most_pps: the highest rate: that of the line, or what the tester can do. None: neither is known.
    """
    search(measure, lengths.goals, most_pps or _ramp(measure, lengths))


def _ramp(measure: Measure, lengths: Lengths) -> float:
    """A rate that cannot be carried: the first one of ever doubled rates."""
    load_pps = FIRST_PPS
    while load_pps < LAST_PPS:
        trial = measure(load_pps, lengths.ramp_s)
        if trial is None or trial.loss_ratio > max(goal.loss_ratio for goal in lengths.goals):
            break
        load_pps *= 2
    return load_pps


def read(records: Sequence[TrialRecord], goals: Sequence[Goal]) -> list[Throughput]:
    """Results of the trials of one path at one frame size, for each goal."""
    load_trials = [trial for record in records if (trial := load_trial(record)) is not None]
    refused = [record for record in records if is_refused(record)]
    why = refused[-1].reasons[0].text if refused and refused[-1].reasons else None
    failed = next((record.reasons[0].text for record in records if record.status == "failed" and record.reasons), None)
    throughputs = []
    for goal in goals:
        bounds_ = bounds(load_trials, goal)
        over = [load for load in map(load_of, refused) if bounds_.lower_pps is None or load > bounds_.lower_pps]
        throughputs.append(
            Throughput(
                goal=goal,
                bounds=bounds_,
                trials=len(load_trials),
                refused=len(refused),
                refused_pps=min(over, default=None),
                refused_why=why,
                failed=failed,
            )
        )
    return throughputs


def load_of(record: TrialRecord) -> float:
    """The rate of a trial, in frames/s in each direction."""
    return float(record.params.get("rate_pps", 0))


def is_refused(record: TrialRecord) -> bool:
    """True if a trial says nothing of the device: the tester did not send what it should, or it was disturbed."""
    return record.status == "invalid" and load_trial(record) is None


def load_trial(record: TrialRecord) -> LoadTrial | None:
    """Meaning of a trial for the device. None: nothing."""
    is_all_lost = record.status == "invalid" and any(reason.kind in _DEVICES_OWN for reason in record.reasons)
    if record.status != "ok" and not (is_all_lost and not spoiled_by_tester(record)):
        return None
    counted = [_counts(record, *names) for names in _FLOWS]
    sent, arrived = (sum(pair[index] for pair in counted) for index in (0, 1))
    if not sent:
        return None
    duration_s = float(record.params.get("duration_ns", 0)) / 1e9
    return LoadTrial(load_pps=load_of(record), duration_s=duration_s, loss_ratio=max(0, sent - arrived) / sent)


def says_loss(record: TrialRecord) -> bool:
    """True if a trial says how much the device loses: also where that was all."""
    return load_trial(record) is not None


def spoiled_by_tester(record: TrialRecord) -> bool:
    """True if the tester did not do what it should, or a line went down: what was lost then is not the device's."""
    return any(reason.kind in _SPOILED for reason in record.reasons)


_SPOILED = frozenset(
    {
        ReasonKind.TESTER_LIMITED,
        ReasonKind.NOTHING_SENT,
        ReasonKind.CLOCK_STEP,
        ReasonKind.PROCESSORS_CHANGED,
        ReasonKind.LINK_DOWN,
    }
)


_FLOWS: tuple[tuple[str, str, str, str], ...] = (
    ("client", "forward_sender", "server", "forward_receiver"),
    ("server", "reverse_sender", "client", "reverse_receiver"),
)
"""Places of the sender and the receiver of each direction in a record."""


def _counts(record: TrialRecord, sender: str, sent: str, receiver: str, received: str) -> tuple[int, int]:
    """Number of sent frames, and number of those that arrived whole, in time and once."""
    ends = {"client": record.client, "server": record.server}
    return int(_number(ends[sender].get(sent), "sent")), int(_number(ends[receiver].get(received), "unique"))


def _number(result: object, name: str) -> float:
    value = result.get(name) if isinstance(result, dict) else None
    return value if isinstance(value, (int, float)) else 0
