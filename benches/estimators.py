"""The evidence for the estimator of paired ratios, by simulation and on recorded noise.

    python benches/estimators.py                    coverage and width of each candidate, for each kind of noise
    python benches/estimators.py --stopping         false differences and power of `blocks.until`
    python benches/estimators.py --quantiles        makes the tables of `stats/biweight_table.py` again
    python benches/estimators.py --record DIR       makes `recorded_noise.json` of a run with an A/A path
    python benches/estimators.py --variates DIR...  what control variates and shifts of histograms would gain

Each takes one to three minutes. docs/measurements/statistics.md has what they printed.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sixbench.stats import biweight, biweight_table
from sixbench.stats.interval import half_widths, student_quantile

Array = NDArray[np.float64]
Estimated = tuple[Array, Array]
"""Centres, and half-widths of the intervals of 95 %."""

RECORDED = Path(__file__).with_name("recorded_noise.json")
SIZES = (5, 7, 10, 20, 40)
RUNS = 8000
"""One standard error of a coverage of 95 % is 0.24 points."""

SCATTER = 0.03
"""Standard deviation of the log ratios of quiet trials."""


def main() -> None:
    """Prints what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stopping", action="store_true")
    parser.add_argument("--quantiles", action="store_true")
    parser.add_argument("--record", metavar="DIR", type=Path)
    parser.add_argument("--variates", metavar="DIR", type=Path, nargs="+")
    chosen = parser.parse_args()
    if chosen.stopping:
        print_stopping()
    elif chosen.quantiles:
        print_quantiles()
    elif chosen.record is not None:
        record(chosen.record)
    elif chosen.variates:
        print_variates(chosen.variates)
    else:
        print_estimators()


# --- candidates ---------------------------------------------------------------------------------------------------


def of_mean(samples: Array) -> Estimated:
    """The mean as sixbench takes it: Student's t, from ten values on the studentised bootstrap."""
    return samples.mean(axis=1), half_widths(samples, [0.95])[0]


def of_biweight(samples: Array) -> Estimated:
    """The biweight as sixbench takes it."""
    centre, error, _ = biweight.centres(samples)
    return centre, biweight.half_widths(error, samples.shape[1], [0.95])[0]


def of_trimmed(samples: Array) -> Estimated:
    """Tukey and McLaughlin's trimmed t: a fifth is trimmed at each end (one value at least)."""
    n = samples.shape[1]
    trimmed = max(1, round(0.2 * n))
    kept = n - 2 * trimmed
    ordered = np.sort(samples, axis=1)
    winsorised = np.clip(ordered, ordered[:, [trimmed]], ordered[:, [n - trimmed - 1]])
    error = winsorised.std(axis=1, ddof=1) * math.sqrt((n - 1) / (kept * (kept - 1)))
    return ordered[:, trimmed : n - trimmed].mean(axis=1), student_quantile(0.975, kept - 1) * error


def of_huber(samples: Array, corner: float = 2.0) -> Estimated:
    """Huber's estimate, with the scale of the biweight and n - 1 degrees of freedom."""
    n = samples.shape[1]
    centre = np.median(samples, axis=1)
    squares = np.sort(np.square(samples - centre[:, np.newaxis]), axis=1)[:, : biweight.nearest(n)]
    scale = biweight.unit(n) * np.sqrt(squares.mean(axis=1))
    for _ in range(20):
        relative = (samples - centre[:, np.newaxis]) / scale[:, np.newaxis]
        weights = np.minimum(1.0, corner / np.maximum(np.abs(relative), 1e-12))
        centre = (weights * samples).sum(axis=1) / weights.sum(axis=1)
    relative = (samples - centre[:, np.newaxis]) / scale[:, np.newaxis]
    slope = np.maximum((np.abs(relative) <= corner).mean(axis=1), 1 / n)
    squares = np.square(np.clip(relative, -corner, corner)).sum(axis=1)
    return centre, student_quantile(0.975, n - 1) * scale * np.sqrt(squares / (n * (n - 1))) / slope


def of_signed_ranks(samples: Array) -> Estimated:
    """Hodges and Lehmann's estimate with Wilcoxon's interval. Below six values no such interval has 95 %."""
    n = samples.shape[1]
    first, second = np.triu_indices(n)
    averages = np.sort((samples[:, first] + samples[:, second]) / 2, axis=1)
    counts = np.ones(1)
    for rank in range(1, n + 1):
        counts = np.convolve(counts, np.r_[1.0, np.zeros(rank - 1), 1.0])
    below = np.cumsum(counts) / 2.0**n
    cut = int(np.searchsorted(below, 0.025, side="right"))
    if cut == 0:
        return np.median(averages, axis=1), np.full(len(samples), np.inf)
    low, high = averages[:, cut - 1], averages[:, -cut]
    return (low + high) / 2, (high - low) / 2


