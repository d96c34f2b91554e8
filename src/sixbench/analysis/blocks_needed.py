"""About how many blocks a finding needs that gives no answer yet.

The spread of the measured pairs tells how wide the interval of a given number of pairs would be (`stats.sample_size`).
It is an estimate for planning a longer run. It is never a rule to stop by; that rule is in `stopping`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import asinh, log

from ..model.experiment import Experiment
from ..model.finding import Finding
from ..stats import values_needed

CHANGES = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
"""The changes to be told where the experiment asks for no precision, the largest first: of those, the largest that the
interval at hand is too wide for."""


def with_blocks_needed(findings: Sequence[Finding], experiment: Experiment) -> list[Finding]:
    """The findings, with `blocks_needed` and `blocks_tell` where they are undecided, too variable or within A/A.

    *Undecided:* the blocks whose interval has a half-width of `blocks_tell` of the ratio, which is the precision that
    the experiment asks for, or else one of `CHANGES`. *Too variable:* those that would tell the change itself, if that
    is larger. *Within A/A:* the blocks whose A/A interval has a half-width of the change itself. The confidence is the
    experiment's, not adjusted for many comparisons. Both fields stay None where the spread is not known or is zero.
    """
    aa_spreads: dict[tuple[str, str, bool], float | None] = {}
    for one in findings:
        if one.is_aa and one.baseline == experiment.baseline:
            aa_spreads.setdefault((one.combination, one.metric, one.ratio is None), one.spread)
    confidence, asked = experiment.statistics.confidence, experiment.blocks.precision
    found = []
    for finding in findings:
        if finding.mark == "within A/A":
            spread = aa_spreads.get((finding.combination, finding.metric, finding.ratio is None))
            found.append(_beyond_noise(finding, spread, confidence))
        elif finding.mark in ("undecided", "too variable"):
            found.append(_more_precise(finding, asked, confidence))
        else:
            found.append(finding)
    return found


def _beyond_noise(finding: Finding, aa_spread: float | None, confidence: float) -> Finding:
    """The number of blocks that make the A/A interval narrower than the change."""
    change = _change(finding)
    if not aa_spread or change is None:
        return finding
    shift = finding.difference if finding.ratio is None else log(finding.ratio)
    needed = None if not shift else values_needed(aa_spread, abs(shift), confidence)
    return finding if needed is None else replace(finding, blocks_needed=max(needed, finding.n + 1), blocks_tell=change)


def _more_precise(finding: Finding, asked: float | None, confidence: float) -> Finding:
    """The number of blocks that make the interval as narrow as the experiment asks, or as the next of `CHANGES`."""
    current = _precision(finding)
    if not finding.spread or current is None:
        return finding
    changes = (*((asked,) if asked else ()), *CHANGES)
    if finding.mark == "too variable" and (own := _change(finding)) is not None and own > changes[0]:
        changes = (own, *changes)
    tells = next((one for one in changes if one < current), None)
    if tells is None:
        return finding
    half_width = asinh(tells) if finding.ratio is not None else tells * _unit(finding)
    needed = values_needed(finding.spread, half_width, confidence)
    return finding if needed is None else replace(finding, blocks_needed=max(needed, finding.n + 1), blocks_tell=tells)


def _change(finding: Finding) -> float | None:
    """How large the change is, as `blocks_tell` counts."""
    if finding.ratio is not None:
        return abs(finding.ratio - 1)
    unit = _unit(finding)
    return abs(finding.difference) / unit if finding.difference is not None and unit else None


def _precision(finding: Finding) -> float | None:
    """Half the width of the interval, as `blocks_tell` counts; None where there is nothing to compare it with."""
    if finding.ci_low is None or finding.ci_high is None:
        return None
    unit = _unit(finding) if finding.ratio is None else finding.ratio
    return (finding.ci_high - finding.ci_low) / 2 / unit if unit else None


def _unit(finding: Finding) -> float:
    """The value that differences are divided by: the baseline's value, or 1 for metrics that are shares themselves."""
    return 1.0 if finding.unit == "1" else abs(finding.values[1] or 0.0)
