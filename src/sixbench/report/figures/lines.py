"""A line of values with error bars, which sweeps draw of values and of changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from .style import PathStyle

DODGE_PT = 3.2
"""The distance between paths at one level, so that their intervals do not cover each other."""


@dataclass(frozen=True, kw_only=True)
class LevelPoint:
    """A value at a level, with its interval where it has one."""

    at: float
    value: float
    low: float | None
    high: float | None


def shift_pt(order: int, of: int, dodge_pt: float = DODGE_PT) -> float:
    """The distance by which the marks of one of several paths are moved to the right."""
    return (order - (of - 1) / 2) * dodge_pt


def line(
    axes: Axes,
    path: PathStyle,
    points: Sequence[LevelPoint],
    *,
    divisor: float = 1.0,
    order: int,
    moved_pt: float,
    gid: str,
    is_joined: bool = True,
) -> None:
    """Draws the line, with `gid` for its markers. Where paths coincide, later ones are smaller and on top.

    Args:
        order: the path's place among those of the panel.
        moved_pt: the distance to the right of its place, in points.
        is_joined: whether there is a line from point to point. Levels of a category have none.
    """
    if not points:
        return
    assert axes.figure is not None
    values = [point.value / divisor for point in points]
    below = [math.nan if p.low is None else max(0.0, (p.value - p.low) / divisor) for p in points]
    above = [math.nan if p.high is None else max(0.0, (p.high - p.value) / divisor) for p in points]
    bars = axes.errorbar(
        [point.at for point in points],
        values,
        yerr=[below, above],
        color=path.colour,
        linestyle=path.line if is_joined else "none",
        marker=path.marker,
        markerfacecolor=path.face,
        markeredgewidth=1,
        markersize=max(2.5, 5.5 - 0.8 * order),
        elinewidth=1,
        transform=axes.transData + ScaledTranslation(moved_pt / 72, 0, axes.figure.dpi_scale_trans),
        zorder=3 + 0.01 * order,
    )
    bars.lines[0].set_gid(gid)
