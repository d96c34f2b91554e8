"""What is calibrated: a quantity, the links that have it, and how a trial is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..model.trial import TrialRecord

Scale = Literal["relative", "absolute"]


@dataclass(frozen=True, kw_only=True)
class Level:
    """One truth.

    Attributes:
        truth: in the unit of its metric.
        link: settings of the link that has it, as an experiment writes them.
        tunnel_link: of the tunnel's own, where the truth is of what the link leaves inside the tunnel; None: the same.
        workload: name and parameters of what is measured, likewise.
        first_link: settings of the link before it.
        is_quick: whether `--quick` has it.
        is_reference: whether it is no truth of its own, but what others of its block are held against.
        reference: the truth of the one that it is held against; None: none.
    """

    truth: float
    link: Mapping[str, Any]
    workload: Mapping[str, Mapping[str, Any]]
    first_link: Mapping[str, Any] = field(default_factory=dict)
    tunnel_link: Mapping[str, Any] | None = None
    is_quick: bool = False
    is_reference: bool = False
    reference: float | None = None


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What a reading is made of.

    Attributes:
        record: of a valid trial.
        reference: of the level's reference in the same block on the same path, where that is valid.
        directory: of the trial's files.
    """

    level: Level
    record: TrialRecord
    reference: TrialRecord | None
    directory: Path


@dataclass(frozen=True, kw_only=True)
class Deviation:
    """A reading of something continuous, beside the truth. Both in the unit of the metric."""

    measured: float
    truth: float


@dataclass(frozen=True, kw_only=True)
class Count:
    """A reading of something that happens to each packet with a known probability.

    Attributes:
        found, of: so many of so many.
        probability: of each.
        dispersion: variance of the count over that of independent packets.
    """

    found: int
    of: int
    probability: float
    dispersion: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Match:
    """A reading that is either exactly the truth or not.

    Attributes:
        measured: what was found, in the unit of the metric; None where that is no number.
        truth: what it should be, where that is a number.
        difference: what is not as it should be, in words; None: all is.
    """

    measured: float | None = None
    truth: float | None = None
    difference: str | None = None


Reading = Deviation | Count | Match


@dataclass(frozen=True, kw_only=True)
class Limit:
    """Up to which uncertainty a truth counts as measured well: the larger of the two.

    Attributes:
        absolute: in the unit of the metric.
        relative: share of the truth.
    """

    absolute: float = 0.0
    relative: float = 0.0

    def at(self, truth: float) -> float:
        """In the unit of the metric."""
        return max(self.absolute, self.relative * abs(truth))


@dataclass(frozen=True, kw_only=True)
class CalibratedMetric:
    """A quantity that is calibrated.

    Attributes:
        name: `tcp-goodput` ...
        label: for tables and axes.
        column: of the level in records, its unit last, such as `rate_bps`.
        workload: that it is measured with.
        metrics: names of the metrics of that workload that it vouches for.
        levels: the truths, in ascending order.
        scale: whether bias and uncertainty are shares of the truth or in its unit.
        limit: see there; None for what is counted or exact, which is judged by its intervals.
        read: a valid trial to its reading; None where the trial does not say.
        causes: what is known to cause the bias that remains, in a sentence; empty: nothing is known to.
        is_number: whether what is measured is a mere number, rather than in the unit of `column`.
        note: how the interval of one trial arises, in a sentence.
    """

    name: str
    label: str
    column: str
    workload: str
    metrics: tuple[str, ...]
    levels: tuple[Level, ...]
    scale: Scale
    limit: Limit | None = None
    read: Callable[[Trial], Reading | None]
    note: str
    causes: str = ""
    is_number: bool = False

    def levels_of(self, quick: bool) -> tuple[Level, ...]:
        """The levels of a full calibration or of a quick one."""
        return tuple(level for level in self.levels if level.is_quick or not quick)
