"""The machine's calibration and a run's results: the range of trust, and which lie outside that range."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from ..model.calibration import Calibrated, Calibration, ComparisonErrors
from ..model.finding import Analysis, Estimate
from ..model.metric import METRICS
from ..model.workloads import WORKLOADS
from ..store import Manifest, Run
from . import words

NONE = "This machine was not calibrated. Run `sixbench calibrate` to learn the accuracy of these numbers."

TUNNEL = "6in4"
"""The calibrated path that stands for every tunnel."""

NEAR = 0.1
"""Results that are outside a range by no more than this share count as inside: theory and truth differ slightly."""


def sentence(run: Run, analysis: Analysis) -> str | None:
    """The range in which results can be trusted. None for runs that no calibration covers: between two machines, and
    emulated ones."""
    manifest = run.manifest
    if not manifest.experiment.topologies or manifest.environment.guest is not None:
        return None
    if manifest.workers:
        return _of_workers(manifest)
    calibration = manifest.calibration
    if calibration is None:
        return NONE
    trusted = _trusted(calibration, analysis) if calibration.ranges else NONE
    return trusted if calibration.false_alarms is None else f"{trusted} {_false_alarms(calibration.false_alarms)}"


def _of_workers(manifest: Manifest) -> str:
    """Workers that were calibrated. What each may be trusted for is in its own calibration."""
    without = [name for name, worker in manifest.workers.items() if worker.calibration is None]
    if not without:
        return "All workers were calibrated."
    were = "was" if len(without) == 1 else "were"
    return (
        f"{words.listing(without)} {were} not calibrated, of {words.count(len(manifest.workers), 'worker')}. Run "
        "`sixbench calibrate` there to learn the accuracy of these numbers."
    )


def _trusted(calibration: Calibration, analysis: Analysis) -> str:
    workloads = {estimate.workload for estimate in analysis.estimates}
    used = [item for item in calibration.ranges if item.workload in workloads and _is_headline(item)]
    when = f"{_day(calibration.realtime_ns)}{' (--quick)' if calibration.quick else ''}"
    if not used:
        return f"This machine was calibrated on {when}, but for none of these workloads."
    names = [_range(list(group)) for group in _by_metric(used)]
    return f"Calibrated on {when}: {'; '.join(names)}."


def _false_alarms(false_alarms: ComparisonErrors) -> str:
    return (
        f"{false_alarms.false} of {words.count(false_alarms.comparisons, 'comparison')} of equal paths showed a "
        "difference. A "
        f"difference of {100 * abs(false_alarms.change):g} % was found in {false_alarms.found} of "
        f"{false_alarms.changed} "
        f"({_day(false_alarms.realtime_ns)})."
    )


def _day(realtime_ns: int) -> str:
    return datetime.fromtimestamp(realtime_ns // 10**9, UTC).strftime("%Y-%m-%d")


def warnings(run: Run, analysis: Analysis) -> list[str]:
    """A sentence for each quantity that has results outside its calibrated range."""
    calibration = run.manifest.calibration
    if calibration is None:
        return []
    paths = {path.name: _path_of(path.mechanism) for path in run.manifest.experiment.paths}
    names = []
    for group in _by_metric(calibration.ranges):
        ranges = {item.path: item for item in group}
        mine = [estimate for estimate in analysis.estimates if _is_about(estimate, group[0])]
        known = [(estimate, ranges[path]) for estimate in mine if (path := paths.get(estimate.path)) in ranges]
        outside = [estimate for estimate, calibrated in known if not _is_inside(estimate.value, calibrated)]
        if outside:
            low, high = (words.level(METRICS[outside[0].metric].column, _short(end)) for end in _common(group))
            names.append(
                f"{group[0].label}: {len(outside)} of {words.count(len(known), 'result')} of "
                f"{words.workload_in_sentence(group[0].workload)} lie outside the range from {low} to {high}, for "
                "which this machine was calibrated."
            )
    return names


def _is_headline(item: Calibrated) -> bool:
    kind = WORKLOADS.get(item.workload)
    return kind is not None and item.least is not None and any(name in kind.headline for name in item.vouches)


def _by_metric(ranges: Iterable[Calibrated]) -> list[list[Calibrated]]:
    groups: dict[str, list[Calibrated]] = {}
    for item in ranges:
        groups.setdefault(item.metric, []).append(item)
    return list(groups.values())


def _range(group: list[Calibrated]) -> str:
    """The range that holds for all paths: `goodput, TCP, trusted from 1 Mbit/s to 1 Gbit/s, ± 0.02 %`."""
    first = group[0]
    low, high = max(item.low for item in group), min(item.high for item in group)
    text = f"{first.label} trusted from {words.level(first.column, low)} to {words.level(first.column, high)}"
    uncertain = [item.uncertainty for item in group if item.uncertainty is not None]
    if not uncertain:
        return text
    column = "_ratio" if first.scale == "relative" else first.column
    return f"{text}, ± {words.level(column, float(f'{max(uncertain):.2g}'))}"


def _path_of(mechanism: str) -> str:
    return {"native4": "ipv4", "native6": "ipv6", "dual-stack": "ipv6"}.get(mechanism, TUNNEL)


def _is_about(estimate: Estimate, calibrated: Calibrated) -> bool:
    return estimate.workload == calibrated.workload and estimate.metric in calibrated.vouches[:1]


def _is_inside(value: float, calibrated: Calibrated) -> bool:
    if calibrated.least is None or calibrated.greatest is None:
        return True
    # A counted value has no uncertainty, and is certain also below the calibrated range.
    is_above = calibrated.uncertainty is None or value >= calibrated.least * (1 - NEAR)
    return is_above and value <= calibrated.greatest * (1 + NEAR)


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")


def _common(group: list[Calibrated]) -> tuple[float | None, float | None]:
    """The range that the ranges of all paths have in common."""
    least = max((item.least for item in group if item.least is not None), default=None)
    return least, min((item.greatest for item in group if item.greatest is not None), default=None)
