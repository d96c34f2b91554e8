"""Effect of repeated disturbed trials on comparisons, by simulation.

    python benches/repeats.py

The machine is quiet or disturbed. Its state stays what it was from one trial to the next with a correlation of 0.5. A
trial's log goodput is normal with a standard deviation of 0.3 %, less the share that its link lost to late timers:
exponential, in the mean 0.05 % on a quiet machine and 3 % on a disturbed one. A trial that lost more than the margin of
1 % is invalid. Of a path that costs more, the link loses twice as much in either state. Order effects: each trial is
0.05 % slower than the one before it in its block.

It prints for each rule the share of comparisons with at least two pairs, the pairs, the mean of the estimated ratio,
the share with a false difference (by the test alone, without the margin), and the share in which 3 % is found. Of a
path that costs more, what is false is against a ratio of 1, to which the machine's own losses do not belong.
docs/measurements/statistics.md has what it printed.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass

import numpy as np

from sixbench.stats import Pairs, compare_all

RUNS = 2000
MARGIN = 0.01
QUIET_SHARE, DISTURBED_SHARE = 0.0005, 0.03
CORRELATION = 0.5
SCATTER = 0.003
ORDER_EFFECT = 0.0005
SIZES = (5, 10)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A machine that is disturbed for a share of the time, and a path whose link loses `cost` times the baseline's."""

    disturbed: float
    cost: float


CASES = tuple(Case(disturbed=disturbed, cost=cost) for cost in (1.0, 2.0) for disturbed in (0.2, 0.5))


class _Machine:
    def __init__(self, case: Case, dice: random.Random) -> None:
        self._case = case
        self._dice = dice
        self._is_disturbed = dice.random() < case.disturbed

    def trial(self, cost: float, place: int) -> float | None:
        """The log of a trial's goodput. None: it is invalid."""
        if self._dice.random() > CORRELATION:
            self._is_disturbed = self._dice.random() < self._case.disturbed
        mean = cost * (DISTURBED_SHARE if self._is_disturbed else QUIET_SHARE)
        lost = self._dice.expovariate(1 / mean)
        if lost > MARGIN:
            return None
        return self._dice.gauss(0, SCATTER) + math.log1p(-lost) - ORDER_EFFECT * place


def pairs_of(case: Case, blocks: int, repeats: int, seed: str) -> tuple[list[float], list[float]]:
    """The goodput of path and baseline in the blocks in which both are valid."""
    dice = random.Random(seed)
    machine = _Machine(case, dice)
    path, baseline = [], []
    for block in range(blocks):
        order = [0, 1] if block % 2 == 0 else [1, 0]
        pairs: dict[int, float] = {}
        place = 0
        for which in order:
            for _ in range(1 + repeats):
                value = machine.trial(case.cost if which else 1.0, place)
                place += 1
                if value is not None:
                    pairs[which] = value
                    break
        if len(pairs) == len(order):
            path.append(math.exp(pairs[1]))
            baseline.append(math.exp(pairs[0]))
    return path, baseline


def line(case: Case, blocks: int, repeats: int) -> str:
    """Results of one rule."""
    actual_pairs = [pairs_of(case, blocks, repeats, f"{number}/{blocks}/{case}") for number in range(RUNS)]
    compared = [actual_pair for actual_pair in actual_pairs if len(actual_pair[0]) > 1]
    shares = []
    ratios = []
    for change in (0.0, -0.03):
        comparisons = compare_all(
            [
                Pairs(path=[(1 + change) * item for item in path], baseline=base, scale="ratio")
                for path, base in compared
            ],
            confidence=0.95,
            margin=MARGIN,
            estimator="biweight",
        )
        apart = [
            comparison.p_value is not None
            and comparison.p_value < 0.05
            and comparison.low is not None
            and comparison.high is not None
            and not comparison.low <= 1 <= comparison.high
            for comparison in comparisons
        ]
        shares.append(100 * sum(apart) / (RUNS if change else len(compared)))
        ratios += [comparison.ratio for comparison in comparisons if comparison.ratio is not None] if not change else []
    pairs = float(np.mean([len(path) for path, _ in actual_pairs]))
    return (
        f"{case.cost:5g} {100 * case.disturbed:8.0f} % {blocks:7} {repeats:8} {100 * len(compared) / RUNS:8.1f} % "
        f"{pairs:6.2f} {100 * (float(np.mean(ratios)) - 1):+9.3f} % {shares[0]:8.1f} % {shares[1]:8.1f} %"
    )


def main() -> None:
    """Prints the table."""
    print(" cost  disturbed  blocks  repeats  compared   pairs   mean ratio    false   3 % found")
    for case in CASES:
        for blocks in SIZES:
            for repeats in (0, 2):
                print(line(case, blocks, repeats))
                sys.stdout.flush()


if __name__ == "__main__":
    main()
