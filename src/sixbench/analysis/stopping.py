"""The rule that ends the measuring of a combination."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from ..model.experiment import Combination, Experiment
from ..model.metric import METRICS
from ..model.observer import StopRule
from ..model.quantity import Metric
from ..model.trial import TrialRecord
from ..model.workloads import WORKLOADS
from ..stats import Estimator, Pairs, coefficient_of_variation, compare, half_width
from .looks import are_answers_decided, schedule

Values = dict[int, float]
"""One path's primary metric by block, of valid trials."""


def rules_met(
    experiment: Experiment, combination: Combination, trials_so_far: Iterable[TrialRecord]
) -> tuple[StopRule, ...]:
    """The rules by which the combination needs no further block. Empty: it needs one.

    A block counts as executed even if its trials failed. After `blocks.minimum` of them a combination ends when the
    rules that the experiment gives hold. `precision`: the confidence interval of every path's ratio to the baseline has
    a half-width of at most this share of the ratio. `deviation`: the standard deviation of every path is under this
    share of its mean. `until: decided`: every path is different from the baseline, or equivalent to it, by tests that
    keep their error over all looks (`looks`). All are about the workload's primary metric. After `blocks.maximum` a
    combination ends in any case, and without a rule it ends only then. A p-value that does not allow for the looks
    never decides: to stop when a difference becomes significant makes differences out of noise.

    A path without any valid trial after the minimum does not hold up the others, since more blocks would not make it
    more precise. Where there is nothing to compare with, because there is only the baseline or because it has no
    valid trial, the interval of each path's own mean is to be as narrow.

    Stopping by precision has a price, since trials that are alike by chance end a combination early. By simulation of
    normal values, intervals of nominal 95 % then cover 92 to 95 % with a minimum of five blocks and 94 to 96 % with
    ten. The chance of any false difference among twenty comparisons, nominally 5 %, is up to 11 % and 8 %. A fixed
    number of blocks has no such price. Two remedies were tried: to correct the width by the number of blocks, and to
    ask for precision twice or three times in a row. They cost more blocks and gain nothing. A higher minimum helps.

    Args:
        experiment: the experiment with the rules and the paths.
        combination: one of its combinations.
        trials_so_far: the trials of complete blocks of this run. Those of other combinations are ignored.
    """
    trials = [trial for trial in trials_so_far if trial.combination == combination.name]
    executed = len({trial.block for trial in trials})
    rules = experiment.blocks
    if executed >= rules.maximum:
        return ("blocks",)
    if executed < rules.minimum or (rules.precision is None and rules.deviation is None and rules.until is None):
        return ()
    if rules.until is not None and not (
        executed in schedule(rules) and are_answers_decided(experiment, combination, trials)
    ):
        return ()
    metric = METRICS[WORKLOADS[combination.workload.kind].primary]
    values: dict[str, Values] = {path.name: {} for path in experiment.paths_of(combination)}
    for trial in trials:
        if trial.status == "ok" and metric.column in trial.metrics:
            values.setdefault(trial.path, {})[trial.block] = trial.metrics[metric.column]
    measured = {path: by_block for path, by_block in values.items() if by_block}
    if rules.deviation is not None and not all(_is_steady(v, rules.deviation) for v in measured.values()):
        return ()
    if rules.precision is not None and not _is_precise(experiment, combination, measured, metric, rules.precision):
        return ()
    given: dict[StopRule, object] = {
        "precision": rules.precision,
        "deviation": rules.deviation,
        "decided": rules.until,
    }
    return tuple(name for name, asked in given.items() if asked is not None)


def _is_steady(values: Values, deviation: float) -> bool:
    variation = coefficient_of_variation(list(values.values()))
    return variation is not None and (variation < deviation or variation == 0)


def _is_precise(
    experiment: Experiment, combination: Combination, measured: dict[str, Values], metric: Metric, precision: float
) -> bool:
    confidence, name = experiment.statistics.confidence, experiment.baseline_of(combination)
    baseline = measured.get(name, {})
    others = [values for path, values in measured.items() if path != name]
    if not baseline or not others:
        return all(_relative_width(v, confidence) <= precision for v in chain(others, [baseline] if baseline else []))
    estimator = experiment.statistics.estimator
    return all(_relative_ratio_width(v, baseline, metric, confidence, estimator) <= precision for v in others)


def _relative_width(values: Values, confidence: float) -> float:
    """Half-width of the interval of the mean, as a share of it; infinite where it is not known."""
    width = half_width(list(values.values()), confidence)
    return _share(width, sum(values.values()) / len(values))


def _relative_ratio_width(
    values: Values, baseline: Values, metric: Metric, confidence: float, estimator: Estimator
) -> float:
    """Half-width of the interval of the ratio, as a share of it; of a difference, as a share of the baseline's mean."""
    blocks = sorted(values.keys() & baseline.keys())
    pairs = Pairs(path=[values[b] for b in blocks], baseline=[baseline[b] for b in blocks], scale=metric.scale)
    compared = compare(pairs, confidence=confidence, margin=0.0, estimator=estimator)
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
