"""A run's values for a monitor, and the changes that the occurrences of a monitor show.

*The baseline* of a series is its first values, as many as were fixed when the monitor began. *Looks.* Each later
occurrence that has the series is a look (`stats.control`). The error of a look is shared equally by all series that
were known by then. So the chance that a look finds any change where there is none is at most that error, in all
series together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from math import exp, inf, log
from typing import TYPE_CHECKING

from ..model.finding import Analysis, Finding
from ..model.metric import METRICS
from ..model.monitoring import (
    YEAR_NS,
    Band,
    FalseAlarms,
    Followed,
    FollowedSeries,
    Occurrence,
    SeriesDeviation,
    SeriesPoint,
    SeriesValue,
    Settings,
)
from ..model.workloads import WORKLOADS
from ..stats import Departure, departures, sudden_width

if TYPE_CHECKING:
    from ..store import Run

MOST_PER_LOOK = 0.05
"""The largest error of a look, however long ago the look before it was."""


def measured_of(run: Run, analysis: Analysis) -> tuple[SeriesValue, ...]:
    """The headline metrics of a run: of each path, and of the comparison of each path with its baseline."""
    measured_values = [
        SeriesValue(
            series=FollowedSeries(
                workload=estimate.workload,
                metric=estimate.metric,
                unit=estimate.unit,
                scale=METRICS[estimate.metric].scale if estimate.metric in METRICS else "ratio",
                combination=estimate.combination,
                path=estimate.path,
                levels=estimate.levels,
            ),
            value=estimate.value,
            n=estimate.n,
        )
        for estimate in analysis.estimates
        if estimate.metric in WORKLOADS[estimate.workload].headline
    ]
    compared = (_compared(finding) for finding in analysis.findings if finding.headline and not finding.is_aa)
    return (*measured_values, *(item for item in compared if item is not None))


def _compared(finding: Finding) -> SeriesValue | None:
    """The change of a comparison on the scale of its metric, which is the same in every occurrence: where a trial had
    the value 0, the analysis compares by difference, and the ratio here is that of the two mean values. None where the
    baseline has no value above 0 to be compared with."""
    scale = METRICS[finding.metric].scale if finding.metric in METRICS else "ratio"
    value = finding.ratio if scale == "ratio" else finding.difference
    if scale == "ratio" and value is None:
        path, baseline = finding.values
        value = path / baseline if path is not None and path >= 0 and baseline is not None and baseline > 0 else None
    if value is None:
        return None
    series = FollowedSeries(
        workload=finding.workload,
        metric=finding.metric,
        unit="ratio" if scale == "ratio" else finding.unit,
        scale=scale,
        combination=finding.combination,
        path=finding.path,
        levels=finding.levels,
        against=finding.baseline,
    )
    return SeriesValue(series=series, value=value, n=finding.n)


def conditions_of(run: Run) -> dict[str, str]:
    """The conditions of a run's measurements, as far as it explains changes by itself."""
    environment = run.manifest.environment
    return {
        "experiment": sha256(run.manifest.experiment.text.encode()).hexdigest()[:16],
        "kernel": environment.kernel,
        "machine": environment.machine,
        "cpu": environment.cpu,
        "clock": environment.clock,
        **{f"version of {name}": version for name, version in environment.versions.items()},
    }


def new_conditions(occurrences: Sequence[Occurrence]) -> dict[int, list[str]]:
    """Conditions that changed, by the number of the occurrence: those that differ from the previous occurrence that has
    conditions."""
    before: dict[str, str] | None = None
    texts: dict[int, list[str]] = {}
    for occurrence in occurrences:
        if not occurrence.conditions:
            continue
        if before is not None:
            names = dict.fromkeys([*before, *occurrence.conditions])
            different = [name for name in names if before.get(name) != occurrence.conditions.get(name)]
            if different:
                texts[occurrence.number] = different
        before = occurrence.conditions
    return texts


def error_of_look(false_alarms: FalseAlarms, since_before_ns: int) -> float:
    """The error of a look: a share of all looks, or by the time since the look before it."""
    if false_alarms.per_look is not None:
        return false_alarms.per_look
    return min(MOST_PER_LOOK, (false_alarms.per_year or 0.0) * max(0, since_before_ns) / YEAR_NS)


def follow(occurrences: Iterable[Occurrence], settings: Settings) -> list[Followed]:
    """Every series with what each look at it found, in the order in which they came."""
    series: dict[tuple[str, ...], FollowedSeries] = {}
    points: dict[tuple[str, ...], list[SeriesPoint]] = {}
    levels: dict[tuple[str, ...], list[float]] = {}
    before_ns: int | None = None
    for occurrence in occurrences:
        values = [measured for measured in occurrence.values if _is_of_its_scale(measured.series)]
        if not values:
            continue
        for measured in values:
            series.setdefault(measured.series.key, measured.series)
        since_ns = 0 if before_ns is None else occurrence.started_realtime_ns - before_ns
        level = error_of_look(settings.false_alarms, since_ns) / len(series)
        before_ns = occurrence.started_realtime_ns
        for measured in values:
            known = points.setdefault(measured.series.key, [])
            known.append(
                SeriesPoint(
                    number=occurrence.number,
                    started_realtime_ns=occurrence.started_realtime_ns,
                    value=measured.value,
                    n=measured.n,
                    is_baseline=len(known) < settings.baseline,
                )
            )
            levels.setdefault(measured.series.key, []).append(level)
    return [_followed(series[key], points[key], levels[key], settings.baseline) for key in series]


def _is_of_its_scale(series: FollowedSeries) -> bool:
    """True if a comparison is on the scale of its metric. Earlier versions recorded it by difference in an occurrence
    where a trial had the value 0, which made a second series of it."""
    return series.against is None or series.metric not in METRICS or series.scale == METRICS[series.metric].scale


def _followed(series: FollowedSeries, points: list[SeriesPoint], levels: list[float], baseline: int) -> Followed:
    if len(points) < baseline:
        return Followed(series=series, points=tuple(points), band=None)
    is_ratio = series.scale == "ratio" and min(point.value for point in points[:baseline]) > 0
    values = [_as_judged(point.value, is_ratio=is_ratio) for point in points]
    first, later = values[:baseline], values[baseline:]
    results = departures(first, later, levels[baseline:])
    judged = [
        replace(point, deviation=None if departure is None else _deviation(departure))
        for point, departure in zip(points[baseline:], results, strict=True)
    ]
    return Followed(
        series=series, points=(*points[:baseline], *judged), band=_band(first, levels[-1], is_ratio=is_ratio)
    )


def _as_judged(value: float, *, is_ratio: bool) -> float:
    if not is_ratio:
        return value
    return log(value) if value > 0 else -inf  # nothing arrived: lower than any value


def _deviation(departure: Departure) -> SeriesDeviation:
    return SeriesDeviation(
        kind=departure.kind,
        direction="higher" if departure.is_higher else "lower",
        over=departure.over,
        chance=departure.chance,
    )


def _band(baseline: Sequence[float], level: float, *, is_ratio: bool) -> Band:
    centre = sum(baseline) / len(baseline)
    width = sudden_width(baseline, level)
    ends = [centre] if width is None else [centre, centre - width, centre + width]
    shown = [exp(min(end, 700.0)) for end in ends] if is_ratio else ends
    return Band(centre=shown[0], low=None if width is None else shown[1], high=None if width is None else shown[2])
