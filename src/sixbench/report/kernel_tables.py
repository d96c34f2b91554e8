"""Kernel beside kernel: a table for each metric, a row for each path at each combination of the other levels."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.finding import Estimate
from ..model.kernels import COLUMN
from ..model.workloads import WORKLOADS
from . import rows, words
from .intervals import half_interval, of_confidence
from .tables import Table, left, right

_BESIDE_HEADLINE = ("rtt_mean", "rtt_jitter", "tcp_jitter_mean", "cpu_system", "instructions_per_packet")
"""Metrics that are shown beside a workload's headline: what papers tabulate, and what a packet costs."""


def is_on_several(estimates: Sequence[Estimate]) -> bool:
    """True if there is more than one kernel to set beside each other."""
    return COLUMN in rows.varying(estimates)


def kernel_tables(workload: str, estimates: Sequence[Estimate], confidence: float) -> list[Table]:
    """The tables of one workload, in the order of its headline metrics."""
    shown = (*(WORKLOADS[workload].headline if workload in WORKLOADS else ()), *_BESIDE_HEADLINE)
    return [_table(of_metric, confidence) for metric, of_metric in rows.by_metric(estimates).items() if metric in shown]


def _table(estimates: Sequence[Estimate], confidence: float) -> Table:
    """The table of one metric, in one unit."""
    first = estimates[0]
    others = [column for column in rows.varying(estimates) if column != COLUMN]
    kernels = list(dict.fromkeys(str(estimate.levels[COLUMN]) for estimate in estimates if COLUMN in estimate.levels))
    divisor, unit = words.common_scale((estimate.value for estimate in estimates), first.unit)
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for estimate in estimates:
        levels = (words.level(column, estimate.levels.get(column)) for column in others)
        lines.setdefault((*levels, estimate.path), {})[str(estimate.levels.get(COLUMN))] = _cell(estimate, divisor)
    detail = f"{words.metric_label(first.metric)}, kernel by kernel, {unit}"
    return Table.of(
        words.workload_title(first.workload),
        detail + of_confidence(estimates, confidence),
        columns=[*left(*(words.factor(column) for column in others), "path"), *right(*kernels)],
        rows=[[*place, *(cells.get(kernel, words.MISSING) for kernel in kernels)] for place, cells in lines.items()],
    )


def _cell(estimate: Estimate, divisor: float) -> str:
    """The value, and half of its interval."""
    value = words.finite(estimate.value)
    return words.MISSING if value is None else words.number(value / divisor) + half_interval(estimate, divisor)
