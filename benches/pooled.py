"""Changes towards many servers, each by itself and together, by simulation.

    python benches/pooled.py              coverage of the pooled interval and of the prediction interval, and how often
                                          servers are called different that are not
    python benches/pooled.py --servers    forty servers, of which five are slower, and forty equal ones

The first takes five minutes, the second two. docs/measurements/statistics.md has what they printed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from estimators import wild
from numpy.typing import NDArray

from sixbench.analysis.candidates import verdict
from sixbench.model.metric import METRICS
from sixbench.stats import Comparison, Effect, Pairs, biweight, compare_all, holm, random_effects, student_quantile
from sixbench.stats.moderated import moderated
from sixbench.stats.random_effects import paule_mandel, pooled_with

Array = NDArray[np.float64]

GROUPS = (2, 3, 5, 10, 20, 40)
FEWER_GROUPS = (2, 5, 20)
SIZES = (5, 10, 20)
TAUS = (0.0, 0.5, 1.0, 3.0)
"""Standard deviations of the servers' true changes, in typical errors of a server's change."""

RUNS = 4000
"""One standard error of a coverage of 95 % is 0.34 points."""

TESTED = 600
"""Runs of equal servers that are tested for differences: one standard error of 5 % is 0.9 points."""

CONFIDENCE = 0.95
MARGIN = 0.05
SCATTERS: dict[str, Callable[[int], Array]] = {
    "alike": lambda groups: np.full(groups, 0.03),
    "up to ten times apart": lambda groups: np.geomspace(0.01, 0.1, groups),
}
"""Standard deviations of the log ratios of the pairs of each server."""

SERVERS, SLOWER, SLOWER_BY = 40, 5, math.log(1.15)
FAMILIES = 1000
"""Simulated runs of forty servers."""


def main() -> None:
    """Prints the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", action="store_true")
    if parser.parse_args().servers:
        print_servers()
    else:
        print_coverage()


# --- coverage -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Changes and errors of many runs, shape (runs, groups), the degrees of freedom of the errors, and the true change
    of one more server in each run. The true mean is zero."""

    values: Array
    errors: Array
    degrees: float
    next_server: Array


def draw(runs: int, scatter: Array, blocks: int, tau: float, seed: int = 11) -> Drawn:
    """Runs of servers whose pairs scatter so, with the biweight of their log ratios."""
    generator = np.random.default_rng([seed, len(scatter), blocks, round(10 * tau)])
    spread = tau * math.exp(float(np.log(scatter).mean())) / math.sqrt(blocks)
    true = generator.normal(0, spread, (runs, len(scatter)))
    pairs = true[:, :, np.newaxis] + generator.normal(0, 1, (*true.shape, blocks)) * scatter[:, np.newaxis]
    values, errors, _ = biweight.centres(pairs.reshape(-1, blocks))
    return Drawn(
        values=values.reshape(true.shape),
        errors=errors.reshape(true.shape),
        degrees=biweight.degrees(blocks),
        next_server=generator.normal(0, spread, runs),
    )


def coverage(drawn: Drawn, *, is_moderated: bool = True) -> tuple[float, float | None]:
    """The share of runs whose interval holds the mean, and of those whose prediction interval holds the next server;
    None with too few servers. `is_moderated`: with the weights of sixbench; false: by the errors as they are."""
    groups = drawn.values.shape[1]
    variances = np.square(drawn.errors)
    if is_moderated:
        variances = moderated(variances, np.full(groups, drawn.degrees)).variances
    tau2 = paule_mandel(drawn.values, variances)
    pooled = pooled_with(drawn.values, variances, tau2)
    t = student_quantile((1 + CONFIDENCE) / 2, groups - 1)
    covered = float((np.abs(pooled.values) <= t * pooled.errors).mean())
    if groups < 3:
        return covered, None
    beyond = student_quantile((1 + CONFIDENCE) / 2, groups - 2) * np.sqrt(tau2 + np.square(pooled.errors))
    return covered, float((np.abs(drawn.next_server - pooled.values) <= beyond).mean())


def called_different(drawn: Drawn) -> float:
    """The share of runs whose servers are called different."""
    different = 0
    for values, errors in zip(drawn.values.tolist(), drawn.errors.tolist(), strict=True):
        effects = [
            Effect(value=value, error=error, degrees=drawn.degrees) for value, error in zip(values, errors, strict=True)
        ]
        p_value = random_effects(effects, CONFIDENCE).p_value
        different += p_value is not None and p_value < 1 - CONFIDENCE
    return different / len(drawn.values)


def print_coverage() -> None:
    """Coverage of both intervals in percent for each tau, and false differences between servers in percent."""
    heads = [f"tau {tau:g} |" for tau in TAUS]
    print("| scatter | blocks | servers |", *heads, "called different |")
    print("|---|---|---|" + "---|" * (len(TAUS) + 1))
    for name, scatter in SCATTERS.items():
        for blocks in SIZES:
            for groups in GROUPS if name == "alike" else FEWER_GROUPS:
                cells = []
                for tau in TAUS:
                    covered, predicted = coverage(draw(RUNS, scatter(groups), blocks, tau))
                    beside = "" if predicted is None else f" / {100 * predicted:.1f}"
                    cells.append(f"{100 * covered:.1f}{beside} |")
                different = called_different(draw(TESTED, scatter(groups), blocks, 0.0, seed=12))
                print(f"| {name} | {blocks} | {groups} |", *cells, f"{100 * different:.1f} |", flush=True)
    print("\nOf equal servers, without moderated variances:")
    for blocks in SIZES:
        shares = [coverage(draw(RUNS, np.full(groups, 0.03), blocks, 0.0), is_moderated=False)[0] for groups in GROUPS]
        print(f"{blocks} blocks:", *(f"{groups} {100 * s:.1f}," for groups, s in zip(GROUPS, shares, strict=True)))


# --- forty servers ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Shares of runs of forty servers.

    Attributes:
        exact: runs that call the slower servers slower, and no other server different.
        all_slower: runs that call every slower server slower.
        different: runs that call a server different that is not.
        covered: runs whose pooled interval holds the mean of the true changes.
    """

    exact: float
    all_slower: float
    different: float
    covered: float


