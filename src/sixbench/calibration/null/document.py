"""The JSON form of the result, and the part that later runs quote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ...model.calibration import ComparisonErrors
from ...store import Run
from .design import CHANGE
from .judge import JudgedMetric, MetricShare, NullResult, Share

NULL_SCHEMA = "sixbench.null/1"


def false_alarms(result: NullResult, runs: Sequence[Run]) -> ComparisonErrors:
    """The part of the result that later runs quote."""
    false, share = result.in_all.different, result.power
    return ComparisonErrors(
        realtime_ns=max(run.manifest.started_realtime_ns for run in runs),
        comparisons=false.of,
        false=false.number,
        changed=share.of,
        found=share.number,
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
        "by_metric": [_by_metric(metric_share) for metric_share in result.by_metric],
        "injected_change": -CHANGE,
        "injected_found": _share(result.power),
        "changed_values_found": _share(result.power_at_change),
        "smallest_change_found": [
            asdict(detectable) | {"at_change": _share(detectable.at_change)} for detectable in result.detectable
        ],
        "comparisons": [_comparison(item) for item in [*result.primary, *result.changed]],
    }


def _share(share: Share) -> dict[str, Any]:
    low, high = share.interval or (None, None)
    return {"found": share.number, "of": share.of, "ci_low": low, "ci_high": high}


def _by_metric(metric_share: MetricShare) -> dict[str, Any]:
    return {
        "workload": metric_share.workload,
        "metric": metric_share.metric,
        "is_primary": metric_share.is_primary,
        "different": _share(metric_share.different),
        "by_test_alone": _share(metric_share.by_test),
        "undecided": metric_share.undecided,
    }


def _comparison(item: JudgedMetric) -> dict[str, Any]:
    finding = item.finding
    return {
        "name": item.planned.name,
        "is_changed": item.planned.kind.is_changed,
        "blocks": item.planned.blocks,
        "metric": finding.metric,
        "n": finding.n,
        "ratio": finding.ratio,
        "ci_low": finding.ci_low,
        "ci_high": finding.ci_high,
        "p_value": finding.p_value,
        "verdict": finding.verdict,
    }
