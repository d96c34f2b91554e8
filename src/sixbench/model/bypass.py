"""Limits of the tester itself: a workload between two hosts with nothing between them but a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .metric import COLUMNS, METRICS
from .parameter import Params, Scalar
from .programs import has_program
from .topology import Family
from .workload import WorkloadKind

NEAR_SHARE = 0.1
"""A result within a tenth of what the tester can do tells as much about the tester as about the path."""

OFFERED = ("rate_bps", "rate_pps", "rate_per_s", "gaps", "gaps_mean_ns", "on_off", "trace")
"""Parameters of agents that say how much is sent. Then neither the path nor the tester sets the rate."""


@dataclass(frozen=True, kw_only=True)
class Bypass:
    """A bypass run.

    Attributes:
        workload, params: as measured.
        family: of its addresses.
        mtu_bytes, offload: of the link.
        metrics: by column; empty where it failed.
        failed: why.
    """

    workload: str
    params: dict[str, Scalar]
    family: Family
    mtu_bytes: int
    offload: bool
    metrics: dict[str, float] = field(default_factory=dict)
    failed: str | None = None


def bypassed_column(kind: WorkloadKind, params: Params) -> str | None:
    """The metric that shows whether the tester is a workload's limit: the metric that the workload is there to measure.
    None where the tester cannot be the limit, because the experiment or the workload says the rate, or the workload has
    several flows, no length, or an end that is a program of others."""
    if has_program(params):
        return None
    if kind.parts is not None or kind.parameter("duration") is None:
        return None
    is_offered = any(name in OFFERED for name in kind.agent_params(params))
    return None if is_offered else METRICS[kind.primary].column


def is_tester_limited(column: str, metrics: Mapping[str, float], bypass: Mapping[str, float]) -> bool:
    """True if a result is within a tenth of what the tester can do, or beyond."""
    value, limit = metrics.get(column), bypass.get(column)
    if value is None or limit is None or limit <= 0:
        return False
    if COLUMNS[column].better == "lower":
        return value <= limit * (1 + NEAR_SHARE)
    return value >= limit * (1 - NEAR_SHARE)
