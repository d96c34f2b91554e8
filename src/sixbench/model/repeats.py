"""The rule for repeats of trials within their block, which is fixed before the run.

A trial is repeated if it is invalid and each of its reasons says that the machine was disturbed
(`TrialRecord.is_disturbed`), as often as the experiment allows (`Experiment.repeats`). The rule reads no metric. Every
attempt is a trial record of its own and stays one. At most the last of them is valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from .experiment import PlannedTrial
from .trial import TrialRecord


def next_attempt(planned: PlannedTrial, recorded: Mapping[str, TrialRecord], most: int) -> PlannedTrial | None:
    """The next run of a planned trial: itself, or the repeat that is due. None: nothing is.

    It depends on the recorded trials only, so that a run that was killed between two attempts goes on with the second.

    Args:
        recorded: the trials of the run, by key.
        most: how often a trial may be repeated.
    """
    attempt = planned
    while (record := recorded.get(attempt.key)) is not None:
        number = (attempt.repeat or 0) + 1
        if number > most or not record.is_disturbed:
            return None
        attempt = replace(planned, repeat=number)
    return attempt


def attempts(planned: PlannedTrial, most: int) -> list[PlannedTrial]:
    """All attempts that a planned trial may have, in order."""
    return [planned, *(replace(planned, repeat=number) for number in range(1, most + 1))]


def undue_repeats(records: Iterable[TrialRecord], most: int) -> Iterator[tuple[TrialRecord, str]]:
    """The repeats that the rule does not allow, each with what is wrong. A trial with two valid attempts would let
    whoever writes records choose between them.

    Args:
        records: all that there are.
        most: how often a trial may be repeated.
    """
    known = {record.key: record for record in records}
    repeats = [record for record in known.values() if record.repeat is not None]
    for record in sorted(repeats, key=lambda item: item.repeat or 0):
        wrong = _wrong_with(record, known, most)
        if wrong is not None:
            del known[record.key]
            yield record, wrong


def _wrong_with(record: TrialRecord, known: Mapping[str, TrialRecord], most: int) -> str | None:
    number = record.repeat or 0
    if number > most:
        return f"it is repeat {number} of a trial, and the experiment allows {most}"
    first = PlannedTrial(block=record.block, combination=record.combination, path=record.path)
    before = known.get(replace(first, repeat=number - 1 or None).key)
    if before is None:
        return "what it repeats is not there"
    if not before.is_disturbed:
        return f"it repeats {before.key}, which no disturbance of the machine made invalid"
    return None


@dataclass(frozen=True, kw_only=True)
class Repeated:
    """Summary of the repeats.

    Attributes:
        trials: the planned trials that were repeated.
        repeats: the attempts beyond the first of each.
        valid: the planned trials that have a valid trial by a repeat.
    """

    trials: int
    repeats: int
    valid: int


def repeated(records: Iterable[TrialRecord]) -> Repeated:
    """Summary of the repeats among these trials."""
    results = [record for record in records if record.repeat is not None]
    return Repeated(
        trials=sum(record.repeat == 1 for record in results),
        repeats=len(results),
        valid=sum(record.status == "ok" for record in results),
    )
