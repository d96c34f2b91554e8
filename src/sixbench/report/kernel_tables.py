"""Kernel beside kernel: a table for each metric, a row for each path at each combination of the other levels."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.finding import Estimate
from ..model.kernels import COLUMN
from ..model.workloads import WORKLOADS
from . import rows, words
from .tables import Column, Table

_BESIDE_HEADLINE = ("rtt_mean", "rtt_jitter", "tcp_jitter_mean", "cpu_system", "instructions_per_packet")
"""What is asked of kernels beside a workload's headline: what papers tabulate, and what a packet costs."""


def is_on_several(estimates: Sequence[Estimate]) -> bool:
    """Whether there is more than one kernel to set beside each other."""
    return COLUMN in rows.varying(estimates)


def kernel_tables(workload: str, estimates: Sequence[Estimate], confidence: float) -> list[Table]:
    """Of one workload's estimates, in the order of its headline."""
    shown = (*(WORKLOADS[workload].headline if workload in WORKLOADS else ()), *_BESIDE_HEADLINE)
    return [_table(own, confidence) for metric, own in rows.by_metric(estimates).items() if metric in shown]


def _table(estimates: Sequence[Estimate], confidence: float) -> Table:
    """Of one metric, in one unit."""
    first = estimates[0]
    others = [column for column in rows.varying(estimates) if column != COLUMN]
    kernels = list(dict.fromkeys(str(estimate.levels[COLUMN]) for estimate in estimates if COLUMN in estimate.levels))
    divisor, unit = words.common_scale((estimate.value for estimate in estimates), first.unit)
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for estimate in estimates:
        levels = (words.level(column, estimate.levels.get(column)) for column in others)
        lines.setdefault((*levels, estimate.path), {})[str(estimate.levels.get(COLUMN))] = _cell(estimate, divisor)
    has_intervals = any(estimate.ci_low is not None for estimate in estimates)
    title = f"{words.workload_title(first.workload)}: {words.metric_label(first.metric)}, kernel by kernel, {unit}"
    return Table(
        title=title + (f" (± {100 * confidence:g} % confidence)" if has_intervals else ""),
        columns=[
            *(Column(name=words.factor(column)) for column in others),
            Column(name="path"),
            *(Column(name=kernel, align="right") for kernel in kernels),
        ],
        rows=[[*place, *(cells.get(kernel, words.MISSING) for kernel in kernels)] for place, cells in lines.items()],
    )


def _cell(estimate: Estimate, divisor: float) -> str:
    """The value, and half of its interval."""
    value, low, high = (words.finite(one) for one in (estimate.value, estimate.ci_low, estimate.ci_high))
    if value is None:
        return words.MISSING
    text = words.number(value / divisor)
    return text if low is None or high is None else f"{text} ± {words.number((high - low) / 2 / divisor, 2)}"
