"""Pairs and trials that a robust mean leaves aside: how far they are, and whether they are what a path does.

An outlying pair may come from the machine or from a path. Of a comparison, the pairs are given that lie apart beyond
the margin. A path is mixed where its own trials are far from its others more often than those of the other paths are,
the A/A path among them, which the machine disturbs as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import exp, log, log1p

import numpy as np

from ..model.experiment import Experiment
from ..model.finding import Finding
from ..model.metric import METRICS
from ..model.trial import TrialRecord
from ..stats import Comparison, Pairs, more_often_p_value, outlying
from ..stats.biweight import FEWEST
from .estimates import PathTrials
from .noise import MUCH_SLOWDOWN, SLOWDOWN

OF_PATH = 0.92
"""The share of the error that the test of the path may spend where there is no path but it and its baseline. The test
of the baseline has the rest, so that the chance of a comparison to be called mixed for nothing is at most the error.
Three outlying trials of thirty against none have a p-value of 0.045: two tests cannot both find that and err in at most
5 % together."""
OF_PATH_AMONG_MORE = 0.5
"""The same where there are other paths, which say how often trials are outlying: both tests may spend as much."""


WITH_DISTURBANCES = 2.0
"""The factor of the p-value where there are but two paths and the other one has outlying trials too. The test assumes
that disturbances hit each trial independently. With the factor it also errs in at most 5 % where a disturbance never
hits more than one trial of a block."""


def apart_pairs(pairs: Pairs, comparison: Comparison, margin: float) -> list[float]:
    """The ratio of path to baseline in each pair that counts for almost nothing and is another answer: beyond the
    margin from the change, or beyond the margin from no difference where the change is within it."""
    if comparison.ratio is None or not comparison.outlying:
        return []
    reach, centre = log1p(margin), log(comparison.ratio)
    shifts = [log(pairs.path[index]) - log(pairs.baseline[index]) for index in comparison.outlying]
    is_within = abs(centre) <= reach
    return [exp(shift) for shift in shifts if abs(shift - centre) > reach or (is_within and abs(shift) > reach)]


def with_mixtures(
    findings: Sequence[Finding], groups: Mapping[tuple[str, str], PathTrials], experiment: Experiment
) -> list[Finding]:
    """The findings, with `mixed` where pairs lie apart because the path or the baseline is mixed.

    Args:
        groups: the trials by combination and path.
    """
    error = 1 - experiment.statistics.confidence
    counted: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    results = []
    for finding in findings:
        if not finding.apart:
            results.append(finding)
            continue
        key = finding.combination, finding.metric
        if key not in counted:
            trials = {path: group.ok.values() for (name, path), group in groups.items() if name == finding.combination}
            margin = experiment.statistics.margin_of(finding.workload)
            counted[key] = _counts(trials, METRICS[finding.metric].column, margin)
        results.append(replace(finding, mixed=mixed_path(finding.path, finding.baseline, counted[key], error)))
    return results


def mixed_path(path: str, baseline: str, counts: Mapping[str, tuple[int, int]], error: float) -> str | None:
    """The one of the two that is mixed; None where neither is.

    Args:
        counts: by path, the baseline among them: how many trials are far from its others, and how many there are.
        error: the chance that one is called mixed for nothing.
    """
    share = OF_PATH if len(counts) == 2 else OF_PATH_AMONG_MORE
    levels = {path: share * error, baseline: (1 - share) * error}
    return next((name for name, level in levels.items() if _p_value(name, counts) < level), None)


def _p_value(path: str, counts: Mapping[str, tuple[int, int]]) -> float:
    """P-value of the hypothesis that trials of this path are far from its others no more often than those of the
    others."""
    if path not in counts:
        return 1.0
    others = [of_path for name, of_path in counts.items() if name != path]
    far = sum(count for count, _ in others)
    p_value = more_often_p_value(*counts[path], far, sum(n for _, n in others))
    return min(1.0, p_value * (WITH_DISTURBANCES if far and len(others) == 1 else 1.0))


def _counts(trials: Mapping[str, Iterable[TrialRecord]], column: str, margin: float) -> dict[str, tuple[int, int]]:
    """Number of trials of each path that are far from its others, and number of its trials. Trials with a mark of a
    disturbance do not count. Paths with too few trials, and with values that have no logarithm, are left out."""
    results = {}
    for path, trials_of_path in trials.items():
        known = [trial for trial in trials_of_path if column in trial.metrics]
        values = [trial.metrics[column] for trial in known]
        if len(values) >= FEWEST and min(values) > 0:
            far = outlying(np.log([values]), log1p(margin))[0].tolist()
            quiet = [is_far for is_far, trial in zip(far, known, strict=True) if not _is_disturbed(trial)]
            results[path] = (sum(quiet), len(quiet))
    return results


def _is_disturbed(trial: TrialRecord) -> bool:
    """True if a valid trial has a mark of a disturbance: it is a repeat, or its core was slow. Late timers and steps of
    the clock make trials invalid."""
    return bool(trial.repeat) or trial.metrics.get(SLOWDOWN, 0.0) > MUCH_SLOWDOWN
