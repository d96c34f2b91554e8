"""Values against a swept factor: absolute above, the change against the baseline below, one panel a combination of
the other factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from matplotlib.transforms import ScaledTranslation

from ...model.finding import Finding
from ...model.units import VIRTUAL
from .. import rows, words
from . import data, style
from .data import Context, Measured, Panel
from .drawing import Drawing, Picture
from .style import PathStyle

MOST_PANELS = 9
"""Panels that a page holds; more make more figures."""

_DODGE_POINTS = 3.2
_LABEL_IN = 0.47


def drawings(context: Context, items: Sequence[Measured], primary: str | None) -> list[Drawing]:
    """One figure a metric (several where it has many panels) for the metrics of a workload of which a numeric factor
    varies."""
    found = []
    for item in items:
        pages = [item.panels[start : start + MOST_PANELS] for start in range(0, len(item.panels), MOST_PANELS)]
        name = f"{item.workload}-{item.metric}" if item.is_first else f"{item.workload}-{item.metric}-by-{item.main}"
        for number, panels in enumerate(pages, start=1):
            page = f" ({number} of {len(pages)})" if len(pages) > 1 else ""
            found.append(
                Drawing(
                    name=f"{name}{f'-{number}' if len(pages) > 1 else ''}".replace("_", "-"),
                    title=f"{item.title}{page}",
                    caption=_caption(context, item, panels),
                    section="workload",
                    workload=item.workload,
                    rank=0 if item.metric == primary and number == 1 else number,
                    draw=lambda item=item, panels=panels, page=page: _Sweep(context, item, panels, page).draw(),  # type: ignore[misc]
                )
            )
    return found


def _caption(context: Context, item: Measured, panels: list[Panel]) -> str:
    compared = _is_compared(context, panels)
    theory = any(estimate.theory is not None for panel in panels for estimate in panel.estimates)
    logarithmic = _is_logarithmic(item)
    text = f"Points are means of valid trials, bars their {context.confidence} confidence intervals over trials."
    if logarithmic:
        text += (
            " Both axes are logarithmic."
            if style.spans_decades(_all_levels(item))
            else " The vertical axis is logarithmic."
        )
    if compared:
        text += (
            f" Below: change against {context.experiment.baseline}, paired by block, with its {context.confidence} "
            f"interval; the grey band is the margin of ±{100 * context.margin:g} % within which paths count as "
            "equivalent."
        )
    if theory:
        text += " Dashed: theory; ringed: changes of which it says otherwise, their interval considered."
    return text


def _has_change(finding: Finding) -> bool:
    return words.finite(finding.ratio) is not None


def _is_compared(context: Context, panels: Sequence[Panel]) -> bool:
    """Whether anything is compared with the experiment's baseline: not where the baseline has no such value, such as
    the run time of a tunnel's programs."""
    baseline = context.experiment.baseline
    return any(_has_change(f) and f.baseline == baseline for panel in panels for f in panel.findings)


def _all_levels(item: Measured) -> list[float]:
    assert item.main is not None
    return data.levels_of((e for panel in item.panels for e in panel.estimates), item.main)


def _is_logarithmic(item: Measured) -> bool:
    """Times over decades: from zero, all but the longest would lie on the axis."""
    return item.unit.removeprefix(VIRTUAL) == "ns" and any(
        style.spans_decades([estimate.value for estimate in panel.estimates]) for panel in item.panels
    )


