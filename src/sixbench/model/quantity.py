"""The type of a metric: a quantity that trials measure.

`model.metric` has those that several workloads share; one that a single workload measures is in its file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["higher", "lower", "neither"]
Scale = Literal["ratio", "difference"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A measured quantity.

    Attributes:
        name: as findings name it, such as `rtt_p50`.
        suffix: the unit in the column's name, such as `ns`.
        unit: the unit in words, such as `bit/s`.
        better: which direction is better.
        label: for axes and tables, without the unit.
        reference: the RFC or document that defines it.
        scale: `ratio` when paths are compared by a ratio; `difference` where zero is an ordinary value (loss), so that
            ratios mean nothing.
        is_exact: whether nothing but the path decides it, so that two values that stay the same in all trials differ
            for certain (path MTU).
        may_be_negative: whether there are negative values of it, such as of a change of a time.
        needs_one_clock: whether it follows from the time between a packet's sending on one machine and its arrival on
            another.
    """

    name: str
    suffix: str
    unit: str
    better: Direction
    label: str
    reference: str
    scale: Scale = "ratio"
    is_exact: bool = False
    may_be_negative: bool = False
    needs_one_clock: bool = False

    @property
    def column(self) -> str:
        """Name with unit, as in trial records."""
        return self.name if self.name.endswith(f"_{self.suffix}") else f"{self.name}_{self.suffix}"

    @property
    def has_lower_bound(self) -> bool:
        """True if a theoretical value is a lower bound, above which ends, queues and congestion windows keep what is
        measured: that of a time, and of bytes that more than the path decides. Other theoretical values are those that
        a sender reaches that never pauses."""
        return self.suffix in ("ns", "bytes") and not self.is_exact


FAILURES = "failures"
"""The share of attempts that failed, of workloads towards servers of others."""

_UNITS = {
    "ns": "ns",
    "bps": "bit/s",
    "pps": "packets/s",
    "per_s": "1/s",
    "per_min": "1/min",
    "bytes": "bytes",
    "ratio": "1",
    "cores": "cores",
    "hop": "hop",
}
"""Units by suffix, where the suffix says it."""
_OFTEN_ZERO = ("ratio", "hop")
"""The suffixes of values that are compared by a difference."""


def metric(
    name: str,
    suffix: str,
    better: Direction,
    label: str,
    reference: str,
    unit: str = "",
    scale: Scale | None = None,
    *,
    is_exact: bool = False,
    may_be_negative: bool = False,
    needs_one_clock: bool = False,
) -> Metric:
    """A metric; its unit and its scale are those of the suffix, unless they are given."""
    return Metric(
        name=name,
        suffix=suffix,
        unit=unit or _UNITS[suffix],
        better=better,
        label=label,
        reference=reference,
        scale=scale or ("difference" if suffix in _OFTEN_ZERO else "ratio"),
        is_exact=is_exact,
        may_be_negative=may_be_negative,
        needs_one_clock=needs_one_clock,
    )


def times(prefix: str, label: str, reference: str, *statistics: str, needs_one_clock: bool = False) -> list[Metric]:
    """The statistics of a time: `mean`, `min`, `p50`, `p90`, `p99`, `p999`, `max` or `stdev`."""
    words = {
        "mean": "mean",
        "min": "minimum",
        "p50": "median",
        "p90": "90th percentile",
        "p99": "99th percentile",
        "p999": "99.9th percentile",
        "max": "maximum",
        "stdev": "standard deviation",
    }
    return [
        metric(f"{prefix}_{s}", "ns", "lower", f"{label}, {words[s]}", reference, needs_one_clock=needs_one_clock)
        for s in statistics
    ]


def duration(name: str, label: str, reference: str) -> Metric:
    """A time that is better the shorter it is."""
    return metric(name, "ns", "lower", label, reference)


def share(name: str, label: str, reference: str) -> Metric:
    """A share that is better the lower it is, and often is zero."""
    return metric(name, "ratio", "lower", label, reference)
