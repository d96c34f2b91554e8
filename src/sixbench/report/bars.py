"""An interval as a bar between words: where the change lies, how far its interval reaches, and the A/A interval behind.

The geometry is here, as shares of the bar's length, and is the same for every format. Bars of one metric have one
scale, so that they can be compared by eye.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor

from ..model.experiment import Statistics
from ..model.finding import Finding
from . import rows, words

_MARGIN = 0.04
"""The share of the length that is left free at both ends."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """Positions from 0 (left end) to 1 (right end).

    Attributes:
        low, high: ends of the interval.
        change: the estimate.
        none: no difference.
        noise: ends of the A/A interval; None where there is none.
        theory: what theory expects; None where it is silent.
    """

    low: float
    high: float
    change: float
    none: float
    noise: tuple[float, float] | None
    theory: float | None


@dataclass(frozen=True, kw_only=True)
class Glyphs:
    """Characters of a bar in a terminal."""

    noise: str
    none: str
    interval: str
    change: str
    crossing: str


BLOCKS = Glyphs(noise="░", none="│", interval="━", change="●", crossing="┿")
ASCII = Glyphs(noise=":", none="|", interval="=", change="o", crossing="+")


def bars(findings: Sequence[Finding], statistics: Statistics) -> list[Bar | None]:
    """A bar for each finding, in order; None where it has no interval, or one that says nothing.

    Args:
        findings: of any metrics; each metric of a workload has a scale of its own.
        statistics: the margins within which differences count as none. No scale is shorter, so that what is next to
            nothing looks so.
    """
    drawn = [finding for finding in findings if _is_drawn(finding)]
    scales: dict[tuple[str, str, bool], tuple[float, float]] = {}
    for finding in drawn:
        ends = [0.0, *_values(finding).values(), *(_noise(finding) or ()), *_theory(finding)]
        least, most = scales.get(_scale(finding), (0.0, 0.0))
        least, most = min(least, *ends), max(most, *ends)
        more = max(0.0, _shortest(finding, statistics.margin_of(finding.workload)) - (most - least)) / 2
        scales[_scale(finding)] = least - more, most + more
    return [_bar(finding, scales[_scale(finding)]) if _is_drawn(finding) else None for finding in findings]


def text(bar: Bar, width: int, glyphs: Glyphs) -> str:
    """The bar in so many characters."""
    characters = [" "] * width

    def span(low: float, high: float) -> range:
        first = min(width - 1, max(0, floor(low * width)))
        return range(first, max(first + 1, min(width, ceil(high * width))))

    if bar.noise is not None:
        for place in span(*bar.noise):
            characters[place] = glyphs.noise
    none = span(bar.none, bar.none)[0]
    characters[none] = glyphs.none
    for place in span(bar.low, bar.high):
        characters[place] = glyphs.crossing if place == none else glyphs.interval
    characters[span(bar.change, bar.change)[0]] = glyphs.change
    return "".join(characters)


def _is_drawn(finding: Finding) -> bool:
    return finding.mark not in ("too variable", "not compared") and len(_values(finding)) == 3


def _scale(finding: Finding) -> tuple[str, str, bool]:
    return finding.workload, finding.metric, finding.ratio is None


def _shortest(finding: Finding, margin: float) -> float:
    """The length of the shortest scale: the margin to both sides."""
    if finding.ratio is not None:
        return 2 * 100 * margin
    return 2 * margin * (1.0 if finding.unit == "1" else abs(finding.values[1] or 0.0))


def _values(finding: Finding) -> Mapping[str, float]:
    """The change and the ends of its interval, in percent or in the metric's unit."""
    change = finding.difference if finding.ratio is None else finding.ratio
    values = {"low": finding.ci_low, "change": change, "high": finding.ci_high}
    return {name: _shown(value, finding) for name, item in values.items() if (value := words.finite(item)) is not None}


def _noise(finding: Finding) -> tuple[float, float] | None:
    low, high = words.finite(finding.noise_low), words.finite(finding.noise_high)
    if low is None or high is None or rows.is_noise_too_variable(finding):
        return None
    return _shown(low, finding), _shown(high, finding)


def _theory(finding: Finding) -> list[float]:
    """The change that theory expects, in percent; empty where it is silent."""
    expected = rows.expected_ratio(finding)
    return [] if finding.ratio is None or expected is None else [words.as_percent(expected)]


def _shown(value: float, finding: Finding) -> float:
    return value if finding.ratio is None else words.as_percent(value)


def _bar(finding: Finding, scale: tuple[float, float]) -> Bar:
    least, most = scale
    length = most - least

    def position(value: float) -> float:
        return 0.5 if length == 0 else _MARGIN + (1 - 2 * _MARGIN) * min(1.0, max(0.0, (value - least) / length))

    noise = _noise(finding)
    return Bar(
        **{name: position(value) for name, value in _values(finding).items()},
        none=position(0.0),
        noise=None if noise is None else (position(noise[0]), position(noise[1])),
        theory=next(map(position, _theory(finding)), None),
    )


def legend(shown: Iterable[Bar], glyphs: Glyphs, confidence: float) -> str:
    """Meaning of the characters that occur."""
    has_noise = any(bar.noise is not None for bar in shown)
    return ", ".join(
        [
            f"{glyphs.interval}{glyphs.change}{glyphs.interval} change and its {100 * confidence:g} % interval",
            f"{glyphs.none} no difference",
            *([f"{glyphs.noise} A/A interval"] if has_noise else []),
        ]
    )
