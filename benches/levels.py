"""The frequency of levels called different that are equal, and the coverage of their pooled change, by simulation.

    python benches/levels.py

It takes five minutes. docs/measurements/statistics.md has what it printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from estimators import SCATTER, wild
from numpy.typing import NDArray

from sixbench.stats import Estimator, GroupValue, biweight, pool

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int, int]], Array]

LEVELS = (2, 3, 5, 8, 12, 24)
SIZES = (5, 7, 10, 20, 30)
RUNS = 4000
"""One standard error of a share of 5 % is 0.34 points."""

CONFIDENCE = 0.95


def quiet(generator: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """Log ratios of pairs: runs, levels, blocks."""
    return generator.normal(0, SCATTER, shape)


def unequal(generator: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """Levels that scatter up to ten times as much as others."""
    return quiet(generator, shape) * np.geomspace(1, 10, shape[1])[:, np.newaxis]


def heavy(generator: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """Student's t with three degrees of freedom."""
    values: Array = SCATTER * generator.standard_t(3, shape)
    return values


def pair_wild(generator: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """Each pair is wild with a chance of one in five."""
    return quiet(generator, shape) + np.where(generator.random(shape) < 0.2, wild(generator, shape), 0.0)


def shares(draw: Draw, estimator: Estimator, levels: int, blocks: int) -> tuple[float, float]:
    """The share of runs whose levels are called different, and that in which the interval of their mean has zero."""
    samples = draw(np.random.default_rng(7), (RUNS, levels, blocks))
    flat = samples.reshape(-1, blocks)
    if estimator == "biweight":
        centres, errors, _ = biweight.centres(flat)
    else:
        centres, errors = flat.mean(axis=1), flat.std(axis=1, ddof=1) / math.sqrt(blocks)
    different = covered = 0
    for values, of_values in zip(centres.reshape(RUNS, levels), errors.reshape(RUNS, levels), strict=True):
        groups = [
            GroupValue(value=value, error=error, n=blocks, estimator=estimator)
            for value, error in zip(values.tolist(), of_values.tolist(), strict=True)
        ]
        pooled = pool(groups, CONFIDENCE)
        different += pooled.p_value is not None and pooled.p_value < 1 - CONFIDENCE
        covered += abs(pooled.value) <= pooled.half_width
    return different / RUNS, covered / RUNS


def main() -> None:
    """Prints the table."""
    print("| pairs | blocks |", *(f"{levels} levels |" for levels in LEVELS))
    print("|---|---|" + "---|" * len(LEVELS))
    kinds: tuple[tuple[str, Draw, Estimator], ...] = (
        ("normal", quiet, "biweight"),
        ("normal, their mean", quiet, "mean"),
        ("normal, scatter up to ten times apart", unequal, "biweight"),
        ("Student's t, 3 degrees", heavy, "biweight"),
        ("each wild with a chance of one in five", pair_wild, "biweight"),
    )
    for name, draw, estimator in kinds:
        for blocks in SIZES:
            cells = []
            for levels in LEVELS:
                different, covered = shares(draw, estimator, levels, blocks)
                cells.append(f"{100 * different:.1f} / {100 * covered:.1f} |")
            print(f"| {name if blocks == SIZES[0] else ''} | {blocks} |", *cells, flush=True)


if __name__ == "__main__":
    main()
