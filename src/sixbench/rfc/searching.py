"""Searches by bisection, and what their records say.

The result of a search is not recorded. It is found again by the same search, answered by the records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..model.parameter import Scalar
from ..model.trial import TrialRecord
from .rfc_test import Ask, RfcPlace

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Bisected:
    """The end of a bisection.

    Attributes:
        highest: the highest number that succeeded. 0: none did.
        lowest: the lowest one that failed. None: none did, up to the most that was tried.
    """

    highest: int
    lowest: int | None


def bisect(succeeds: Callable[[int], bool], first: int, most: int, width: float) -> Bisected:
    """Doubles a number until it fails, and then looks for the highest that does not.

    Args:
        first: where it begins.
        most: what is not exceeded.
        width: how near the two bounds have to be, as a share of the upper one.
    """
    lower, upper, number = 0, most + 1, min(first, most)
    while upper - lower > max(1, width * upper) and lower < most:
        if succeeds(number):
            lower = number
        else:
            upper = number
        number = min(2 * number, most) if upper > most else (lower + upper) // 2
    return Bisected(highest=lower, lowest=None if upper > most else upper)


class _NoMore(Exception):
    """There is no further record."""


def found_again(
    search: Callable[[Ask, RfcPlace], T], records: Sequence[TrialRecord], place: RfcPlace, times: int
) -> Iterator[T]:
    """The results of so many searches one after the other, as far as there are records of them."""
    left = iter(records)

    def ask(params: Mapping[str, Scalar]) -> TrialRecord:
        record = next(left, None)
        if record is None:
            raise _NoMore
        return record

    for _ in range(times):
        try:
            yield search(ask, place)
        except _NoMore:
            return
