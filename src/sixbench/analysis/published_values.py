"""A paper's numbers with ours beside them, each by the paper's own formula."""

from __future__ import annotations

import math
from dataclasses import replace

from .. import theory
from ..model.experiment import Combination
from ..model.finding import Estimate, PublishedComparison
from ..model.kernels import COLUMN
from ..model.paper import (
    SYSTEM,
    UNIT_FACTORS,
    WORKLOAD,
    OurMeasurement,
    OurTheory,
    Paper,
    PublishedValue,
    own_unit,
    unit_factor,
)
from ..model.quoting import listed
from .claim_results import Results, level_of
from .claim_votes import in_percent
from .system_kernels import NEEDS_KERNELS


def compare_published(paper: Paper, results: Results) -> list[PublishedComparison]:
    """One comparison for each published value, in order. If nothing of this run compares with it, `ours` is None and
    the note says why."""
    return [_compare(paper, value, results) for value in paper.values]


def in_theory(ours: OurTheory) -> float:
    """The bytes or percent that follow from headers alone. TCP carries no options here, as in Table 1 of
    raicu-stack-rtt."""
    if ours.message_bytes is not None and ours.quantity.endswith("ip_header_percent"):
        own_bytes, ipv4_bytes = (
            theory.full_packet(mechanism, ours.transport).ip_header_bytes for mechanism in (ours.mechanism, "native4")
        )
        less_bytes = ipv4_bytes if ours.quantity == "extra_ip_header_percent" else 0
        return 100 * (own_bytes - less_bytes) / ours.message_bytes
    if ours.message_bytes is not None:
        first, other = (_row(mechanism, ours) for mechanism in ("native4", ours.mechanism))
        if ours.quantity == "extra_wire_percent":
            return 100 * (other.wire_bytes / first.wire_bytes - 1)
        return 100 * (other.header_bytes - first.header_bytes) / ours.message_bytes
    packet = theory.full_packet(ours.mechanism, ours.transport)
    if ours.quantity == "overhead_percent":
        return 100 * packet.overhead_ratio
    return float(getattr(packet, ours.quantity))


def _row(mechanism: str, ours: OurTheory) -> theory.Row:
    [row] = theory.table((mechanism,), (ours.transport,), (ours.message_bytes,), timestamps=False)
    return row


def _compare(paper: Paper, value: PublishedValue, results: Results) -> PublishedComparison:
    factor, unit = _base_unit(value)
    numbers: _Numbers = (None, None, None)
    reason = ""
    match value.ours:
        case OurTheory() as ours:
            numbers = (in_theory(ours), None, None)
            reason = "ours is computed, not measured"
        case OurMeasurement() as ours:
            numbers, reason = measured(_of_system(ours, value, paper), results)
    system = "" if value.system is None else f"{paper.systems[value.system]}: "
    printed = "" if value.printed is None else f'printed as "{value.printed}"'
    return PublishedComparison(
        source=value.source if value.page is None else f"{value.source}, p. {value.page}",
        what=system + value.what,
        published=value.value * factor,
        unit=unit,
        ours=numbers[0],
        ours_low=numbers[1],
        ours_high=numbers[2],
        note="; ".join(part for part in (printed, value.note, reason) if part),
    )


def _of_system(ours: OurMeasurement, value: PublishedValue, paper: Paper) -> OurMeasurement:
    """The measurement with the kernel that stands for the number's system, if there is one."""
    if value.system not in paper.generations:
        return ours
    levels = {**ours.selector.levels, SYSTEM: (value.system,)}
    return replace(ours, selector=replace(ours.selector, levels=levels))


_Numbers = tuple[float | None, float | None, float | None]
"""Our value and its interval."""

_NOTHING: _Numbers = (None, None, None)


def _base_unit(value: PublishedValue) -> tuple[float, str]:
    """The factor from a published number to the metric's unit, which reports use."""
    if isinstance(value.ours, OurMeasurement):
        our_unit = own_unit(value.ours)
        return unit_factor(value.unit, our_unit) or 1.0, our_unit
    for (theirs, our_unit), factor in UNIT_FACTORS.items():
        if value.unit == theirs and our_unit != "1":
            return factor, our_unit
    return 1.0, value.unit


