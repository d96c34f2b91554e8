"""The figure of one quantity: measured values against the truth, and the errors, which are too small to be seen
there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from ..report import words
from ..report.figures import Drawing, Picture, cut, style
from ..report.figures.panels import PanelGrid
from . import numbers
from .metric import CalibratedMetric
from .results import AtTruth, OverPath

_CAPTION = (
    "The first panel has the mean of what was measured, against the truth. On the line, both are the same. The second "
    "panel has the errors at each truth, with the 95 % intervals of their means (bold) and of one trial (thin). Hollow "
    "markers are not trusted. An arrowhead marks an interval that is cut off, with the number at which it ends."
)
_SHIFT = 0.05
"""The distance between paths at one truth, as a share of the distance to the next truth."""


def drawing(metric: CalibratedMetric, over_paths: Sequence[OverPath]) -> Drawing | None:
    """The figure. None if nothing was measured that is a number."""
    if not any(at_truth.expected is not None and at_truth.measured for over in over_paths for at_truth in over.at):
        return None
    return Drawing(
        name=f"calibration-{metric.name}",
        title=metric.label,
        caption=_CAPTION,
        section="overview",
        rank=0,
        draw=lambda width_in: _Figure(metric, over_paths, width_in).draw(),
    )


def _reach(at_truth: AtTruth) -> float:
    """The farthest from zero that its marks go."""
    if at_truth.bias is None:
        return 0.0
    return max(
        abs(at_truth.bias.low), abs(at_truth.bias.high), abs(at_truth.bias.value) + (at_truth.uncertainty or 0.0)
    )


@dataclass
class _Figure:
    metric: CalibratedMetric
    results: Sequence[OverPath]
    width_in: float
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        with style.house_style():
            has_errors = any(at_truth.bias is not None for over in self.results for at_truth in over.at)
            panels = [self._values, self._errors] if has_errors else [self._values]
            grid = PanelGrid.fitting(len(panels), self.width_in)
            figure = style.figure(0.6 + 2.6 * grid.rows, self.width_in)
            for place, panel in zip(grid.places(figure), panels, strict=True):
                panel(place.axes[0])
            style.title(figure, self.metric.label)
            style.legend(figure, [self._handle(over) for over in self.results])
            return Picture(figure=figure, tips=self.tips)

    def _values(self, axes: Axes) -> None:
        points = [
            (at_truth.expected, fmean(at_truth.measured))
            for over in self.results
            for at_truth in over.at
            if at_truth.expected is not None and at_truth.measured
        ]
        everything = [value for point in points for value in point if value > 0] or [1.0]
        ends = [min(everything) / 1.3, max(everything) * 1.3]
        axes.plot(ends, ends, color=style.MUTED, linewidth=0.8, zorder=1)
        for over in self.results:
            shown = [at_truth for at_truth in over.at if at_truth.expected is not None and at_truth.measured]
            gid = f"m-{over.path}"
            marks = axes.plot(
                [at_truth.expected or 0.0 for at_truth in shown],
                [fmean(at_truth.measured) for at_truth in shown],
                linestyle="none",
                **self._look(over.path),  # type: ignore[arg-type]
            )[0]
            marks.set_gid(gid)
            self.tips[gid] = [self._tip(over, at_truth) for at_truth in shown]
        is_log = style.spans_decades(everything)
        for axis, scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
            if is_log:
                scale("log")
                axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(FuncFormatter(lambda value, _: numbers.value(self.metric, value)))
        axes.set_xlabel(f"truth{' (log scale)' if is_log else ''}")
        axes.set_ylabel(f"measured{' (log scale)' if is_log else ''}")
        axes.tick_params(axis="x", labelrotation=30)

    def _errors(self, axes: Axes) -> None:
        truths = sorted({truth.truth for over in self.results for truth in over.at})
        axes.axhline(0, color=style.MUTED, linewidth=0.8, zorder=1)
        beyond: list[cut.DrawnInterval] = []
        for number, over in enumerate(self.results):
            shift = (number - (len(self.results) - 1) / 2) * 3 * _SHIFT
            for at_truth in over.at:
                place = truths.index(at_truth.truth) + shift
                self._error_of(axes, over, at_truth, place)
                beyond += self._intervals(over, at_truth, place)
        axes.set_xlim(-0.6, len(truths) - 0.4)
        every = [truth for over in self.results for truth in over.at if truth.bias is not None]
        reach = [_reach(truth) for truth in every if truth.is_trusted] or [_reach(truth) for truth in every]
        if max(reach, default=0.0) > 0:
            axes.set_ylim(-1.15 * max(reach), 1.15 * max(reach))
            cut.mark(axes, "y", beyond, lambda error: numbers.deviation(self.metric, error) or "0")
        axes.set_xticks(range(len(truths)), [words.level(self.metric.column, truth) for truth in truths])
        axes.tick_params(axis="x", labelrotation=30)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: numbers.deviation(self.metric, value) or "0"))
        axes.set_xlabel(words.factor(self.metric.column))
        axes.set_ylabel("measured minus true")

    def _intervals(self, over: OverPath, at_truth: AtTruth, place: float) -> list[cut.DrawnInterval]:
        if at_truth.bias is None:
            return []
        reach = at_truth.uncertainty or 0.0
        low, high = (
            min(at_truth.bias.low, at_truth.bias.value - reach),
            max(at_truth.bias.high, at_truth.bias.value + reach),
        )
        return [cut.DrawnInterval(place=place, low=low, high=high, colour=self._look(over.path)["color"])]

    def _error_of(self, axes: Axes, over: OverPath, at_truth: AtTruth, place: float) -> None:
        if at_truth.bias is None:
            return
        look = self._look(over.path)
        if at_truth.uncertainty is not None:
            ends = [at_truth.bias.value - at_truth.uncertainty, at_truth.bias.value + at_truth.uncertainty]
            axes.plot([place, place], ends, color=look["color"], linewidth=0.6, zorder=2)
        axes.plot([place, place], [at_truth.bias.low, at_truth.bias.high], color=look["color"], linewidth=2.0, zorder=3)
        gid = f"e-{over.path}-{at_truth.truth:g}"
        mark = axes.plot(
            [place],
            [at_truth.bias.value],
            linestyle="none",
            markerfacecolor=look["color"] if at_truth.is_trusted else "white",
            zorder=4,
            **look,  # type: ignore[arg-type]
        )[0]
        mark.set_gid(gid)
        self.tips[gid] = [self._tip(over, at_truth)]

    def _tip(self, over: OverPath, at_truth: AtTruth) -> str:
        text = numbers.bias(self.metric, at_truth.bias) or f"{at_truth.covered} of {at_truth.judged} exact"
        return f"{over.path}, {words.level(self.metric.column, at_truth.truth)}\n{text}"

    def _look(self, path: str) -> dict[str, str]:
        path_style = style.styles_of([over.path for over in self.results])[path]
        return {"color": path_style.colour, "marker": path_style.marker}

    def _handle(self, over: OverPath) -> Line2D:
        return Line2D([], [], linestyle="none", label=over.path, **self._look(over.path))  # type: ignore[arg-type]
