"""The JSON form of the result, and the part that later runs quote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ...model.calibration import FalseAlarms
from ...store import Run
from .design import CHANGE
from .judge import Judged, MetricShare, NullResult, Share

NULL_SCHEMA = "sixbench.null/1"


def false_alarms(result: NullResult, runs: Sequence[Run]) -> FalseAlarms:
    """The part of the result that later runs quote."""
    false, found = result.in_all.different, result.power
    return FalseAlarms(
        realtime_ns=max(run.manifest.started_realtime_ns for run in runs),
        comparisons=false.of,
        false=false.found,
        changed=found.of,
        found=found.found,
        change=-CHANGE,
    )


def to_json(result: NullResult) -> dict[str, Any]:
    """Shares with their 95 % intervals, and each comparison by its primary metric. What is unknown is null."""
    return {
        "schema": NULL_SCHEMA,
        "trials": result.trials,
        "invalid": result.invalid,
        "repeats": result.repeats,
        "repeats_valid": result.repeats_valid,
        "false_differences": _share(result.in_all.different),
        "false_by_test_alone": _share(result.in_all.by_test),
        "false_in_any_headline_metric": _share(result.any_metric),
        "by_metric": [_by_metric(one) for one in result.by_metric],
        "injected_change": -CHANGE,
        "injected_found": _share(result.power),
        "changed_values_found": _share(result.power_at_change),
        "smallest_change_found": [asdict(one) | {"at_change": _share(one.at_change)} for one in result.detectable],
        "comparisons": [_comparison(one) for one in [*result.primary, *result.changed]],
    }


def _share(share: Share) -> dict[str, Any]:
    low, high = share.interval or (None, None)
    return {"found": share.found, "of": share.of, "ci_low": low, "ci_high": high}


def _by_metric(one: MetricShare) -> dict[str, Any]:
    return {
        "workload": one.workload,
        "metric": one.metric,
        "is_primary": one.is_primary,
        "different": _share(one.different),
        "by_test_alone": _share(one.by_test),
        "undecided": one.undecided,
    }


def _comparison(one: Judged) -> dict[str, Any]:
    finding = one.finding
    return {
        "name": one.planned.name,
        "is_changed": one.planned.kind.is_changed,
        "blocks": one.planned.blocks,
        "metric": finding.metric,
        "n": finding.n,
        "ratio": finding.ratio,
        "ci_low": finding.ci_low,
        "ci_high": finding.ci_high,
        "p_value": finding.p_value,
        "verdict": finding.verdict,
    }
