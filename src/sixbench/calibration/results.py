"""What a calibration found."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model.calibration import Calibrated


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A value and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def has_zero(self) -> bool:
        """Whether it cannot be told from zero."""
        return self.low <= 0 <= self.high


@dataclass(frozen=True, kw_only=True)
class AtTruth:
    """What was found at one truth over one path. Bias, spread and uncertainty are shares of the truth, or in the unit
    of the metric, as its scale says.

    Attributes:
        trials: that were valid.
        unusable: that were not, by the reason.
        bias: with its interval, widened so that all intervals of a metric over a path hold together.
        spread: the standard deviation of one trial.
        uncertainty: half the width of the 95 % interval of one trial.
        covered, judged: of so many intervals of trials, so many hold the truth; or so many are exactly the truth.
        is_trusted: whether it is measured well.
        expected: the mean of what the trials should have measured, which may be another quantity than `truth`.
        measured: what they did.
    """

    truth: float
    trials: int
    unusable: dict[str, int] = field(default_factory=dict)
    bias: Interval | None = None
    spread: float | None = None
    uncertainty: float | None = None
    covered: int = 0
    judged: int = 0
    is_trusted: bool = False
    expected: float | None = None
    measured: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class OverPath:
    """What was found of one metric over one path.

    Attributes:
        bias: of all truths together, with its interval by blocks.
        covered: the share of trials' intervals that hold the truth, with its interval (Clopper and Pearson's).
        summary: what later runs quote; None: at no truth is it measured well.
    """

    metric: str
    path: str
    at: tuple[AtTruth, ...]
    bias: Interval | None
    coverage: Interval | None
    summary: Calibrated | None

    @property
    def trials(self) -> int:
        """Valid ones."""
        return sum(one.trials for one in self.at)

    @property
    def unusable(self) -> int:
        """The others."""
        return sum(sum(one.unusable.values()) for one in self.at)

    @property
    def is_unbiased(self) -> bool:
        """Whether zero is in the interval of every bias."""
        return all(one.bias is None or one.bias.has_zero for one in self.at)
