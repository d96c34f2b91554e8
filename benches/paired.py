"""Two things measured in turn: short rounds in the order ABBA, whose ratios are the sample."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

BUILDS = 2
"""How often both networks are built anew for the first rounds, and once more for all further ones: what differs from
one to the next (where the kernel put them in memory, which queue a hash took) would else be in all rounds alike, and in
none of the interval."""
BUILDS_WITHOUT_TARGET = 3
"""Of what is only told. It gets no further rounds."""
ROUNDS = 3
"""Of four measurements, for each of these."""

Measure = Callable[[], float]
Pair = tuple[Measure, Measure]


def ratios(build: Callable[[], AbstractContextManager[Pair]], rounds: int = ROUNDS) -> list[float]:
    """The first's value over the second's, in networks that are built for it: a ratio a round. A drift that is even
    within a round cancels."""
    found = []
    with build() as (one, other):
        for _ in range(rounds):
            first, second = one(), other()
            third, fourth = other(), one()
            found.append(((first * fourth) / (second * third)) ** 0.5)
    return found