def measured(ours: OurMeasurement, results: Results) -> tuple[_Numbers, str]:
    """Our value in `own_unit`, with its interval if it has one, and a note, which says why if there is no value."""
    selector = ours.selector
    if SYSTEM in ours.against and not results.system_kernels.kernels:
        return _NOTHING, NEEDS_KERNELS
    places = [(c, path) for c in results.combinations(selector) for path in selector.paths]
    if not places:
        return _NOTHING, "this run has no such combination"
    rows = [numbers for place in places if (numbers := _numbers_at(ours, results, *place))[0] is not None]
    if not rows:
        return _NOTHING, "no valid trial in this run"
    kernels = [str(name) for name in results.system_kernels.select(selector).levels.get(COLUMN, ())]
    whose = f"ours is of {listed(kernels)}" if kernels else ""
    if SYSTEM in ours.against:
        whose += f" against {results.system_kernels.kernels[str(ours.against[SYSTEM])]}"
    if len(rows) == 1:
        return rows[0], whose
    mean = math.fsum(number[0] or 0 for number in rows) / len(rows)
    over = f"the mean over {len(rows)} combinations"
    return (mean, None, None), f"{whose}, {over}" if whose else f"ours is {over}"


def _numbers_at(ours: OurMeasurement, results: Results, combination: Combination, path: str) -> _Numbers:
    metric = ours.selector.metric
    if ours.formula in ("value", "points"):
        return _absolute(ours, results, combination, path)
    if ours.against:
        other = _at(results, combination, ours)
        if other is None:
            return _NOTHING
        then, at = (results.by_block(item, path, metric) for item in (combination, other))
        change = results.compare(then, at, results.margin(combination))
        ends = (change.ratio, change.low, change.high)
    else:
        finding = results.finding(combination, path, metric)
        if finding is None or finding.ratio is None:
            return _NOTHING
        ends = (finding.ratio, finding.ci_low, finding.ci_high)
    first, low, high = (None if ratio is None else in_percent(ours.formula, ratio) for ratio in ends)
    return first, low, high


def _absolute(ours: OurMeasurement, results: Results, combination: Combination, path: str) -> _Numbers:
    metric = ours.selector.metric
    estimate = results.estimate(combination, path, metric)
    if estimate is None:
        return _NOTHING
    share = share_of(ours, results)
    if ours.formula == "points":
        base = _base(ours, results, combination, path)
        return (None if base is None else share * (estimate.value - base.value)), None, None
    ends = (estimate.ci_low, estimate.ci_high)
    low, high = (None if end is None else share * end for end in ends)
    return share * estimate.value, low, high


def _base(ours: OurMeasurement, results: Results, combination: Combination, path: str) -> Estimate | None:
    """The value that a path's own value is compared with."""
    metric = ours.selector.metric
    if not ours.against:
        return results.estimate(combination, results.experiment.baseline_of(combination), metric)
    other = _at(results, combination, ours)
    return None if other is None else results.estimate(other, path, metric)


def share_of(ours: OurMeasurement, results: Results) -> float:
    """The factor from a value of the metric to `own_unit`."""
    return results.share_of_machine(ours.selector.metric) * (1.0 if ours.over_ns is None else ours.over_ns / 1e9)


def _at(results: Results, combination: Combination, ours: OurMeasurement) -> Combination | None:
    """The combination that differs from this one in the levels to compare with, or in its workload."""
    against = dict(ours.against)
    kind = against.get(WORKLOAD, combination.workload.kind)
    if SYSTEM in against:
        against[COLUMN] = results.system_kernels.kernels[str(against.pop(SYSTEM))]
    wanted = {**combination.levels, **against}
    for other in results.experiment.combinations:
        same_kind = other.workload.kind == kind
        if same_kind and all(level_of(other, column) == value for column, value in wanted.items()):
            return other
    return None
