"""Changes as figures draw them: in percent, with intervals, and with the single pairs where these are few."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...model.finding import Estimate, Finding
from .. import rows, words
from . import style
from .cut import DrawnInterval
from .data import Context

FEW_PAIRS = 7
"""The most pairs that are drawn one by one. An interval of so few rests on each of them."""

PAIRS = "Small ticks are the single pairs of trials."


@dataclass(frozen=True, kw_only=True)
class Change:
    """A finding that is a ratio, in percent.

    Attributes:
        low, high: ends of its interval; None where there is none.
        noise_low, noise_high: those of the A/A comparison at the same levels; None for that comparison itself.
        pairs: the change in each block; empty where there are many that say the same.
    """

    finding: Finding
    value: float
    low: float | None
    high: float | None
    noise_low: float | None
    noise_high: float | None
    pairs: Sequence[float]

    @property
    def ends(self) -> list[float]:
        """The ends to which an axis should reach if it can."""
        return [end for end in (self.low, self.high, self.noise_low, self.noise_high) if end is not None]

    def intervals(self, place: float, colour: str, *, shift_pt: float = 0.0) -> list[DrawnInterval]:
        """The change's interval and the A/A comparison's, both drawn at that place."""
        interval = DrawnInterval(place=place, low=self.low, high=self.high, colour=colour, shift_pt=shift_pt)
        return [interval, self.noise_interval(place)]

    def noise_interval(self, place: float) -> DrawnInterval:
        """The A/A comparison's interval, drawn at that place."""
        return DrawnInterval(place=place, low=self.noise_low, high=self.noise_high, colour=style.MUTED, name="A/A")


def changes(context: Context, findings: Iterable[Finding]) -> list[Change]:
    """The changes of the findings that are ratios, in their order."""
    results = []
    for finding in findings:
        ratio = words.finite(finding.ratio)
        if ratio is None:
            continue
        results.append(
            Change(
                finding=finding,
                value=words.as_percent(ratio),
                low=_percent(finding.ci_low),
                high=_percent(finding.ci_high),
                noise_low=None if finding.is_aa else _percent(finding.noise_low),
                noise_high=None if finding.is_aa else _percent(finding.noise_high),
                pairs=[words.as_percent(pair) for pair in context.pairs(finding)]
                if finding.n <= FEW_PAIRS or finding.apart
                else [],
            )
        )
    return results


def limits(shown: Sequence[Change], margin: float) -> tuple[float, float]:
    """Ends of an axis for these changes. It holds the blocks that say otherwise, however far they are."""
    ends = [end for change in shown for end in (*change.ends, *change.pairs)]
    apart = [pair for change in shown if change.finding.apart for pair in change.pairs]
    return style.change_limits([*(change.value for change in shown), *apart], ends, margin)


def _percent(ratio: float | None) -> float | None:
    known = words.finite(ratio)
    return None if known is None else words.as_percent(known)


def value_handles(context: Context, estimates: Sequence[Estimate], *, is_joined: bool = True) -> list[Line2D]:
    """The legend of values: the paths, and theory if any of them has it."""
    handles = [style.path_handle(path, is_joined=is_joined) for path in context.paths(e.path for e in estimates)]
    return [*handles, style.theory_handle()] if any(estimate.theory is not None for estimate in estimates) else handles


def change_handles(
    context: Context, findings: Sequence[Finding], *, has_theory: bool = True
) -> Iterator[Line2D | Patch]:
    """The legend of changes: what figures draw beside their markers."""
    if has_theory and any(rows.contradicts_theory(finding) for finding in findings):
        yield style.ring_handle()
    yield style.margin_handle(context.margins_of(findings))
    if any(finding.noise_low is not None for finding in findings):
        yield style.noise_handle()
    if any(change.pairs for change in changes(context, findings)):
        yield style.pair_handle()