@dataclass
class _Sweep:
    context: Context
    item: Measured
    panels: list[Panel]
    page: str
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        """The figure."""
        with style.house_style():
            count = len(self.panels)
            columns = 1 if count == 1 else 2 if count in (2, 4) else 3
            panel_rows = math.ceil(count / columns)
            compared = _is_compared(self.context, self.panels)
            top_in, bottom_in = (2.15, 1.25) if count == 1 else (1.75, 1.05)
            height_in = 0.75 + panel_rows * (top_in + (bottom_in if compared else 0) + 0.35)
            figure = style.figure(height_in)
            ratios = ([top_in, bottom_in] if compared else [top_in]) * panel_rows
            grid = figure.add_gridspec(len(ratios), columns, height_ratios=ratios)
            each = len(ratios) // panel_rows
            self.width_in = style.WIDTH_IN / columns - 0.75
            shared = self._shared_top()
            for index, panel in enumerate(self.panels):
                row, column = divmod(index, columns)
                top = figure.add_subplot(grid[each * row, column])
                scale_of = self.panels if shared is not None else [panel]
                self.divisor, unit = words.common_scale(_values(scale_of), self.item.unit)
                self._values_panel(top, panel, index, with_x=not compared, limit=shared)
                self._label(top, self._value_label(unit))
                if compared:
                    bottom = figure.add_subplot(grid[each * row + 1, column], sharex=top)
                    self._change_panel(bottom, panel, index)
                    if column == 0:
                        self._label(bottom, f"vs {_short(self.context.experiment.baseline)} (%)")
            style.title(figure, f"{self.item.title}{self.page}")
            style.legend(figure, self._handles(compared))
            return Picture(figure=figure, tips=self.tips)

    def _label(self, axes: Axes, text: str) -> None:
        """The label of a value axis, as far from the axis in every panel; matplotlib's own alignment takes seconds."""
        axes.set_ylabel(text)
        axes.yaxis.set_label_coords(-_LABEL_IN / self.width_in, 0.5)

    def _shared_top(self) -> float | None:
        """The top of all value axes, where panels are of one order of magnitude; None: each has its own scale and
        unit."""
        tops = [max((e.value for e in panel.estimates), default=0.0) for panel in self.panels]
        if _is_logarithmic(self.item) or min(tops) <= 0 or max(tops) > 5 * min(tops):
            return None
        return max(_values(self.panels))

    def _value_label(self, unit: str) -> str:
        scale = ", log scale" if _is_logarithmic(self.item) else ""
        name = words.metric_label(self.item.metric)
        return f"{name} ({unit}{scale})" if len(self.panels) == 1 and len(name) <= 20 else f"{unit}{scale}"

    def _values_panel(self, axes: Axes, panel: Panel, index: int, *, with_x: bool, limit: float | None) -> None:
        column = self.item.main
        assert column is not None
        if panel.title:
            axes.set_title(style.wrapped(panel.title, self.width_in))
        present = self.context.paths(estimate.path for estimate in panel.estimates)
        for order, path in enumerate(present):
            own = sorted(
                (e for e in panel.estimates if e.path == path.name and column in e.levels),
                key=lambda e: float(e.levels[column]),
            )
            points = [(float(e.levels[column]), e.value, e.ci_low, e.ci_high) for e in own]
            gid = f"v{index}-{order}"
            # Not where both axes are logarithmic: lines moved sideways would look like other values.
            dodge = 0.0 if _is_logarithmic(self.item) else _DODGE_POINTS
            self._line(axes, path, points, self.divisor, order, len(present), gid, dodge)
            by_place = {f.combination: f for f in panel.findings if f.path == path.name}
            self.tips[gid] = [data.tip(path, e, column, by_place.get(e.combination)) for e in own]
            theory = [(float(e.levels[column]), e.theory / self.divisor) for e in own if e.theory is not None]
            if theory and not path.hollow:
                axes.plot(*zip(*theory, strict=True), color=path.colour, linestyle=(0, (4, 2)), linewidth=1, zorder=1.5)
        if _is_logarithmic(self.item):
            axes.set_yscale("log")
            axes.set_ylim(*self._log_limits(panel))
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if self._decades(panel) > 1.5 else (1.0, 2.0, 5.0)))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.yaxis.set_minor_locator(NullLocator())
        else:
            axes.set_ylim(0, self._top(panel, limit))
        self._x_axis(axes, panel, labels=with_x)

    def _decades(self, panel: Panel) -> float:
        values = [estimate.value for estimate in panel.estimates if estimate.value > 0]
        return math.log10(max(values) / min(values)) if values else 0.0

    def _log_limits(self, panel: Panel) -> tuple[float, float]:
        values = [
            v
            for e in panel.estimates
            for v in (e.value, e.ci_low, e.ci_high)
            if v is not None and words.finite(v) is not None and v > 0
        ]
        pad = (max(values) / min(values)) ** 0.06
        return min(values) / pad / self.divisor, max(values) * pad / self.divisor

    def _top(self, panel: Panel, limit: float | None) -> float:
        own = [
            v
            for e in panel.estimates
            for v in (e.value, e.ci_high, e.theory)
            if v is not None and words.finite(v) is not None
        ]
        top = max([*own, limit or 0.0]) / self.divisor
        return top * 1.1 if top > 0 else 1.0

    def _change_panel(self, axes: Axes, panel: Panel, index: int) -> None:
        column = self.item.main
        assert column is not None
        margin = 100 * self.context.margin
        axes.axhspan(-margin, margin, color=style.BAND, linewidth=0, zorder=0)
        axes.axhline(0, color=style.MUTED, linewidth=0.8, zorder=1)
        compared = [
            f
            for f in panel.findings
            if _has_change(f) and column in f.levels and f.baseline == self.context.experiment.baseline
        ]
        self._noise(axes, compared)
        present = self.context.paths(finding.path for finding in compared if not finding.is_aa)
        for order, path in enumerate(present):
            own = sorted((f for f in compared if f.path == path.name), key=lambda f: float(f.levels[column]))
            gid = f"c{index}-{order}"
            points = [(float(f.levels[column]), *_change(f)) for f in own]
            self._line(axes, path, points, 1.0, order, len(present), gid, _DODGE_POINTS)
            self.tips[gid] = [
                f"{path.name}, {words.levels(f.levels, [column])}\n{rows.row(f).change_with_interval}: {f.verdict}"
                for f in own
            ]
            expected = [(float(f.levels[column]), rows.expected_ratio(f)) for f in own]
            theory = [(x, words.as_percent(ratio)) for x, ratio in expected if ratio is not None]
            for finding in filter(rows.contradicts_theory, own):
                style.ring(axes, float(finding.levels[column]), _change(finding)[0])
            if theory:
                axes.plot(*zip(*theory, strict=True), color=path.colour, linestyle=(0, (4, 2)), linewidth=1, zorder=1.5)
        changes = [_change(finding) for finding in compared if not finding.is_aa]
        ends = [end for change in changes for end in change[1:] if end is not None]
        axes.set_ylim(*style.change_limits([change[0] for change in changes], ends, margin))
        axes.yaxis.set_major_formatter(style.signed_ticks())
        axes.locator_params(axis="y", nbins=5)
        self._x_axis(axes, panel, labels=True)

    def _noise(self, axes: Axes, findings: list[Finding]) -> None:
        column = self.item.main
        assert column is not None
        known = {
            float(f.levels[column]): (words.as_percent(f.noise_low), words.as_percent(f.noise_high))
            for f in findings
            if f.noise_low is not None and f.noise_high is not None
        }
        if known:
            places = sorted(known)
            lows, highs = zip(*(known[place] for place in places), strict=True)
            axes.fill_between(places, lows, highs, color=style.NOISE, linewidth=0, zorder=0.5)

    def _line(
        self,
        axes: Axes,
        path: PathStyle,
        points: list[tuple[Any, ...]],
        divisor: float,
        order: int,
        of: int,
        gid: str,
        dodge_points: float = 0.0,
    ) -> None:
        """A line with error bars. Where paths coincide, later ones are smaller and on top; `dodge_points` moves them
        apart."""
        if not points:
            return
        shift = (order - (of - 1) / 2) * dodge_points / 72
        assert axes.figure is not None
        moved = axes.transData + ScaledTranslation(shift, 0, axes.figure.dpi_scale_trans)
        places = [point[0] for point in points]
        values = [point[1] / divisor for point in points]
        below = [
            max(0.0, value - point[2] / divisor) if point[2] is not None else math.nan
            for value, point in zip(values, points, strict=True)
        ]
        above = [
            max(0.0, point[3] / divisor - value) if point[3] is not None else math.nan
            for value, point in zip(values, points, strict=True)
        ]
        bars = axes.errorbar(
            places,
            values,
            yerr=[below, above],
            color=path.colour,
            linestyle=path.line,
            marker=path.marker,
            markerfacecolor=path.face,
            markeredgewidth=1,
            markersize=max(2.5, 5.5 - 0.8 * order),
            elinewidth=1,
            transform=moved,
            zorder=3 + 0.01 * order,
        )
        bars.lines[0].set_gid(gid)

    def _x_axis(self, axes: Axes, panel: Panel, *, labels: bool) -> None:
        column = self.item.main
        assert column is not None
        values = data.levels_of(panel.estimates, column)
        if values:
            style.level_axis(axes, column, values, self.width_in, labels=labels)
            if labels:
                axes.set_xlabel(style.factor_label(column, values))

    def _handles(self, compared: bool) -> list[Line2D | Patch]:
        estimates = [estimate for panel in self.panels for estimate in panel.estimates]
        findings = [finding for panel in self.panels for finding in panel.findings]
        handles: list[Line2D | Patch] = [
            style.path_handle(path) for path in self.context.paths(e.path for e in estimates)
        ]
        if any(estimate.theory is not None for estimate in estimates):
            handles.append(style.theory_handle())
        if compared and any(rows.contradicts_theory(finding) for finding in findings):
            handles.append(style.ring_handle())
        if compared:
            handles.append(style.margin_handle(self.context.margin))
        if compared and any(finding.noise_low is not None for finding in findings):
            handles.append(style.noise_handle())
        return handles


def _change(finding: Finding) -> tuple[float, float | None, float | None]:
    assert finding.ratio is not None
    ends = [
        None if words.finite(end) is None or end is None else words.as_percent(end)
        for end in (finding.ci_low, finding.ci_high)
    ]
    return words.as_percent(finding.ratio), ends[0], ends[1]


def _values(panels: Sequence[Panel]) -> list[float]:
    values = [value for panel in panels for e in panel.estimates for value in (e.value, e.ci_high)]
    return [value for value in values if value is not None and words.finite(value) is not None]


def _short(name: str) -> str:
    return name if len(name) <= 10 else "baseline"