def of_signs(samples: Array) -> Estimated:
    """The median with the interval of the sign test. Below six values no such interval has 95 %."""
    n = samples.shape[1]
    ordered = np.sort(samples, axis=1)
    below = np.cumsum([math.comb(n, k) for k in range(n + 1)]) / 2.0**n
    cut = int(np.searchsorted(below, 0.025, side="right"))
    if cut == 0:
        return np.median(samples, axis=1), np.full(len(samples), np.inf)
    low, high = ordered[:, cut - 1], ordered[:, -cut]
    return (low + high) / 2, (high - low) / 2


CANDIDATES: dict[str, Callable[[Array], Estimated]] = {
    "mean (Student, bootstrap)": of_mean,
    "biweight": of_biweight,
    "trimmed mean": of_trimmed,
    "Huber": of_huber,
    "Hodges-Lehmann": of_signed_ranks,
    "median, signs": of_signs,
}

# --- noise --------------------------------------------------------------------------------------------------------


def wild(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Log ratios of trials that are 2 to 20 times off, on either path."""
    return generator.choice([-1.0, 1.0], size=shape) * np.log(generator.uniform(2, 20, shape))


def normal(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Quiet trials."""
    return generator.normal(0, SCATTER, shape)


def heavy(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Student's t with three degrees of freedom."""
    return SCATTER * generator.standard_t(3, shape)


def one_wild(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """One block of five has a wild trial, of each five blocks."""
    values = normal(generator, shape)
    return _with_wild(generator, values)


def fifth_wild(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Each block has a wild trial with a chance of one in five."""
    return normal(generator, shape) + np.where(generator.random(shape) < 0.2, wild(generator, shape), 0.0)


def both_wild(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Each trial of either path is wild with a chance of one in five: more than a third of the blocks."""
    slow = np.log(generator.uniform(2, 20, (2, *shape))) * (generator.random((2, *shape)) < 0.2)
    values: Array = normal(generator, shape) + slow[0] - slow[1]
    return values


def alike(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Trials that resemble the ones before them (correlation 0.5), of two paths in mirrored order, one after the
    other."""
    runs, n = shape
    noise = generator.normal(0, SCATTER, (runs, 2 * n))
    for index in range(1, 2 * n):
        noise[:, index] = 0.5 * noise[:, index - 1] + math.sqrt(0.75) * noise[:, index]
    order = np.where(np.arange(n) % 2, -1.0, 1.0)
    values: Array = order * (noise[:, 0::2] - noise[:, 1::2])
    return values


def recorded(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Recorded blocks of an A/A path, as many in a row as are asked for. Which of the two paths is the baseline is
    drawn block by block, as the order of a block is: the truth is no difference."""
    series = _recorded_logs()
    runs, n = shape
    empty = np.empty(shape)
    for row in range(runs):
        actual_values = series[generator.integers(len(series))]
        start = generator.integers(len(actual_values))
        empty[row] = np.take(actual_values, range(start, start + n), mode="wrap")
    values: Array = empty * generator.choice([-1.0, 1.0], shape)
    return values


def recorded_wild(generator: np.random.Generator, shape: tuple[int, int]) -> Array:
    """The same, with one wild trial in each five blocks."""
    return _with_wild(generator, recorded(generator, shape))


def _with_wild(generator: np.random.Generator, values: Array) -> Array:
    runs, n = values.shape
    for start in range(0, n - n % 5, 5):
        at = start + generator.integers(0, 5, runs)
        values[np.arange(runs), at] += wild(generator, (runs,))
    return values


def _recorded_logs() -> list[Array]:
    recordings = json.loads(RECORDED.read_text())
    return [np.array(recording["path"]) - np.array(recording["baseline"]) for recording in recordings.values()]


NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Array]] = {
    "normal": normal,
    "t, 3 degrees": heavy,
    "1 block in 5 wild": one_wild,
    "chance of 1 in 5": fifth_wild,
    "1 trial in 5 wild": both_wild,
    "trials alike": alike,
    "recorded": recorded,
    "recorded, 1 in 5 wild": recorded_wild,
}


def print_estimators() -> None:
    """Coverage in percent, and the median half-width in percent, of intervals of 95 %."""
    for noise, draw in NOISES.items():
        print(f"\n{noise}\n{'':28}" + "".join(f"{f'n = {n}':>17}" for n in SIZES))
        samples = {n: draw(np.random.default_rng([n, 1]), (RUNS, n)) for n in SIZES}
        for name, estimate in CANDIDATES.items():
            cells = []
            for n in SIZES:
                centre, width = estimate(samples[n])
                covered = 100 * float((np.abs(centre) <= width).mean())
                half = 100 * math.expm1(min(float(np.median(width)), 700.0))
                cells.append(f"{covered:8.1f} {'-' if half > 1e6 else format(half, '.3g'):>8}")
            print(f"{name:28}" + "".join(cells), flush=True)


# --- stopping -----------------------------------------------------------------------------------------------------


def print_stopping(runs: int = 4000) -> None:
    """The share of runs of one comparison that end `different` and `equivalent`, and the blocks that they take."""
    from sixbench.analysis.looks import looks_so_far, schedule
    from sixbench.model.experiment import Blocks

    blocks = Blocks(minimum=5, maximum=60)
    print(f"looks at {', '.join(map(str, schedule(blocks)))} blocks; margin 1 %; {runs} runs each")
    print(f"{'noise':24}{'truth':>7}{'estimator':>11}{'different':>11}{'equivalent':>12}{'blocks':>8}{'covered':>9}")
    for noise, draw in NOISES.items():
        for truth in (0.0, 0.03):
            for name in ("mean", "biweight"):
                values = draw(np.random.default_rng(5), (runs, 60)) + math.log1p(truth)
                done = np.zeros(runs, dtype=bool)
                different, equivalent = done.copy(), done.copy()
                taken, covered = np.full(runs, 60), done.copy()
                for number in schedule(blocks):
                    looks = looks_so_far(blocks, number)
                    left = np.flatnonzero(~done)
                    if not left.size:
                        break
                    part = values[left, :number]
                    levels = [1 - looks.level(0.05), 1 - looks.level(0.1)]
                    if name == "mean":
                        centre, width = part.mean(axis=1), half_widths(part, levels)
                    else:
                        centre, error, _ = biweight.centres(part)
                        width = biweight.half_widths(error, number, levels)
                    is_equal = np.abs(centre) + width[1] <= math.log1p(0.01)
                    is_apart = ~is_equal & (np.abs(centre) > width[0])
                    ends = is_equal | is_apart | (number == blocks.maximum)
                    different[left[is_apart]] = True
                    equivalent[left[is_equal]] = True
                    taken[left[ends]] = number
                    covered[left[ends]] = (np.abs(centre - math.log1p(truth)) <= width[0])[ends]
                    done[left[ends]] = True
                shares = f"{100 * different.mean():9.1f} %{100 * equivalent.mean():10.1f} %"
                ends = f"{taken.mean():8.1f}{100 * covered.mean():7.1f} %"
                print(f"{noise:24}{100 * truth:5.0f} %{name:>11}{shares}{ends}", flush=True)


# --- tables -------------------------------------------------------------------------------------------------------


def print_quantiles() -> None:
    """Units and quantiles of the biweight of normal values, for `stats/biweight_table.py`."""
    print("UNITS = {")
    for n in biweight_table.UNITS:
        print(f"    {n}: {_unit(n):.4f},")
    print("}\nFACTORS = {")
    for n in biweight_table.FACTORS:
        print(f"    {n}: ({', '.join(f'{factor:.3f}' for factor in _factors(n))}),", flush=True)
    print("}")


def _unit(n: int) -> float:
    values = np.random.default_rng(n).normal(size=(200_000, n))
    squares = np.sort(np.square(values - np.median(values, axis=1)[:, np.newaxis]), axis=1)[:, : biweight.nearest(n)]
    return float(1 / np.sqrt(squares.mean(axis=1)).mean())


def _factors(n: int) -> list[float]:
    generator, factors = np.random.default_rng([11, n]), []
    for _ in range(20 if n <= 12 else 8 if n <= 30 else 3):
        centre, error, _ = biweight.centres(generator.normal(size=(50_000, n)))
        factors.append(np.abs(centre) / error)
    quantiles = np.quantile(np.concatenate(factors), [1 - chance for chance in biweight_table.CHANCES])
    students = [student_quantile(1 - chance / 2, n - 1) for chance in biweight_table.CHANCES]
    return [float(quantile / other) for quantile, other in zip(quantiles, students, strict=True)]


# --- recordings ---------------------------------------------------------------------------------------------------


def record(directory: Path) -> None:
    """Logarithms of the primary metric of path and baseline, block by block, of each combination of an A/A run."""
    from sixbench.model.metric import METRICS
    from sixbench.model.workloads import WORKLOADS
    from sixbench.store import read_run

    run = read_run(directory)
    experiment = run.manifest.experiment
    again = next(path for path in experiment.paths if path.aa_of is not None)
    collected = {}
    for combination in experiment.combinations:
        column = METRICS[WORKLOADS[combination.workload.kind].primary].column
        values: dict[str, dict[int, float]] = {again.name: {}, experiment.baseline: {}}
        for trial in run.trials:
            if trial.combination == combination.name and trial.status == "ok" and trial.path in values:
                values[trial.path][trial.block] = round(math.log(trial.metrics[column]), 4)
        both = sorted(values[again.name].keys() & values[experiment.baseline].keys())
        collected[f"{directory.name}: {combination.workload.kind}"] = {
            "path": [values[again.name][block] for block in both],
            "baseline": [values[experiment.baseline][block] for block in both],
        }
    kept = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    RECORDED.write_text(json.dumps(kept | collected, separators=(",", ":")).replace('},"', '},\n"') + "\n")


def print_variates(directories: list[Path]) -> None:
    """The scatter of A/A log ratios that is left by each alternative, in percent of that of the primary metric.

    Control variates: the part of the log ratios that a regression on each variate explains, every block predicted from
    all others. Histograms: the mean shift of the quantiles from 10 to 90 % in steps of 10, instead of that of the
    median.
    """
    from sixbench.model.metric import METRICS
    from sixbench.model.workloads import WORKLOADS
    from sixbench.store import read_run

    for directory in directories:
        run = read_run(directory)
        experiment = run.manifest.experiment
        again = next(path for path in experiment.paths if path.aa_of is not None)
        for combination in experiment.combinations:
            column = METRICS[WORKLOADS[combination.workload.kind].primary].column
            trials = {
                (trial.block, trial.path): trial
                for trial in run.trials
                if trial.combination == combination.name and trial.status == "ok"
            }
            blocks = [
                b for b in sorted({b for b, _ in trials}) if {(b, again.name), (b, experiment.baseline)} <= set(trials)
            ]
            pairs = [(trials[b, again.name], trials[b, experiment.baseline]) for b in blocks]
            logs = np.array([math.log(item.metrics[column] / other.metrics[column]) for item, other in pairs])
            output = [
                f"{directory.name} {combination.workload.kind}: n = {len(logs)}, scatter {100 * _scatter(logs):.2f} %"
            ]
            shared = set.intersection(*(set(trial.metrics) for pair in pairs for trial in pair))
            variates = {c: [item.metrics[c] - other.metrics[c] for item, other in pairs] for c in sorted(shared)}
            variates["time of a trial"] = [item.elapsed_ns - other.elapsed_ns for item, other in pairs]
            for name in (
                "cpu_other_cores",
                "cpu_softirq_cores",
                "cpu_steal_cores",
                "core_slowdown_ratio",
                "time of a trial",
            ):
                if name in variates and np.ptp(variates[name]):
                    output.append(
                        f"{name} {100 * _scatter(_left(logs, np.array(variates[name]))) / _scatter(logs):.0f} %"
                    )
            for name in pairs[0][0].histograms:
                shifts = [_shift(item.histograms[name], other.histograms[name]) for item, other in pairs]
                if all(shift is not None for shift in shifts):
                    output.append(f"shift of {name} {100 * _scatter(np.array(shifts)) / _scatter(logs):.0f} %")
            print("; ".join(output))


def _scatter(values: Array) -> float:
    """Scatter of the values that are not wild: the biweight's standard error, for a single value."""
    _, error, _ = biweight.centres(values[np.newaxis])
    return float(error[0] * math.sqrt(len(values)))


def _left(logs: Array, variate: Array) -> Array:
    left = np.empty(len(logs))
    for index in range(len(logs)):
        others = np.arange(len(logs)) != index
        x, y = variate[others] - variate[others].mean(), logs[others] - logs[others].mean()
        slope = float(x @ y / (x @ x)) if x @ x else 0.0
        left[index] = logs[index] - slope * (variate[index] - variate[others].mean())
    return left


def _shift(item: dict, other: dict) -> float | None:
    ours, theirs = _quantiles(item), _quantiles(other)
    return None if ours is None or theirs is None else float(np.log(ours / theirs).mean())


def _quantiles(histogram: dict) -> Array | None:
    buckets = np.array(histogram["buckets"], dtype=np.float64)
    if buckets.ndim != 2 or not len(buckets):
        return None
    values, counts = buckets[:, 0], buckets[:, -1]
    shares = (np.cumsum(counts) - counts / 2) / counts.sum()
    return np.interp(np.arange(0.1, 0.95, 0.1), shares, values)


if __name__ == "__main__":
    main()
