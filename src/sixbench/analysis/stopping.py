"""When a combination has been measured often enough."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from ..model.experiment import Combination, Experiment
from ..model.metric import METRICS, Metric
from ..model.trial import TrialRecord
from ..model.workloads import WORKLOADS
from ..stats import Pairs, coefficient_of_variation, compare, half_width

Values = dict[int, float]
"""One path's primary metric by block, of valid trials."""


def should_stop(experiment: Experiment, combination: Combination, trials_so_far: Iterable[TrialRecord]) -> bool:
    """Whether the combination needs no further block.

    A block counts as executed whatever became of its trials. After `blocks.minimum` of them a combination ends when
    the rules that the experiment gives hold: the confidence interval of every path's ratio to the baseline has a
    half-width of at most `precision` of the ratio, and the standard deviation of every path is under `deviation` of
    its mean; both of the workload's primary metric. After `blocks.maximum`, and with no rule only then, it ends
    anyway. Never by a p-value: to stop when a difference becomes significant makes differences out of noise.

    A path without any valid trial after the minimum does not hold up the others, since more blocks would not make it
    more precise. Where there is nothing to compare with, because there is only the baseline or because it has no
    valid trial, the interval of each path's own mean is to be as narrow.

    Stopping by precision has a price, as trials that are alike by chance end a combination early: by simulation of
    normal values, intervals of nominal 95 % then cover 92 to 95 % with a minimum of five blocks and 94 to 96 % with
    ten, and the chance of any false difference among twenty comparisons, nominally 5 %, is up to 11 % and 8 %. A fixed
    number of blocks pays nothing. Correcting the width by the number of blocks, or asking for precision twice or
    three times in a row, was tried, costs more blocks and gains nothing; a higher minimum does.

    Args:
        experiment: whose rules and paths.
        combination: one of its combinations.
        trials_so_far: of this run, of complete blocks; those of other combinations are passed over.
    """
    trials = [trial for trial in trials_so_far if trial.combination == combination.name]
    executed = len({trial.block for trial in trials})
    rules = experiment.blocks
    if executed >= rules.maximum:
        return True
    if executed < rules.minimum or (rules.precision is None and rules.deviation is None):
        return False
    metric = METRICS[WORKLOADS[combination.workload.kind].primary]
    values: dict[str, Values] = {path.name: {} for path in experiment.paths}
    for trial in trials:
        if trial.status == "ok" and metric.column in trial.metrics:
            values.setdefault(trial.path, {})[trial.block] = trial.metrics[metric.column]
    measured = {path: by_block for path, by_block in values.items() if by_block}
    if rules.deviation is not None and not all(_is_steady(v, rules.deviation) for v in measured.values()):
        return False
    return rules.precision is None or _is_precise(experiment, measured, metric, rules.precision)


def _is_steady(values: Values, deviation: float) -> bool:
    variation = coefficient_of_variation(list(values.values()))
    return variation is not None and (variation < deviation or variation == 0)


def _is_precise(experiment: Experiment, measured: dict[str, Values], metric: Metric, precision: float) -> bool:
    confidence = experiment.statistics.confidence
    baseline = measured.get(experiment.baseline, {})
    others = [values for path, values in measured.items() if path != experiment.baseline]
    if not baseline or not others:
        return all(_relative_width(v, confidence) <= precision for v in chain(others, [baseline] if baseline else []))
    return all(_relative_ratio_width(v, baseline, metric, confidence) <= precision for v in others)


def _relative_width(values: Values, confidence: float) -> float:
    """Half-width of the interval of the mean, as a share of it; infinite where it is not known."""
    width = half_width(list(values.values()), confidence)
    return _share(width, sum(values.values()) / len(values))


def _relative_ratio_width(values: Values, baseline: Values, metric: Metric, confidence: float) -> float:
    """Half-width of the interval of the ratio, as a share of it; of a difference, as a share of the baseline's mean."""
    blocks = sorted(values.keys() & baseline.keys())
    pairs = Pairs(path=[values[b] for b in blocks], baseline=[baseline[b] for b in blocks], scale=metric.scale)
    compared = compare(pairs, confidence=confidence, margin=0.0)
    if compared.low is None or compared.high is None:
        return float("inf")
    centre = compared.ratio if compared.ratio is not None else sum(pairs.baseline) / len(blocks)
    return _share((compared.high - compared.low) / 2, centre)


def _share(width: float | None, centre: float) -> float:
    if width is None:
        return float("inf")
    if width == 0:
        return 0.0
    return width / abs(centre) if centre else float("inf")
