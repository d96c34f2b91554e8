"""About how many blocks a comparison needs that gives no answer yet.

The spread of the measured pairs tells how wide the interval of a given number of pairs would be (`stats.sample_size`).
It is an estimate for planning a longer run. It is never a rule to stop by; that rule is in `stopping`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import asinh, log

from ..model.experiment import Experiment
from ..model.finding import Finding, KernelContrast, is_too_variable
from ..stats import values_needed

CHANGES = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
"""The changes to be told where the experiment asks for no precision, the largest first: of those, the largest that the
interval at hand is too wide for."""


@dataclass(frozen=True, kw_only=True)
class Needed:
    """About how many blocks make an answer.

    Attributes:
        blocks: of the whole run, at least one more than there are.
        tells: the change that so many blocks would tell from none, as a share of the reference's value (of metrics that
            are shares themselves: as a difference).
    """

    blocks: int
    tells: float


@dataclass(frozen=True, kw_only=True)
class Unanswered:
    """A comparison that is not decided: of paths, of kernels or of runs.

    Attributes:
        n: blocks.
        ratio: None where it is by `difference`.
        low, high: confidence interval of the ratio, or of the difference.
        spread: the standard deviation of a single block's log ratio, or difference.
        unit: of the metric, `1` for shares.
        values: the value that is compared, and the reference's.
    """

    n: int
    ratio: float | None
    difference: float | None
    low: float | None
    high: float | None
    spread: float | None
    unit: str
    values: tuple[float | None, float | None]

    @classmethod
    def of(cls, compared: Finding | KernelContrast) -> Unanswered:
        """The comparison of a finding, or of a contrast of kernels."""
        return cls(
            n=compared.n,
            ratio=compared.ratio,
            difference=compared.difference,
            low=compared.ci_low,
            high=compared.ci_high,
            spread=compared.spread,
            unit=compared.unit,
            values=compared.values,
        )

    @property
    def change(self) -> float | None:
        """Size of the change, as `Needed.tells` counts."""
        if self.ratio is not None:
            return abs(self.ratio - 1)
        return abs(self.difference) / self.divisor if self.difference is not None and self.divisor else None

    @property
    def precision(self) -> float | None:
        """Half the width of the interval, as `Needed.tells` counts; None where there is nothing to compare it with."""
        if self.low is None or self.high is None:
            return None
        unit = self.divisor if self.ratio is None else self.ratio
        return (self.high - self.low) / 2 / unit if unit else None

    @property
    def divisor(self) -> float:
        """The value that differences are divided by: the reference's, or 1 for metrics that are shares themselves."""
        return 1.0 if self.unit == "1" else abs(self.values[1] or 0.0)

    @property
    def is_too_variable(self) -> bool:
        """True if the interval is so wide that it says nothing."""
        if self.low is None or self.high is None:
            return False
        return is_too_variable(self.low, self.high, self.ratio, self.values)


def more_precise(unanswered: Unanswered, asked: float | None, confidence: float) -> Needed | None:
    """The number of blocks that make the interval as narrow as the experiment asks, or as the next of `CHANGES`; where
    it is too variable, those that would tell the change itself, if that is larger. None where the spread is not known
    or is zero.

    Args:
        asked: the precision that the experiment asks for; None: for none.
        confidence: of the interval; it is not adjusted for many comparisons.
    """
    current = unanswered.precision
    if not unanswered.spread or current is None:
        return None
    changes = (*((asked,) if asked else ()), *CHANGES)
    if unanswered.is_too_variable and (change := unanswered.change) is not None and change > changes[0]:
        changes = (change, *changes)
    tells = next((item for item in changes if item < current), None)
    if tells is None:
        return None
    half_width = asinh(tells) if unanswered.ratio is not None else tells * unanswered.divisor
    blocks = values_needed(unanswered.spread, half_width, confidence)
    return None if blocks is None else Needed(blocks=max(blocks, unanswered.n + 1), tells=tells)


def with_blocks_needed(findings: Sequence[Finding], experiment: Experiment) -> list[Finding]:
    """The findings, with `blocks_needed` and `blocks_tell` where they are undecided, too variable or within A/A.

    *Undecided, too variable:* see `more_precise`. *Within A/A:* the blocks whose A/A interval has a half-width of the
    change itself. Both fields stay None where the spread is not known or is zero.
    """
    aa_spreads: dict[tuple[str, str, bool], float | None] = {}
    for item in findings:
        if item.is_aa and item.baseline == experiment.baseline:
            aa_spreads.setdefault((item.combination, item.metric, item.ratio is None), item.spread)
    confidence, asked = experiment.statistics.confidence, experiment.blocks.precision
    completed = []
    for finding in findings:
        needed = None
        if finding.mark == "within A/A":
            spread = aa_spreads.get((finding.combination, finding.metric, finding.ratio is None))
            needed = _beyond_noise(Unanswered.of(finding), spread, confidence)
        elif finding.mark in ("undecided", "too variable"):
            needed = more_precise(Unanswered.of(finding), asked, confidence)
        answers = {} if needed is None else {"blocks_needed": needed.blocks, "blocks_tell": needed.tells}
        completed.append(replace(finding, **answers))  # type: ignore[arg-type]
    return completed


def _beyond_noise(unanswered: Unanswered, aa_spread: float | None, confidence: float) -> Needed | None:
    """The number of blocks that make the A/A interval narrower than the change."""
    change = unanswered.change
    shift = unanswered.difference if unanswered.ratio is None else log(unanswered.ratio)
    if not aa_spread or change is None or not shift:
        return None
    blocks = values_needed(aa_spread, abs(shift), confidence)
    return None if blocks is None else Needed(blocks=max(blocks, unanswered.n + 1), tells=change)
