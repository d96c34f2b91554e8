"""Two things measured in turn: short rounds in the order ABBA, whose ratios are the sample."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

BUILDS = 2
"""Number of times that both networks are built anew for the first rounds; they are built once more for all further
ones. Things that differ from one to the next (where the kernel put them in memory, which queue a hash took) would else
be in all rounds alike, and in none of the interval."""
BUILDS_WITHOUT_TARGET = 3
"""Number of builds of a pair without a target, which gets no further rounds."""
ROUNDS = 3
"""Rounds of four measurements, for each build."""

Measure = Callable[[], float]
Pair = tuple[Measure, Measure]


def ratios(build: Callable[[], AbstractContextManager[Pair]], rounds: int = ROUNDS) -> list[float]:
    """The first's value over the second's, in networks that are built for it: a ratio a round. A drift that is even
    within a round cancels."""
    ratios = []
    with build() as (item, other):
        for _ in range(rounds):
            first, second = item(), other()
            third, fourth = other(), item()
            ratios.append(((first * fourth) / (second * third)) ** 0.5)
    return ratios
