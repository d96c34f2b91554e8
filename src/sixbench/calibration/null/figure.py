"""The p-values of null comparisons against those of chance, and the injected differences as they were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from ...report import words
from ...report.figures import Drawing, Picture, cut, style
from ...report.figures.panels import PanelGrid
from .design import CHANGE, WORKLOAD_TITLES
from .judge import JudgedMetric, NullResult

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
_MARKERS = ("o", "s", "^", "D")
_LEAST = 1e-3
"""Smaller p-values are drawn at the edge."""


def drawing(result: NullResult) -> Drawing | None:
    """The figure. None if nothing was decided."""
    if not any(item.is_decided for item in [*result.primary, *result.changed]):
        return None
    return Drawing(
        name="false-differences",
        title="False alarms and power",
        caption=(
            "The first panel has the p-values of the null comparisons of each workload in ascending order, against "
            "those that chance gives (a uniform distribution). Where all is well, each point lies in the band with a "
            "probability of 95 %. Points below the band mean that differences are declared too often, points above it "
            "that they are declared too seldom. The second panel has the comparisons in which the link of one path is "
            f"slower by {100 * CHANGE:g} %, each with its 95 % interval. The grey band is the margin."
        ),
        section="overview",
        rank=0,
        draw=lambda width_in: _Figure(result, width_in).draw(),
    )


@dataclass
class _Figure:
    result: NullResult
    width_in: float
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        with style.house_style():
            panels = [self._quantiles, self._changes]
            grid = PanelGrid.fitting(len(panels), self.width_in)
            figure = style.figure(0.6 + 3.0 * grid.rows, self.width_in)
            for place, panel in zip(grid.places(figure), panels, strict=True):
                panel(place.axes[0])
            style.title(figure, "False alarms and power")
            style.legend(figure, self._handles())
            return Picture(figure=figure, tips=self.tips)

    @property
    def _workloads(self) -> list[str]:
        every = [*self.result.primary, *self.result.changed]
        return list(dict.fromkeys(item.planned.kind.workload for item in every if item.is_decided))

    def _look(self, workload: str) -> dict[str, str]:
        index = self._workloads.index(workload)
        return {"color": _COLOURS[index % len(_COLOURS)], "marker": _MARKERS[index % len(_MARKERS)]}

    def _quantiles(self, axes: Axes) -> None:
        decided = [item for item in self.result.primary if item.is_decided]
        largest = 1
        for workload in self._workloads:
            of_workload = [item for item in decided if item.planned.kind.workload == workload]
            largest = max(largest, len(of_workload))
            self._ordered(axes, workload, of_workload)
        self._band(axes, largest)
        axes.plot([_LEAST, 1], [_LEAST, 1], color=style.MUTED, linewidth=0.8, zorder=1)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(_LEAST, 1.15)
        axes.set_ylim(_LEAST * 0.8, 1.15)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlabel("p-value by chance (log scale)")
        axes.set_ylabel("p-value (log scale)")
        axes.set_title("No difference: is one declared?")

    def _ordered(self, axes: Axes, workload: str, of_workload: Sequence[JudgedMetric]) -> None:
        ordered = sorted(of_workload, key=_p_value)
        if not ordered:
            return
        gid = f"q-{workload}"
        points = axes.plot(
            [(place - 0.5) / len(ordered) for place in range(1, len(ordered) + 1)],
            [max(_LEAST, _p_value(item)) for item in ordered],
            linestyle="none",
            markersize=3.2,
            zorder=3,
            **self._look(workload),  # type: ignore[arg-type]
        )[0]
        points.set_gid(gid)
        self.tips[gid] = [f"{item.planned.name}\n{_change(item)}, p = {_p_value(item):.2g}" for item in ordered]

    @staticmethod
    def _band(axes: Axes, number: int) -> None:
        """Draws where each of so many ordered p-values lies by chance, which is a beta distribution."""
        from scipy.special import betaincinv

        places = range(1, number + 1)
        low = [max(_LEAST * 0.5, float(betaincinv(k, number - k + 1, 0.025))) for k in places]
        high = [float(betaincinv(k, number - k + 1, 0.975)) for k in places]
        axes.fill_between([(k - 0.5) / number for k in places], low, high, color=style.BAND, linewidth=0, zorder=0)

    def _changes(self, axes: Axes) -> None:
        decided = [
            element for element in self.result.changed if element.is_decided and element.finding.ratio is not None
        ]
        ordered = sorted(
            decided, key=lambda element: (self._workloads.index(element.planned.kind.workload), element.planned.name)
        )
        margin = 100 * ordered[0].planned.experiment.statistics.margin if ordered else 1.0
        axes.axhspan(-margin, margin, color=style.BAND, linewidth=0, zorder=0)
        axes.axhline(-100 * CHANGE, color=style.MUTED, linewidth=1, linestyle=(0, (4, 2)), zorder=1)
        for place, item in enumerate(ordered):
            self._change_of(axes, place, item)
        axes.set_xticks([])
        axes.set_xlim(-1, max(1, len(ordered)))
        intervals = [
            _interval(place, element, self._look(element.planned.kind.workload))
            for place, element in enumerate(ordered)
        ]
        ends = [end for interval in intervals for end in (interval.low, interval.high) if end is not None]
        axes.set_ylim(*style.change_limits([_percent(element) for element in ordered], ends, margin))
        cut.mark(axes, "y", intervals)
        axes.yaxis.set_major_formatter(style.signed_ticks())
        axes.set_xlabel("comparisons")
        axes.set_ylabel("change in %")
        axes.set_title(f"A link slower by {100 * CHANGE:g} %: is it found?")

    def _change_of(self, axes: Axes, place: int, item: JudgedMetric) -> None:
        look = self._look(item.planned.kind.workload)
        finding = item.finding
        if finding.ci_low is not None and finding.ci_high is not None:
            ends = [words.as_percent(finding.ci_low), words.as_percent(finding.ci_high)]
            axes.plot([place, place], ends, color=look["color"], linewidth=0.9, zorder=2)
        gid = f"c-{place}"
        marker = axes.plot(
            [place],
            [_percent(item)],
            markersize=3.2,
            markerfacecolor=look["color"] if item.is_found else "white",
            linestyle="none",
            zorder=3,
            **look,  # type: ignore[arg-type]
        )[0]
        marker.set_gid(gid)
        self.tips[gid] = [f"{item.planned.name}\n{_change(item)}: {finding.verdict}"]

    def _handles(self) -> list[Line2D]:
        return [
            Line2D([], [], linestyle="none", markersize=4, label=WORKLOAD_TITLES[workload], **self._look(workload))  # type: ignore[arg-type]
            for workload in self._workloads
        ] + [Line2D([], [], color=style.MUTED, linewidth=1, linestyle=(0, (4, 2)), label="the truth")]


def _interval(place: int, item: JudgedMetric, look: dict[str, str]) -> cut.DrawnInterval:
    ends = [None if end is None else words.as_percent(end) for end in (item.finding.ci_low, item.finding.ci_high)]
    return cut.DrawnInterval(place=place, low=ends[0], high=ends[1], colour=look["color"])


def _p_value(item: JudgedMetric) -> float:
    return 1.0 if item.finding.p_value is None else item.finding.p_value


def _percent(item: JudgedMetric) -> float:
    return 0.0 if item.finding.ratio is None else words.as_percent(item.finding.ratio)


def _change(item: JudgedMetric) -> str:
    return f"{words.signed(_percent(item), 2)} %"
