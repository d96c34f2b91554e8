"""The results of a calibration."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model.calibration import Calibrated


@dataclass(frozen=True, kw_only=True)
class ValueInterval:
    """A value and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def has_zero(self) -> bool:
        """True if the value cannot be told from zero."""
        return self.low <= 0 <= self.high


@dataclass(frozen=True, kw_only=True)
class AtTruth:
    """The results at one truth over one path. Bias, spread and uncertainty are shares of the truth, or in the unit
    of the metric, as its scale says.

    Attributes:
        trials: the number of valid trials.
        unusable: the number of other trials, by the reason.
        bias: the bias with its interval, which is widened so that all intervals of a metric over a path hold
            together.
        spread: the standard deviation of one trial.
        uncertainty: half the width of the 95 % interval of one trial.
        covered, judged: the number of trials whose interval holds the truth, or which are exact, and the number of
            all that were judged.
        is_trusted: whether it is measured well.
        expected: the mean of the values that the trials should have measured, which may be another quantity than
            `truth`.
        measured: the values that they did measure.
    """

    truth: float
    trials: int
    unusable: dict[str, int] = field(default_factory=dict)
    bias: ValueInterval | None = None
    spread: float | None = None
    uncertainty: float | None = None
    covered: int = 0
    judged: int = 0
    is_trusted: bool = False
    expected: float | None = None
    measured: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class OverPath:
    """The results of one metric over one path.

    Attributes:
        bias: the bias over all truths together, with its interval by blocks.
        coverage: the share of trials' intervals that hold the truth, with its interval (Clopper and Pearson's).
        summary: the part that later runs quote. None: it is measured well at no truth.
    """

    metric: str
    path: str
    at: tuple[AtTruth, ...]
    bias: ValueInterval | None
    coverage: ValueInterval | None
    summary: Calibrated | None

    @property
    def trials(self) -> int:
        return sum(at_truth.trials for at_truth in self.at)

    @property
    def unusable(self) -> int:
        """The number of other trials."""
        return sum(sum(at_truth.unusable.values()) for at_truth in self.at)
