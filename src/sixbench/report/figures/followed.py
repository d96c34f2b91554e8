"""A metric over the occurrences of a monitor: a panel for each path, with the band of the baseline and what each look
found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...model.monitoring import Band, Followed, SeriesPoint
from .. import words
from ..series_words import path_text, title_of, value_text
from . import style
from .drawing import Drawing, Picture, slug
from .panels import PanelGrid

MOST_PANELS = 8
MOST_POINTS = 400
"""Number of points of a panel: the latest. The baseline's band is there in any case."""

_COLUMNS = 2
_PANEL_IN = 1.75
_CHANGED = "#a83246"
_LINE: style.Look = {"color": _CHANGED, "linestyle": (0, (4, 2)), "linewidth": 0.9}
"""Both in the colour of `style.ring`."""

_CAPTION = (
    "Each marker is an occurrence; hollow markers are the baseline. The line is the mean of the baseline, the band its "
    "range. Dotted lines, where they are near, are where a single value becomes a sudden change. A red marker is a "
    "value at which a look found a change, and a dashed line is where it was found first. Times are UTC."
)


def drawing(followed: Sequence[Followed]) -> Drawing:
    """The figure of the series of one metric, which have a workload, levels and a combination in common."""
    first = followed[0].series
    title = title_of(followed[0])
    shown = followed[:MOST_PANELS]
    left = len(followed) - len(shown)
    longest = max(len(item.points) for item in followed)
    caption = _CAPTION
    if longest > MOST_POINTS:
        caption += f" The latest {MOST_POINTS} of {longest} values are shown."
    if left:
        caption += f" The figure leaves out {words.count(left, 'more panel')}."
    unique = sha256("\n".join(first.key).encode()).hexdigest()[:8]
    return Drawing(
        name=f"{slug(first.workload)}-{slug(first.metric)}-{unique}",
        title=title,
        caption=caption,
        section="workload",
        workload=first.workload,
        rank=0,
        draw=lambda width_in: _Figure(shown, title, width_in).draw(),
    )


@dataclass
class _Figure:
    followed: Sequence[Followed]
    title: str
    width_in: float
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        with style.house_style():
            grid = PanelGrid.fitting(len(self.followed), self.width_in, most_columns=_COLUMNS, beside_in=0.5)
            figure = style.figure(0.65 + _PANEL_IN * grid.rows, self.width_in)
            looks = style.styles_of(list(dict.fromkeys(element.series.path for element in self.followed)))
            for place, item in zip(grid.places(figure), self.followed, strict=True):
                look = looks.get(item.series.path)
                place.title(path_text(item))
                self._panel(place.axes[0], item, style.MUTED if look is None else look.colour, f"p{place.index}")
            style.title(figure, self.title)
            style.legend(figure, self._handles())
            return Picture(figure=figure, tips=self.tips)

    def _handles(self) -> list[Line2D | Patch]:
        handles: list[Line2D | Patch] = [
            Line2D([], [], color=style.MUTED, marker="o", linestyle="", markersize=4, label="an occurrence"),
            Patch(facecolor=style.BAND, edgecolor=style.FAINT, label="baseline"),
        ]
        if any(item.change_points for item in self.followed):
            handles.append(Line2D([], [], label="a change is found", **_LINE))
        return handles

    def _panel(self, axes: Axes, item: Followed, colour: str, gid: str) -> None:
        points = item.points[-MOST_POINTS:]
        divisor, offset, unit = _scale(item)
        at = [_when(point) for point in points]
        values = [(point.value - offset) / divisor for point in points]
        if item.band is not None:
            _draw_band(axes, item, item.band, divisor, offset)
        axes.plot(at, values, color=colour, linewidth=0.6, alpha=0.5, zorder=2)
        kinds = {"baseline": ("white", colour), "later": (colour, colour), "changed": (_CHANGED, _CHANGED)}
        for kind, (face, edge) in kinds.items():
            chosen = [index for index, point in enumerate(points) if _kind(point) == kind]
            if not chosen:
                continue
            marks = axes.plot(
                [at[index] for index in chosen],
                [values[index] for index in chosen],
                linestyle="none",
                marker="o",
                markersize=3.4,
                color=edge,
                markerfacecolor=face,
                zorder=3,
            )[0]
            marks.set_gid(f"{gid}-{kind}")
            self.tips[f"{gid}-{kind}"] = [_tip(item, points[index]) for index in chosen]
        numbers = {point.number for point in item.change_points}
        for index, point in enumerate(points):
            if point.number in numbers:
                axes.axvline(at[index], zorder=1, **_LINE)
        axes.set_ylabel(unit)
        locator = AutoDateLocator(minticks=2, maxticks=5)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        _limits(axes, item, at, values, divisor, offset)


def _kind(point: SeriesPoint) -> str:
    return "baseline" if point.is_baseline else "later" if point.deviation is None else "changed"


def _draw_band(axes: Axes, item: Followed, band: Band, divisor: float, offset: float) -> None:
    values = [(point.value - offset) / divisor for point in item.points if point.is_baseline]
    axes.axhspan(min(values), max(values), color=style.BAND, zorder=0)
    axes.axhline((band.centre - offset) / divisor, color=style.MUTED, linewidth=0.8, zorder=1)
    for end in (band.low, band.high):
        if end is not None:
            axes.axhline((end - offset) / divisor, color=style.MUTED, linestyle=":", linewidth=0.9, zorder=1)


def _limits(axes: Axes, item: Followed, at: list[float], values: list[float], divisor: float, offset: float) -> None:
    """All values and the baseline are in the panel, and the limits of sudden changes where they are near."""
    shown = [*values, *((point.value - offset) / divisor for point in item.points if point.is_baseline)]
    low, high = min(shown), max(shown)
    reach = 0.5 * (high - low) or 1e-3 * abs(high) or 1.0
    ends = [] if item.band is None else [end for end in (item.band.low, item.band.high) if end is not None]
    near = [end for end in ((end - offset) / divisor for end in ends) if low - reach <= end <= high + reach]
    low, high = min([low, *near]), max([high, *near])
    pad = 0.08 * (high - low) or reach
    axes.set_ylim(low - pad, high + pad)
    span = (max(at) - min(at)) or 1 / 24
    axes.set_xlim(min(at) - 0.04 * span, max(at) + 0.04 * span)


def _scale(item: Followed) -> tuple[float, float, str]:
    """The value that is subtracted from values, their divisor, and the name of their unit."""
    series = item.series
    if series.unit == "ratio":
        return 0.01, 1.0, "Change (%)"
    divisor, unit = words.common_scale([point.value for point in item.points], series.unit)
    if series.against is not None:
        return divisor, 0.0, "Change (pp)" if unit == "%" else f"Change ({unit})"
    return divisor, 0.0, unit


def _when(point: SeriesPoint) -> float:
    when = datetime.fromtimestamp(point.started_realtime_ns / 1e9, UTC)
    return float(date2num(when))  # type: ignore[no-untyped-call]


def _tip(item: Followed, point: SeriesPoint) -> str:
    lines = [
        f"{path_text(item)}, occurrence {point.number}",
        datetime.fromtimestamp(point.started_realtime_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        f"{value_text(item, point.value)} (n = {point.n})",
    ]
    if point.is_baseline:
        lines.append("baseline")
    if point.deviation is not None:
        lines.append(f"{point.deviation.direction} than the baseline: {point.deviation.kind}")
    return "\n".join(lines)
