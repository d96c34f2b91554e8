"""The p-values of null comparisons against those of chance, and the injected differences as they were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from ...report import words
from ...report.figures import Drawing, Picture, style
from .design import CHANGE, WORKLOAD_TITLES
from .judge import Judged, NullResult

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
_MARKERS = ("o", "s", "^", "D")
_LEAST = 1e-3
"""Smaller p-values are drawn at the edge."""


def drawing(result: NullResult) -> Drawing | None:
    """The figure; None where nothing was decided."""
    if not any(one.is_decided for one in [*result.primary, *result.changed]):
        return None
    return Drawing(
        name="false-differences",
        title="False alarms and power",
        caption=(
            "Left: the p-values of null comparisons in ascending order, each workload's against those that chance "
            "gives (a uniform distribution); the band holds 95 % of the points one by one where all is well. What is "
            "below the band is declared different too often, what is above too seldom. Right: comparisons of which one "
            f"path's link is slower by {100 * CHANGE:g} %, each with its 95 % interval; grey is the margin."
        ),
        section="overview",
        rank=0,
        draw=lambda: _Figure(result).draw(),
    )


@dataclass
class _Figure:
    result: NullResult
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        """The figure."""
        with style.house_style():
            figure = style.figure(3.6)
            grid = figure.add_gridspec(1, 2)
            self._quantiles(figure.add_subplot(grid[0, 0]))
            self._changes(figure.add_subplot(grid[0, 1]))
            style.title(figure, "False alarms and power")
            style.legend(figure, self._handles())
            return Picture(figure=figure, tips=self.tips)

    @property
    def _workloads(self) -> list[str]:
        every = [*self.result.primary, *self.result.changed]
        return list(dict.fromkeys(one.planned.kind.workload for one in every if one.is_decided))

    def _look(self, workload: str) -> dict[str, str]:
        index = self._workloads.index(workload)
        return {"color": _COLOURS[index % len(_COLOURS)], "marker": _MARKERS[index % len(_MARKERS)]}

    def _quantiles(self, axes: Axes) -> None:
        decided = [one for one in self.result.primary if one.is_decided]
        largest = 1
        for workload in self._workloads:
            own = [one for one in decided if one.planned.kind.workload == workload]
            largest = max(largest, len(own))
            self._ordered(axes, workload, own)
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
        axes.set_title("No difference: is any declared?")

    def _ordered(self, axes: Axes, workload: str, own: Sequence[Judged]) -> None:
        ordered = sorted(own, key=_p_value)
        if not ordered:
            return
        gid = f"q-{workload}"
        points = axes.plot(
            [(place - 0.5) / len(ordered) for place in range(1, len(ordered) + 1)],
            [max(_LEAST, _p_value(one)) for one in ordered],
            linestyle="none",
            markersize=3.2,
            zorder=3,
            **self._look(workload),  # type: ignore[arg-type]
        )[0]
        points.set_gid(gid)
        self.tips[gid] = [f"{one.planned.name}\n{_change(one)}, p = {_p_value(one):.2g}" for one in ordered]

    @staticmethod
    def _band(axes: Axes, number: int) -> None:
        """Where each of so many ordered p-values lies by chance: a beta distribution."""
        from scipy.special import betaincinv

        places = range(1, number + 1)
        low = [max(_LEAST * 0.5, float(betaincinv(k, number - k + 1, 0.025))) for k in places]
        high = [float(betaincinv(k, number - k + 1, 0.975)) for k in places]
        axes.fill_between([(k - 0.5) / number for k in places], low, high, color=style.BAND, linewidth=0, zorder=0)

    def _changes(self, axes: Axes) -> None:
        decided = [one for one in self.result.changed if one.is_decided and one.finding.ratio is not None]
        ordered = sorted(decided, key=lambda one: (self._workloads.index(one.planned.kind.workload), one.planned.name))
        margin = 100 * ordered[0].planned.experiment.statistics.margin if ordered else 1.0
        axes.axhspan(-margin, margin, color=style.BAND, linewidth=0, zorder=0)
        axes.axhline(-100 * CHANGE, color=style.MUTED, linewidth=1, linestyle=(0, (4, 2)), zorder=1)
        for place, one in enumerate(ordered):
            self._change_of(axes, place, one)
        axes.set_xticks([])
        axes.set_xlim(-1, max(1, len(ordered)))
        axes.set_ylim(*style.change_limits([_percent(one) for one in ordered], [], margin))
        axes.yaxis.set_major_formatter(style.signed_ticks())
        axes.set_xlabel("comparisons")
        axes.set_ylabel("change in %")
        axes.set_title(f"A link slower by {100 * CHANGE:g} %: is it found?")

    def _change_of(self, axes: Axes, place: int, one: Judged) -> None:
        look = self._look(one.planned.kind.workload)
        finding = one.finding
        if finding.ci_low is not None and finding.ci_high is not None:
            ends = [words.as_percent(finding.ci_low), words.as_percent(finding.ci_high)]
            axes.plot([place, place], ends, color=look["color"], linewidth=0.9, zorder=2)
        gid = f"c-{place}"
        marker = axes.plot(
            [place],
            [_percent(one)],
            markersize=3.2,
            markerfacecolor=look["color"] if one.is_found else "white",
            linestyle="none",
            zorder=3,
            **look,  # type: ignore[arg-type]
        )[0]
        marker.set_gid(gid)
        self.tips[gid] = [f"{one.planned.name}\n{_change(one)}: {finding.verdict}"]

    def _handles(self) -> list[Line2D]:
        return [
            Line2D([], [], linestyle="none", markersize=4, label=WORKLOAD_TITLES[workload], **self._look(workload))  # type: ignore[arg-type]
            for workload in self._workloads
        ] + [Line2D([], [], color=style.MUTED, linewidth=1, linestyle=(0, (4, 2)), label="the truth")]


def _p_value(one: Judged) -> float:
    return 1.0 if one.finding.p_value is None else one.finding.p_value


def _percent(one: Judged) -> float:
    return 0.0 if one.finding.ratio is None else words.as_percent(one.finding.ratio)


def _change(one: Judged) -> str:
    return f"{words.signed(_percent(one), 2)} %"
