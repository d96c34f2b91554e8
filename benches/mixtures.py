"""The frequency of comparisons called mixed: for nothing, and where a path collapses, by simulation.

    python benches/mixtures.py

It takes a minute. docs/measurements/statistics.md has what it printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from estimators import SCATTER, wild
from numpy.typing import NDArray

from sixbench.analysis.mixtures import mixed_path
from sixbench.stats import biweight, outlying

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int, int]], Array]

SIZES = (10, 20, 30, 40)
RUNS = 4000
MARGIN = math.log1p(0.01)
ERROR = 0.05


def quiet(generator: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """Logarithms of trials: runs, paths, blocks. Pairs scatter by `SCATTER`."""
    return generator.normal(0, SCATTER / math.sqrt(2), shape)


def heavy(generator: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """Student's t with three degrees of freedom."""
    values: Array = generator.standard_t(3, shape) * SCATTER / math.sqrt(2) / math.sqrt(3)
    return values


def block_wild(generator: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """In one block of five, one trial is wild, of whichever path."""
    runs, paths, blocks = shape
    hit = generator.random((runs, 1, blocks)) < 0.2
    whose = generator.integers(0, paths, (runs, 1, blocks)) == np.arange(paths)[:, np.newaxis]
    return quiet(generator, shape) + np.where(hit & whose, wild(generator, shape), 0.0)


def trial_wild(generator: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """Each trial is wild with a chance of one in five."""
    return quiet(generator, shape) + np.where(generator.random(shape) < 0.2, wild(generator, shape), 0.0)


def baseline_collapsing(generator: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """The same of the second path, the baseline."""
    values: Array = collapsing(generator, shape)[:, [1, 0, *range(2, shape[1])]]
    return values


def collapsing(generator: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """The first path loses 77 to 97 % in one trial of five."""
    values = quiet(generator, shape)
    lost = np.log(generator.uniform(0.03, 0.23, values[:, 0].shape))
    values[:, 0] += np.where(generator.random(lost.shape) < 0.2, lost, 0.0)
    return values


def share_mixed(draw: Draw, paths: int, blocks: int) -> float:
    """The share of comparisons of the first path with the second that are called mixed."""
    generator = np.random.default_rng(6)
    samples = draw(generator, (RUNS, paths, blocks))
    counts = outlying(samples.reshape(-1, blocks), MARGIN).sum(axis=1).reshape(RUNS, paths)
    ratios = samples[:, 0] - samples[:, 1]
    centres, _, weights = biweight.centres(ratios)
    apart = ((weights < biweight.LITTLE) & (np.abs(ratios - centres[:, np.newaxis]) > MARGIN)).any(axis=1)
    names = [f"path {index}" for index in range(paths)]
    number = 0
    for of_run, is_apart in zip(counts.tolist(), apart.tolist(), strict=True):
        by_path = {name: (count, blocks) for name, count in zip(names, of_run, strict=True)}
        number += is_apart and mixed_path(names[0], names[1], by_path, ERROR) is not None
    return number / RUNS


def main() -> None:
    """Prints the table."""
    print("| trials | paths |", *(f"n = {blocks} |" for blocks in SIZES))
    print("|---|---|" + "---|" * len(SIZES))
    kinds: dict[str, Draw] = {
        "normal": quiet,
        "Student's t, 3 degrees": heavy,
        "one block in five wild, either path": block_wild,
        "each trial wild with a chance of one in five": trial_wild,
        "**the path collapses in one trial of five**": collapsing,
        "the baseline does": baseline_collapsing,
    }
    for name, draw in kinds.items():
        for paths in (2, 3, 5):
            shares = (f"{100 * share_mixed(draw, paths, blocks):.1f} |" for blocks in SIZES)
            print(f"| {name if paths == 2 else ''} | {paths} |", *shares)


if __name__ == "__main__":
    main()
