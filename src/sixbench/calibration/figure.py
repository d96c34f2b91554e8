"""The figure of one quantity: truth across, measured up; and the errors, which are too small to be seen there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from ..report import words
from ..report.figures import Drawing, Picture, style
from . import wording
from .metric import CalibratedMetric
from .results import AtTruth, OverPath

_CAPTION = (
    "Left: the mean of what was measured, against the truth; the line is where both are the same. Right: the errors at "
    "each truth, with the 95 % intervals of their means (bold) and of one trial (thin); hollow: not trusted. What lies "
    "far beyond those that are trusted is cut off."
)
_SHIFT = 0.05
"""Between the paths at one truth, as a share of the distance to the next."""


def drawing(metric: CalibratedMetric, found: Sequence[OverPath]) -> Drawing | None:
    """The figure; None where nothing was measured that is a number."""
    if not any(one.expected is not None and one.measured for over in found for one in over.at):
        return None
    return Drawing(
        name=f"calibration-{metric.name}",
        title=metric.label,
        caption=_CAPTION,
        section="overview",
        rank=0,
        draw=lambda: _Figure(metric, found).draw(),
    )


def _reach(one: AtTruth) -> float:
    """How far from zero its marks go."""
    if one.bias is None:
        return 0.0
    return max(abs(one.bias.low), abs(one.bias.high), abs(one.bias.value) + (one.uncertainty or 0.0))


@dataclass
class _Figure:
    metric: CalibratedMetric
    found: Sequence[OverPath]
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        """The figure."""
        with style.house_style():
            figure = style.figure(3.2)
            has_errors = any(one.bias is not None for over in self.found for one in over.at)
            grid = figure.add_gridspec(1, 2 if has_errors else 1)
            self._values(figure.add_subplot(grid[0, 0]))
            if has_errors:
                self._errors(figure.add_subplot(grid[0, 1]))
            style.title(figure, self.metric.label)
            style.legend(figure, [self._handle(over) for over in self.found])
            return Picture(figure=figure, tips=self.tips)

    def _values(self, axes: Axes) -> None:
        points = [
            (one.expected, fmean(one.measured))
            for over in self.found
            for one in over.at
            if one.expected is not None and one.measured
        ]
        everything = [value for point in points for value in point if value > 0] or [1.0]
        ends = [min(everything) / 1.3, max(everything) * 1.3]
        axes.plot(ends, ends, color=style.MUTED, linewidth=0.8, zorder=1)
        for over in self.found:
            shown = [one for one in over.at if one.expected is not None and one.measured]
            gid = f"m-{over.path}"
            marks = axes.plot(
                [one.expected or 0.0 for one in shown],
                [fmean(one.measured) for one in shown],
                linestyle="none",
                **self._look(over.path),  # type: ignore[arg-type]
            )[0]
            marks.set_gid(gid)
            self.tips[gid] = [self._tip(over, one) for one in shown]
        is_log = style.spans_decades(everything)
        for axis, scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
            if is_log:
                scale("log")
                axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(FuncFormatter(lambda value, _: wording.value(self.metric, value)))
        axes.set_xlabel(f"truth{' (log scale)' if is_log else ''}")
        axes.set_ylabel(f"measured{' (log scale)' if is_log else ''}")
        axes.tick_params(axis="x", labelrotation=30)

    def _errors(self, axes: Axes) -> None:
        truths = sorted({one.truth for over in self.found for one in over.at})
        axes.axhline(0, color=style.MUTED, linewidth=0.8, zorder=1)
        for number, over in enumerate(self.found):
            shift = (number - (len(self.found) - 1) / 2) * 3 * _SHIFT
            for one in over.at:
                self._error_of(axes, over, one, truths.index(one.truth) + shift)
        axes.set_xlim(-0.6, len(truths) - 0.4)
        every = [one for over in self.found for one in over.at if one.bias is not None]
        reach = [_reach(one) for one in every if one.is_trusted] or [_reach(one) for one in every]
        if max(reach, default=0.0) > 0:
            axes.set_ylim(-1.15 * max(reach), 1.15 * max(reach))
        axes.set_xticks(range(len(truths)), [words.level(self.metric.column, truth) for truth in truths])
        axes.tick_params(axis="x", labelrotation=30)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: wording.deviation(self.metric, value) or "0"))
        axes.set_xlabel(words.factor(self.metric.column))
        axes.set_ylabel("measured less true")

    def _error_of(self, axes: Axes, over: OverPath, one: AtTruth, place: float) -> None:
        if one.bias is None:
            return
        look = self._look(over.path)
        if one.uncertainty is not None:
            ends = [one.bias.value - one.uncertainty, one.bias.value + one.uncertainty]
            axes.plot([place, place], ends, color=look["color"], linewidth=0.6, zorder=2)
        axes.plot([place, place], [one.bias.low, one.bias.high], color=look["color"], linewidth=2.0, zorder=3)
        gid = f"e-{over.path}-{one.truth:g}"
        mark = axes.plot(
            [place],
            [one.bias.value],
            linestyle="none",
            markerfacecolor=look["color"] if one.is_trusted else "white",
            zorder=4,
            **look,  # type: ignore[arg-type]
        )[0]
        mark.set_gid(gid)
        self.tips[gid] = [self._tip(over, one)]

    def _tip(self, over: OverPath, one: AtTruth) -> str:
        said = wording.bias(self.metric, one.bias) or f"{one.covered} of {one.judged} exact"
        return f"{over.path}, {words.level(self.metric.column, one.truth)}\n{said}"

    def _look(self, path: str) -> dict[str, str]:
        own = style.styles_of([over.path for over in self.found])[path]
        return {"color": own.colour, "marker": own.marker}

    def _handle(self, over: OverPath) -> Line2D:
        return Line2D([], [], linestyle="none", label=over.path, **self._look(over.path))  # type: ignore[arg-type]
