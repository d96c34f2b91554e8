"""The panel of a sweep that shows the change against the baseline at every level."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from ...model.change_words import noise_of
from ...model.finding import Finding
from .. import rows, words
from . import cut, style
from .changes import Change, changes, limits
from .data import Context
from .lines import LevelPoint, line, shift_pt

_NOISE_PT = 13.0
"""Width of the bar of an A/A comparison."""
_PAIR_PT = 4.2
"""The distance from a marker to its pairs."""


def draw(
    axes: Axes, context: Context, findings: Sequence[Finding], column: str, index: int, tips: dict[str, list[str]]
) -> None:
    """Draws the findings of a panel by their level of `column`, and adds what their markers say to `tips`."""
    margin = 100 * max(context.margins(findings), default=0.0)
    axes.axhspan(-margin, margin, color=style.BAND, linewidth=0, zorder=0)
    axes.axhline(0, color=style.MUTED, linewidth=0.8, zorder=1)
    shown = [change for change in changes(context, findings) if not change.finding.is_aa]
    present = context.paths(change.finding.path for change in shown)
    beyond: list[cut.DrawnInterval] = []
    _noise(axes, shown, column, beyond)
    for order, path in enumerate(present):
        of_path = sorted((c for c in shown if c.finding.path == path.name), key=lambda c: _level(c, column))
        gid, moved_pt = f"c{index}-{order}", shift_pt(order, len(present))
        points = [LevelPoint(at=_level(c, column), value=c.value, low=c.low, high=c.high) for c in of_path]
        line(axes, path, points, order=order, moved_pt=moved_pt, gid=gid)
        for change in of_path:
            at = _level(change, column)
            beyond.append(
                cut.DrawnInterval(place=at, low=change.low, high=change.high, colour=path.colour, shift_pt=moved_pt)
            )
            _pairs(axes, change, at, path.colour, moved_pt)
            if rows.contradicts_theory(change.finding):
                style.ring(axes, at, change.value)
        tips[gid] = [_tip(path.name, change, column) for change in of_path]
        expected = [(_level(c, column), rows.expected_ratio(c.finding)) for c in of_path]
        theory = [(at, words.as_percent(ratio)) for at, ratio in expected if ratio is not None]
        if theory:
            axes.plot(*zip(*theory, strict=True), color=path.colour, linestyle=(0, (4, 2)), linewidth=1, zorder=1.5)
    axes.set_ylim(*limits(shown, margin))
    axes.yaxis.set_major_formatter(style.signed_ticks())
    axes.locator_params(axis="y", nbins=5)
    cut.mark(axes, "y", beyond)


def _level(change: Change, column: str) -> float:
    return float(change.finding.levels[column])


def _tip(path: str, change: Change, column: str) -> str:
    finding = change.finding
    text = f"{path}, {words.levels(finding.levels, [column])}\n{rows.row(finding).compared}"
    noise = None if finding.is_aa else noise_of(finding)
    if noise is not None:
        text += f"\nA/A {' to '.join(noise.texts)} {noise.unit}"
    return text


def _noise(axes: Axes, shown: Sequence[Change], column: str, beyond: list[cut.DrawnInterval]) -> None:
    """Draws a bar at each level and nothing between two levels, where nobody measured."""
    for at, change in {_level(change, column): change for change in shown}.items():
        if change.noise_low is not None and change.noise_high is not None:
            axes.vlines(
                at,
                change.noise_low,
                change.noise_high,
                color=style.NOISE,
                linewidth=_NOISE_PT,
                zorder=0.5,
                capstyle="butt",
            )
            beyond.append(change.noise_interval(at))


def _pairs(axes: Axes, change: Change, at: float, colour: str, moved_pt: float) -> None:
    if change.pairs:
        assert axes.figure is not None
        moved = axes.transData + ScaledTranslation((moved_pt + _PAIR_PT) / 72, 0, axes.figure.dpi_scale_trans)
        places = [at] * len(change.pairs)
        axes.plot(places, change.pairs, transform=moved, color=colour, zorder=2.5, **style.UPRIGHT_PAIR)
