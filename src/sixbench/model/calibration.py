"""Trust in this machine's numbers: the part of a calibration that later runs use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Calibrated:
    """The range in which a metric was measured well over a path.

    Attributes:
        metric: of the calibration's registry, such as `tcp-goodput`.
        label: in words.
        path: `ipv4`, `ipv6` or `6in4`.
        workload: with which it was measured.
        vouches: the names of that workload's metrics that it holds for.
        column: what `low` and `high` are of, its unit last, such as `link_rate_bps`.
        low, high: the least and the greatest truth, all between them being measured well too.
        least, greatest: what was measured there, in the mean and in the unit of the first of `vouches`; None where that
            is no number.
        uncertainty: half the width of the 95 % interval of one trial, the largest in that range; None where it depends
            on how much was counted, or where the result is exactly the truth.
        scale: whether that is a share of the truth or in its unit.
    """

    metric: str
    label: str
    path: str
    workload: str
    vouches: tuple[str, ...]
    column: str
    low: float
    high: float
    least: float | None = None
    greatest: float | None = None
    uncertainty: float | None = None
    scale: Literal["relative", "absolute"]


@dataclass(frozen=True, kw_only=True)
class ComparisonErrors:
    """Error rates of comparisons whose truth was known.

    Attributes:
        realtime_ns: when they were made.
        comparisons: of paths that are the same; `false`: of these, so many declared a difference.
        changed: of paths that differ by `change`, a share; `found`: of these, so many declared it.
    """

    realtime_ns: int
    comparisons: int
    false: int
    changed: int
    found: int
    change: float


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """One calibration of a machine.

    Attributes:
        machine: an opaque name of the machine, the same at every start.
        kernel: its release.
        realtime_ns: when it began.
        quick: whether it was a quick one.
        ranges: what was measured well; empty where only comparisons were made.
        false_alarms: what became of comparisons whose truth was known; None: none were made.
    """

    machine: str
    kernel: str
    realtime_ns: int
    quick: bool
    ranges: tuple[Calibrated, ...]
    false_alarms: ComparisonErrors | None = None
