"""A monitor: a command that is repeated by a schedule, what each occurrence of it measured, and the changes found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .parameter import Scalar

MONITOR_SCHEMA = "sixbench.monitor/1"
OCCURRENCE_SCHEMA = "sixbench.occurrence/1"

OccurrenceState = Literal["complete", "partly", "failed", "interrupted"]
"""`partly`: some of its trials failed. `failed`: it measured nothing that could be used."""

Part = Literal["captures", "run", "table"]
"""Parts that are removed to keep within the bound on the disk: the captures of a run, the run, its rows of the data
set."""

YEAR_NS = 365 * 86_400 * 10**9


@dataclass(frozen=True, kw_only=True)
class FalseAlarms:
    """Rate of changes that are found where there are none, in all series together. One of both is given.

    Attributes:
        per_look: the chance at each look.
        per_year: how many a year. A look then has the share of the time since the look before it.
    """

    per_look: float | None = None
    per_year: float | None = None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings that are fixed when a monitor begins; only `keep_bytes` may change later.

    Attributes:
        command: the words after `sixbench` of what is repeated.
        baseline: how many occurrences at the beginning everything later is held against.
        keep_bytes: how large its directory may be.
    """

    command: tuple[str, ...]
    baseline: int
    false_alarms: FalseAlarms
    keep_bytes: int
    created_realtime_ns: int


@dataclass(frozen=True, kw_only=True)
class FollowedSeries:
    """A series that is followed over time: a headline metric of one path, or of the comparison of a path with its
    baseline path.

    Attributes:
        against: the path that it is compared with; None: it is the path's own value.
        unit: the metric's; `ratio` for a comparison by ratio.
        scale: whether values of it are compared by ratio or by difference.
    """

    workload: str
    metric: str
    unit: str
    scale: Literal["ratio", "difference"]
    combination: str
    path: str
    levels: dict[str, Scalar] = field(default_factory=dict)
    against: str | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """Its identity: no two that are alike in words, even where an experiment that was edited has
        other names for its combinations."""
        levels = sorted(f"{name}={value}" for name, value in self.levels.items())
        return (self.workload, *levels, self.metric, self.unit, self.path, self.against or "")


@dataclass(frozen=True, kw_only=True)
class SeriesValue:
    """The value of a series in one occurrence, from `n` trials or pairs of trials."""

    series: FollowedSeries
    value: float
    n: int


@dataclass(frozen=True, kw_only=True)
class Removed:
    """A part that was removed to keep within the bound on the disk."""

    part: Part
    at_realtime_ns: int
    removed_bytes: int


@dataclass(frozen=True, kw_only=True)
class Occurrence:
    """One repetition.

    Attributes:
        number: from 1. Its run is in `runs`, its rows of the data set in `trials`, by this number.
        exit_code: of the command; None where it did not end by itself.
        reason: why it is not complete; None where it is.
        experiment: the name of the experiment; None where there was no run.
        conditions: what the run was measured with: versions, kernel and the like, and a hash of the experiment.
        values: the valid ones of all series.
        trials: how many were valid.
        removed: the parts that are no longer there.
    """

    number: int
    state: OccurrenceState
    started_realtime_ns: int
    ended_realtime_ns: int
    exit_code: int | None = None
    reason: str | None = None
    experiment: str | None = None
    conditions: dict[str, str] = field(default_factory=dict)
    values: tuple[SeriesValue, ...] = ()
    trials: int = 0
    removed: tuple[Removed, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Monitor:
    """A monitor as it was read.

    Attributes:
        occurrences: in order.
        problems: occurrences that are damaged, each with what is wrong. None of them is among `occurrences`.
    """

    settings: Settings
    occurrences: tuple[Occurrence, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SeriesDeviation:
    """Result of a look at a series.

    Attributes:
        kind: `sudden`: one value alone is too far from the baseline. `lasting`: the last `over` values together are.
        direction: where they are.
        over: how many values it took.
        chance: that of being so far by chance, were there no change.
    """

    kind: Literal["sudden", "lasting"]
    direction: Literal["higher", "lower"]
    over: int
    chance: float


@dataclass(frozen=True, kw_only=True)
class SeriesPoint:
    """A value of a series.

    Attributes:
        deviation: what the look at this occurrence found; None: nothing, or it belongs to the baseline.
        is_baseline: whether it belongs to the baseline.
    """

    number: int
    started_realtime_ns: int
    value: float
    n: int
    is_baseline: bool
    deviation: SeriesDeviation | None = None


@dataclass(frozen=True, kw_only=True)
class Band:
    """The baseline of a series, in its unit.

    Attributes:
        centre: the mean of its values: the geometric one where values are compared by ratio.
        low, high: a single value outside is a sudden change, at the share of the error of the last look. None where the
            baseline has no spread: then only lasting changes are found.
    """

    centre: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class Followed:
    """A series over all occurrences so far.

    Attributes:
        band: None while the baseline is not complete.
    """

    series: FollowedSeries
    points: tuple[SeriesPoint, ...]
    band: Band | None

    @property
    def changed(self) -> SeriesDeviation | None:
        """Result of the last look at it."""
        return self.points[-1].deviation if self.points else None

    @property
    def change_points(self) -> list[SeriesPoint]:
        """The points at which a change was found that the look before did not have."""
        before: Literal["higher", "lower"] | None = None
        results = []
        for point in self.points:
            now = None if point.deviation is None else point.deviation.direction
            if now is not None and now != before:
                results.append(point)
            before = now
        return results
