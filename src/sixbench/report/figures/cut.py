"""Marks for what an axis cuts off: an arrowhead at the edge, with the number at which the interval ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from .. import words
from . import style

_LINE_PT = 7.6
_HEADS = {("y", True): "^", ("y", False): "v", ("x", True): ">", ("x", False): "<"}


@dataclass(frozen=True, kw_only=True)
class DrawnInterval:
    """An interval that was drawn along an axis of changes.

    Attributes:
        place: where it stands on the other axis.
        shift_pt: how far it was moved from there, in points.
        low, high: its ends; None where there is none.
        name: what it is, where that is not plain from its colour.
    """

    place: float
    low: float | None
    high: float | None
    colour: str
    shift_pt: float = 0.0
    name: str = ""


def percent(value: float) -> str:
    """The number at an arrowhead of an axis of changes."""
    return words.signed(value, 0 if abs(value) >= 10 else 1)


def mark(
    axes: Axes,
    along: Literal["x", "y"],
    intervals: Sequence[DrawnInterval],
    written: Callable[[float], str] = percent,
) -> None:
    """Marks what lies beyond the limits of the axes, which must be final. Several numbers at one place stand one
    below the other along a vertical axis, and in one line along a horizontal one."""
    limits = axes.get_ylim() if along == "y" else axes.get_xlim()
    for is_high in (False, True):
        beyond = [item for item in intervals if _is_beyond(item, limits, is_high=is_high)]
        for place in dict.fromkeys(item.place for item in beyond):
            here = [item for item in beyond if item.place == place]
            texts = [_text(item, written, is_high=is_high) for item in here]
            for interval in here:
                _head(axes, along, interval, limits[is_high], is_high=is_high)
            if along == "y":
                _numbers_upright(axes, here, texts, limits[is_high], is_high=is_high)
            else:
                _numbers_level(axes, here, texts, limits[is_high], is_high=is_high)


def _is_beyond(interval: DrawnInterval, limits: tuple[float, float], *, is_high: bool) -> bool:
    end = interval.high if is_high else interval.low
    return end is not None and (end > limits[1] if is_high else end < limits[0])


def _text(interval: DrawnInterval, written: Callable[[float], str], *, is_high: bool) -> str:
    end = interval.high if is_high else interval.low
    assert end is not None
    return f"{interval.name} {written(end)}" if interval.name else written(end)


def _head(axes: Axes, along: str, interval: DrawnInterval, edge: float, *, is_high: bool) -> None:
    assert axes.figure is not None
    moved = axes.transData + ScaledTranslation(interval.shift_pt / 72, 0, axes.figure.dpi_scale_trans)
    at = ([interval.place], [edge]) if along == "y" else ([edge], [interval.place])
    axes.plot(
        *at,
        marker=_HEADS[along, is_high],
        markersize=4.5,
        color=interval.colour,
        linestyle="none",
        transform=moved if along == "y" else axes.transData,
        clip_on=False,
        zorder=6,
    )


def _numbers_upright(
    axes: Axes, here: Sequence[DrawnInterval], texts: Sequence[str], edge: float, *, is_high: bool
) -> None:
    """Writes the numbers beside the arrowheads, on the side with more room."""
    right = _fraction(axes, here[0].place) < 0.6
    shifts = [item.shift_pt for item in here]
    across = max(shifts) + 4.5 if right else min(shifts) - 4.5
    for line, (interval, text) in enumerate(zip(here, texts, strict=True)):
        down = (0.4 + line) * _LINE_PT
        axes.annotate(
            text,
            (interval.place, edge),
            (across, -down if is_high else down),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center",
            fontsize=style.LEAST_PT,
            color=interval.colour,
            zorder=6,
            bbox=style.BEHIND,
            annotation_clip=False,
        )


def _numbers_level(
    axes: Axes, here: Sequence[DrawnInterval], texts: Sequence[str], edge: float, *, is_high: bool
) -> None:
    axes.annotate(
        ", ".join(texts),
        (edge, here[0].place),
        (-5 if is_high else 5, 0),
        textcoords="offset points",
        ha="right" if is_high else "left",
        va="center_baseline",
        fontsize=style.LEAST_PT,
        color=here[0].colour,
        zorder=6,
        bbox=style.BEHIND,
        annotation_clip=False,
    )


def _fraction(axes: Axes, place: float) -> float:
    """The position of a place from the left edge (0) to the right edge (1)."""
    (x, _), (left, _), (right, _) = axes.transData.transform(
        [
            (place, axes.get_ylim()[0]),
            (axes.get_xlim()[0], axes.get_ylim()[0]),
            (axes.get_xlim()[1], axes.get_ylim()[0]),
        ]
    )
    return float((x - left) / (right - left))
