"""Bias, spread, coverage and trusted ranges, computed from readings alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np

from ..model.calibration import Calibrated
from ..stats import clopper_pearson, half_width, held_out, wilson
from ..stats.prediction import half_width as prediction_half_width
from .metric import CalibratedMetric, CountReading, DeviationReading, MatchReading
from .readings import Readings
from .results import AtTruth, OverPath, ValueInterval

CONFIDENCE = 0.95
VALID_SHARE = 0.9
"""The share of valid trials from which on this machine can measure a truth."""


def assess(all_readings: Iterable[Readings]) -> list[OverPath]:
    """The results by metric and path, in the order of the readings."""
    results = []
    for _, group in groupby(all_readings, key=lambda readings: (readings.metric.name, readings.path)):
        levels = list(group)
        at = tuple(_at(readings, len(levels)) for readings in levels)
        results.append(
            OverPath(
                metric=levels[0].metric.name,
                path=levels[0].path,
                at=at,
                bias=_pooled_bias(levels),
                coverage=_coverage(at),
                summary=_summary(levels[0].metric, levels[0].path, at),
            )
        )
    return results


def _at(readings: Readings, levels: int) -> AtTruth:
    simultaneous = 1 - (1 - CONFIDENCE) / levels
    values = list(readings.by_block.values())
    deviations = [item for item in values if isinstance(item, DeviationReading)]
    counts = [item for item in values if isinstance(item, CountReading)]
    matches = [item for item in values if isinstance(item, MatchReading)]
    if deviations:
        return _of_deviations(readings, deviations, simultaneous)
    return _of_counts(readings, counts, simultaneous) if counts else _of_matches(readings, matches)


def _of_deviations(at_level: Readings, readings: Sequence[DeviationReading], simultaneous: float) -> AtTruth:
    errors = [error_of(at_level.metric, reading) for reading in readings]
    width = half_width(errors, simultaneous)
    mean = float(np.mean(errors))
    bias = None if width is None else ValueInterval(value=mean, low=mean - width, high=mean + width)
    inside = held_out(errors, confidence=CONFIDENCE)
    uncertainty = prediction_half_width(errors, CONFIDENCE)
    limit = at_level.metric.limit
    share = 1 / at_level.level.truth if at_level.metric.scale == "relative" else 1.0
    is_near = False
    if limit is not None and uncertainty is not None:
        is_near = abs(mean) + uncertainty <= limit.at(at_level.level.truth) * share
    return AtTruth(
        truth=at_level.level.truth,
        trials=len(errors),
        unusable=dict(at_level.unusable),
        bias=bias,
        spread=float(np.std(errors, ddof=1)) if len(errors) > 1 else None,
        uncertainty=uncertainty,
        covered=sum(inside),
        judged=len(inside),
        is_trusted=is_near and _is_usable(at_level),
        expected=float(np.mean([reading.truth for reading in readings])),
        measured=tuple(reading.measured for reading in readings),
    )


def _of_counts(at_level: Readings, readings: Sequence[CountReading], simultaneous: float) -> AtTruth:
    number, of = sum(reading.number for reading in readings), sum(reading.of for reading in readings)
    dispersion, truth = readings[0].dispersion, readings[0].probability
    low, high = wilson(number, of, simultaneous, dispersion)
    intervals = [wilson(reading.number, reading.of, CONFIDENCE, reading.dispersion) for reading in readings]
    shares = [reading.number / reading.of for reading in readings]
    covered = sum(
        low_of <= count.probability <= high_of for count, (low_of, high_of) in zip(readings, intervals, strict=True)
    )
    bias = ValueInterval(value=number / of - truth, low=low - truth, high=high - truth)
    return AtTruth(
        truth=at_level.level.truth,
        trials=len(readings),
        unusable=dict(at_level.unusable),
        bias=bias,
        spread=float(np.std(shares, ddof=1)) if len(shares) > 1 else None,
        uncertainty=float(np.median([(high_of - low_of) / 2 for low_of, high_of in intervals])),
        covered=covered,
        judged=len(readings),
        is_trusted=bias.has_zero and _is_usable(at_level),
        expected=truth,
        measured=tuple(shares),
    )


def _of_matches(at_level: Readings, readings: Sequence[MatchReading]) -> AtTruth:
    exact = sum(reading.difference is None for reading in readings)
    truths = [reading.truth for reading in readings if reading.truth is not None]
    return AtTruth(
        truth=at_level.level.truth,
        trials=len(readings),
        unusable=dict(at_level.unusable),
        covered=exact,
        judged=len(readings),
        is_trusted=bool(readings) and exact == len(readings) and _is_usable(at_level),
        expected=float(np.mean(truths)) if truths else None,
        measured=tuple(reading.measured for reading in readings if reading.measured is not None),
    )


def error_of(metric: CalibratedMetric, reading: DeviationReading) -> float:
    """The measured value minus the true one, as a share of the truth or in the unit of the metric."""
    error = reading.measured - reading.truth
    return error / reading.truth if metric.scale == "relative" else error


def _is_usable(readings: Readings) -> bool:
    valid = len(readings.by_block)
    return valid >= VALID_SHARE * (valid + sum(readings.unusable.values()))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _pooled_bias(levels: Sequence[Readings]) -> ValueInterval | None:
    """The bias over all truths. The mean of each block is one value, because the trials of a block may share a
    reference."""
    by_block: dict[int, list[float]] = {}
    for readings in levels:
        for block, reading in readings.by_block.items():
            if isinstance(reading, DeviationReading):
                by_block.setdefault(block, []).append(error_of(readings.metric, reading))
            elif isinstance(reading, CountReading):
                by_block.setdefault(block, []).append(reading.number / reading.of - reading.probability)
    means = [float(np.mean(values)) for values in by_block.values()]
    width = half_width(means, CONFIDENCE)
    if width is None:
        return None
    value = float(np.mean(means))
    return ValueInterval(value=value, low=value - width, high=value + width)


def _coverage(at: Sequence[AtTruth]) -> ValueInterval | None:
    covered, judged = sum(at_truth.covered for at_truth in at), sum(at_truth.judged for at_truth in at)
    if not judged:
        return None
    low, high = clopper_pearson(covered, judged, CONFIDENCE)
    return ValueInterval(value=covered / judged, low=low, high=high)


def _summary(metric: CalibratedMetric, path: str, at: Sequence[AtTruth]) -> Calibrated | None:
    """The range of the longest row of neighbouring truths that are all measured well."""
    rows = [list(row) for trusted, row in groupby(at, key=lambda at_truth: at_truth.is_trusted) if trusted]
    if not rows:
        return None
    best = max(rows, key=len)
    uncertain = (
        [at_truth.uncertainty for at_truth in best if at_truth.uncertainty is not None]
        if metric.limit is not None
        else []
    )
    return Calibrated(
        metric=metric.name,
        label=metric.label,
        path=path,
        workload=metric.workload,
        vouches=metric.metrics,
        column=metric.column,
        low=best[0].truth,
        high=best[-1].truth,
        least=_mean(best[0].measured),
        greatest=_mean(best[-1].measured),
        uncertainty=max(uncertain, default=None),
        scale=metric.scale,
    )
