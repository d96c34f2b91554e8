"""Quantities that are calibrated, the links that have them, and how a trial is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..model.trial import TrialRecord

Scale = Literal["relative", "absolute"]


@dataclass(frozen=True, kw_only=True)
class Level:
    """One known value of a quantity.

    Attributes:
        truth: the value, in the unit of its metric.
        link: settings of the link that has this value, as an experiment writes them.
        tunnel_link: settings of the tunnel's own link, if the truth is about what the link leaves inside the tunnel.
            None: the same.
        workload: name and parameters of the workload, likewise.
        first_link: settings of the link before it.
        is_quick: whether `--quick` has it.
        is_reference: whether it is not a truth of its own, but others of its block are compared with it.
        reference: the truth of the level that it is compared with, if any.
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
class ReadingSource:
    """The parts from which a reading is made.

    Attributes:
        record: the record of a valid trial.
        reference: the record of the level's reference in the same block on the same path, if that is valid.
        directory: the directory of the trial's files.
    """

    level: Level
    record: TrialRecord
    reference: TrialRecord | None
    directory: Path


@dataclass(frozen=True, kw_only=True)
class DeviationReading:
    """A reading of something continuous, beside the truth. Both in the unit of the metric."""

    measured: float
    truth: float


@dataclass(frozen=True, kw_only=True)
class CountReading:
    """A reading of something that happens to each packet with a known probability.

    Attributes:
        number, of: the number of packets to which it happened, and the number of all.
        probability: the probability for each packet.
        dispersion: the variance of the count, divided by that of independent packets.
    """

    number: int
    of: int
    probability: float
    dispersion: float = 1.0


@dataclass(frozen=True, kw_only=True)
class MatchReading:
    """A reading that is either exactly the truth or not.

    Attributes:
        measured: the value that was found, in the unit of the metric. None if that is not a number.
        truth: the value that it should be, if that is a number.
        difference: the difference in words. None: there is none.
    """

    measured: float | None = None
    truth: float | None = None
    difference: str | None = None


Reading = DeviationReading | CountReading | MatchReading


@dataclass(frozen=True, kw_only=True)
class UncertaintyLimit:
    """The uncertainty up to which a truth counts as measured well: the larger of the two.

    Attributes:
        absolute: a limit in the unit of the metric.
        relative: a limit as a share of the truth.
    """

    absolute: float = 0.0
    relative: float = 0.0

    def at(self, truth: float) -> float:
        """The limit at this truth, in the unit of the metric."""
        return max(self.absolute, self.relative * abs(truth))


@dataclass(frozen=True, kw_only=True)
class CalibratedMetric:
    """A quantity that is calibrated.

    Attributes:
        name: its name in the registry, such as `tcp-goodput`.
        label: its name in tables and on axes.
        column: the column of the level in records, with the unit last, such as `rate_bps`.
        workload: the workload that measures it.
        metrics: names of that workload's metrics for which it vouches.
        levels: the truths, in ascending order.
        scale: whether bias and uncertainty are shares of the truth or in its unit.
        limit: the limit of uncertainty. None for what is counted or exact, which is judged by its intervals.
        read: makes the reading of a valid trial. None if the trial does not say.
        causes: the known cause of the bias that remains, in a clause. Empty: none is known.
        is_number: whether the measured value is a mere number, rather than in the unit of `column`.
        note: the origin of one trial's truth or interval, in a sentence without its full stop.
    """

    name: str
    label: str
    column: str
    workload: str
    metrics: tuple[str, ...]
    levels: tuple[Level, ...]
    scale: Scale
    limit: UncertaintyLimit | None = None
    read: Callable[[ReadingSource], Reading | None]
    note: str
    causes: str = ""
    is_number: bool = False

    def levels_of(self, quick: bool) -> tuple[Level, ...]:
        """The levels of a full calibration or of a quick one."""
        return tuple(level for level in self.levels if level.is_quick or not quick)