def families(scatter: Array, blocks: int, slower: int, wild_share: float) -> Shares:
    """Simulates runs of servers, of which the first `slower` are slower by 15 % over IPv6. Pairs are wild with that
    chance: 2 to 20 times off."""
    generator = np.random.default_rng([13, blocks, slower])
    servers = len(scatter)
    true = np.zeros(servers)
    true[:slower] = SLOWER_BY
    shape = (FAMILIES, servers, blocks)
    of_servers = generator.permuted(np.tile(scatter, (FAMILIES, 1)), axis=1)
    logs = true[:, np.newaxis] + generator.normal(0, 1, shape) * of_servers[:, :, np.newaxis]
    logs += np.where(generator.random(shape) < wild_share, wild(generator, shape), 0.0)
    pairs = [Pairs(path=row, baseline=[1.0] * blocks) for row in np.exp(logs).reshape(-1, blocks).tolist()]
    comparisons = compare_all(pairs, confidence=CONFIDENCE, margin=MARGIN, estimator="biweight")
    exact = all_slower = different = 0
    for start in range(0, len(comparisons), servers):
        sides = sides_of(comparisons[start : start + servers])
        is_all = sides[:slower] == ["higher"] * slower
        is_wrong = any(side in ("higher", "lower") for side in sides[slower:]) or "lower" in sides[:slower]
        all_slower += is_all
        different += is_wrong
        exact += is_all and not is_wrong
    return Shares(
        exact=exact / FAMILIES,
        all_slower=all_slower / FAMILIES,
        different=different / FAMILIES,
        covered=held(comparisons, servers, blocks, float(true.mean())),
    )


def sides_of(comparisons: list[Comparison]) -> list[str]:
    """The verdict on each server, after Holm's adjustment over all of them."""
    p_values = holm([comparison.p_value for comparison in comparisons])
    metric = METRICS["connect_p50"]
    return [
        verdict(comparison, p_value, metric, 1 - CONFIDENCE)
        for comparison, p_value in zip(comparisons, p_values, strict=True)
    ]


def held(comparisons: list[Comparison], servers: int, blocks: int, mean: float) -> float:
    """The share of runs whose pooled interval holds a mean of log ratios."""
    values = np.log([comparison.ratio or 1.0 for comparison in comparisons]).reshape(-1, servers)
    errors = np.array([comparison.spread or 0.0 for comparison in comparisons]).reshape(-1, servers)
    degrees = np.full(servers, biweight.degrees(blocks))
    variances = moderated(np.square(errors) / blocks, degrees).variances
    pooled = pooled_with(values, variances, paule_mandel(values, variances))
    widths = student_quantile((1 + CONFIDENCE) / 2, servers - 1) * pooled.errors
    return float((np.abs(pooled.values - mean) <= widths).mean())


def print_servers() -> None:
    """A row for each scatter, number of blocks and share of wild pairs."""
    print("| scatter | blocks | wild pairs | those five and no other | all five | another one | pooled | equal: any |")
    print("|---|---|---|---|---|---|---|---|")
    for name, scatter in SCATTERS.items():
        for blocks in (10, 20):
            for wild_share in (0.0, 0.05):
                some = families(scatter(SERVERS), blocks, SLOWER, wild_share)
                none = families(scatter(SERVERS), blocks, 0, wild_share)
                shares = (some.exact, some.all_slower, some.different, some.covered, none.different)
                print(
                    f"| {name} | {blocks} | {100 * wild_share:g} % |",
                    *(f"{100 * share:.1f} |" for share in shares),
                    flush=True,
                )


if __name__ == "__main__":
    main()
