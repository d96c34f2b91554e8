"""Values against a swept quantity, and their change against the baseline: one panel for each combination of the other
factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, count

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from ...model.finding import Finding
from ...model.units import VIRTUAL
from .. import rows, words
from . import change_panel, data, style
from .changes import PAIRS, change_handles, changes, value_handles
from .data import CombinationPanel, Context, FigureMetric
from .drawing import Drawing, Picture, paged
from .lines import LevelPoint, line, shift_pt
from .panels import PanelGrid

MOST_PANELS = 9
"""Panels that a page holds. More panels make more figures."""

_LABEL_IN = 0.47
_FLAT = 1.1
_THEORY = "Dashed lines are theory. A ring marks a change whose interval does not contain what theory expects."
_THEORY_OF_BOUNDS = (
    "Dashed lines are theory's lower bounds of values, and the change between these, from which a measured one may "
    "differ. A ring marks a change of which a value is below its bound."
)


def drawings(context: Context, items: Sequence[FigureMetric], primary: str | None) -> list[Drawing]:
    """One figure for each metric of a workload in which a quantity varies, or several if it has many panels."""
    return [drawing for item in items for drawing in _of_metric(context, item, is_primary=item.metric == primary)]


def _of_metric(context: Context, item: FigureMetric, *, is_primary: bool) -> list[Drawing]:
    pages = [item.panels[start : start + MOST_PANELS] for start in range(0, len(item.panels), MOST_PANELS)]
    name = f"{item.workload}-{item.metric}" if item.is_first else f"{item.workload}-{item.metric}-by-{item.main}"
    return paged(
        pages,
        name=name.replace("_", "-"),
        title=item.title,
        captions=[_caption(context, item, panels) for panels in pages],
        section="workload",
        workload=item.workload,
        ranks=chain([0 if is_primary else 1], count(2)),
        draw=lambda panels, title, width_in: _Sweep(context, item, panels, title, width_in).draw(),
    )


def _caption(context: Context, item: FigureMetric, panels: list[CombinationPanel]) -> str:
    compared = _is_compared(context, panels)
    theory = any(estimate.theory is not None for panel in panels for estimate in panel.estimates)
    logarithmic = _is_logarithmic(item)
    text = (
        f"Points are the values of each path by itself. Bars are their {context.confidence} confidence intervals over "
        "trials."
    )
    if logarithmic:
        text += (
            " Both axes are logarithmic."
            if style.spans_decades(_all_levels(item))
            else " The vertical axis is logarithmic."
        )
    if compared:
        place = "upper" if _is_flat(panels) else "lower"
        findings = [finding for panel in panels for finding in panel.findings]
        text += (
            f" The {place} panel has the change against {context.baselines(findings)}, paired by block, with its "
            f"{context.confidence} confidence interval. The grey band is the margin of "
            f"{context.margins_of(findings)}, within which paths count as equivalent."
        )
        if any(finding.noise_low is not None for finding in findings):
            text += " Yellow bars are the intervals of the A/A comparison."
        if any(change.pairs for change in changes(context, findings)):
            text += f" {PAIRS}"
    if theory:
        text += f" {_THEORY_OF_BOUNDS if rows.has_lower_bounds(item.metric) else _THEORY}"
    return text


def _has_change(finding: Finding) -> bool:
    return words.finite(finding.ratio) is not None


def _is_compared(context: Context, panels: Sequence[CombinationPanel]) -> bool:
    """True if anything is compared with the experiment's baseline. A native baseline has no run time of a tunnel's
    programs, for example."""
    return any(_has_change(f) and f.baseline == context.baselines([f]) for panel in panels for f in panel.findings)


def _all_levels(item: FigureMetric) -> list[float]:
    assert item.main is not None
    return data.levels_of((e for panel in item.panels for e in panel.estimates), item.main)


def _is_logarithmic(item: FigureMetric) -> bool:
    """True if the values are times over decades. On an axis from zero, all but the longest would lie on it."""
    return item.unit.removeprefix(VIRTUAL) == "ns" and any(
        style.spans_decades([estimate.value for estimate in panel.estimates]) for panel in item.panels
    )


@dataclass
class _Sweep:
    context: Context
    item: FigureMetric
    panels: list[CombinationPanel]
    title: str
    width_in: float
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        with style.house_style():
            grid = PanelGrid.fitting(len(self.panels), self.width_in)
            heights_in = self._heights_in(grid.columns)
            figure = style.figure(0.75 + grid.rows * (sum(heights_in) + 0.35), self.width_in)
            self.panel_in = grid.axes_in
            shared = self._shared_top()
            parts = [self._draw_values, self._draw_change][: len(heights_in)]
            if self.is_change_first:
                parts.reverse()
            for place, panel in zip(grid.places(figure, heights_in * grid.rows), self.panels, strict=True):
                place.title(panel.title)
                for axes, part in zip(place.axes, parts, strict=True):
                    part(axes, panel, place.index, shared)
                    self._x_axis(axes, panel, labels=axes is place.axes[-1])
            style.title(figure, self.title)
            style.legend(figure, self._handles())
            return Picture(figure=figure, tips=self.tips)

    @property
    def is_compared(self) -> bool:
        """True if there are panels of changes."""
        return _is_compared(self.context, self.panels)

    @property
    def is_change_first(self) -> bool:
        """True if the changes stand above the values and have most of the room."""
        return self.is_compared and _is_flat(self.panels)

    def _heights_in(self, columns: int) -> list[float]:
        """Heights of the axes of a panel, from the top down."""
        large, small = (2.15, 1.25) if columns == 1 else (1.75, 1.05)
        if not self.is_compared:
            return [large]
        return [large, 0.6 * small] if self.is_change_first else [large, small]

    def _draw_values(self, axes: Axes, panel: CombinationPanel, index: int, shared: float | None) -> None:
        scale_of = self.panels if shared is not None else [panel]
        self.divisor, unit = words.common_scale(_values(scale_of), self.item.unit)
        self._values_panel(axes, panel, index, limit=shared)
        self._label(axes, self._value_label(unit))
        if self.is_change_first:
            axes.locator_params(axis="y", nbins=3)

    def _draw_change(self, axes: Axes, panel: CombinationPanel, index: int, _shared: float | None) -> None:
        column = self.item.main
        assert column is not None
        findings = [f for f in panel.findings if column in f.levels and f.baseline == self.context.baselines([f])]
        # The limits of the x axis must be known first, because numbers at its ends are placed where there is room.
        self._x_axis(axes, panel, labels=False)
        change_panel.draw(axes, self.context, findings, column, index, self.tips)
        change = "change " if self.is_change_first else ""
        self._label(axes, f"{change}vs {_short(self.context.baselines(findings))} (%)")

    def _label(self, axes: Axes, text: str) -> None:
        """Labels a value axis at the same distance in every panel. matplotlib's own alignment takes seconds."""
        axes.set_ylabel(text)
        axes.yaxis.set_label_coords(-_LABEL_IN / self.panel_in, 0.5)

    def _shared_top(self) -> float | None:
        """The top of all value axes if panels are of one order of magnitude. None: each has its own scale and
        unit."""
        tops = [max((e.value for e in panel.estimates), default=0.0) for panel in self.panels]
        if _is_logarithmic(self.item) or min(tops) <= 0 or max(tops) > 5 * min(tops):
            return None
        return max(_values(self.panels))

    def _value_label(self, unit: str) -> str:
        scale = ", log scale" if _is_logarithmic(self.item) else ""
        name = words.metric_label(self.item.metric)
        has_room = len(self.panels) == 1 and len(name) <= 20 and not self.is_change_first
        return f"{name} ({unit}{scale})" if has_room else f"{unit}{scale}"

    def _values_panel(self, axes: Axes, panel: CombinationPanel, index: int, *, limit: float | None) -> None:
        column = self.item.main
        assert column is not None
        present = self.context.paths(estimate.path for estimate in panel.estimates)
        for order, path in enumerate(present):
            estimates = sorted(
                (e for e in panel.estimates if e.path == path.name and column in e.levels),
                key=lambda e: float(e.levels[column]),
            )
            points = [
                LevelPoint(
                    at=float(e.levels[column]), value=e.value, low=words.finite(e.ci_low), high=words.finite(e.ci_high)
                )
                for e in estimates
            ]
            gid = f"v{index}-{order}"
            # No shift on logarithmic axes, where a shifted line would look like other values.
            moved_pt = 0.0 if _is_logarithmic(self.item) else shift_pt(order, len(present))
            line(axes, path, points, divisor=self.divisor, order=order, moved_pt=moved_pt, gid=gid)
            by_place = {f.combination: f for f in panel.findings if f.path == path.name}
            self.tips[gid] = [data.tip(path, e, column, by_place.get(e.combination)) for e in estimates]
            theory = [(float(e.levels[column]), e.theory / self.divisor) for e in estimates if e.theory is not None]
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

    def _decades(self, panel: CombinationPanel) -> float:
        values = [estimate.value for estimate in panel.estimates if estimate.value > 0]
        return math.log10(max(values) / min(values)) if values else 0.0

    def _log_limits(self, panel: CombinationPanel) -> tuple[float, float]:
        values = [
            v
            for e in panel.estimates
            for v in (e.value, e.ci_low, e.ci_high)
            if v is not None and words.finite(v) is not None and v > 0
        ]
        pad = (max(values) / min(values)) ** 0.06
        return min(values) / pad / self.divisor, max(values) * pad / self.divisor

    def _top(self, panel: CombinationPanel, limit: float | None) -> float:
        values = [
            v
            for e in panel.estimates
            for v in (e.value, e.ci_high, e.theory)
            if v is not None and words.finite(v) is not None
        ]
        top = max([*values, limit or 0.0]) / self.divisor
        return top * 1.1 if top > 0 else 1.0

    def _x_axis(self, axes: Axes, panel: CombinationPanel, *, labels: bool) -> None:
        column = self.item.main
        assert column is not None
        values = data.levels_of(panel.estimates, column)
        if values:
            style.level_axis(axes, column, values, self.panel_in, labels=labels)
            if labels:
                axes.set_xlabel(style.factor_label(column, values))

    def _handles(self) -> list[Line2D | Patch]:
        estimates = [estimate for panel in self.panels for estimate in panel.estimates]
        findings = [finding for panel in self.panels for finding in panel.findings]
        return [
            *value_handles(self.context, estimates),
            *(change_handles(self.context, findings) if self.is_compared else ()),
        ]


def _is_flat(panels: Sequence[CombinationPanel]) -> bool:
    """True if all values of each panel lie within a tenth. Drawn from zero they are lines at the top of an empty panel,
    so the change comes first."""
    return all(
        min(values) > 0 and max(values) <= _FLAT * min(values)
        for panel in panels
        if (values := [estimate.value for estimate in panel.estimates])
    )


def _values(panels: Sequence[CombinationPanel]) -> list[float]:
    values = [value for panel in panels for e in panel.estimates for value in (e.value, e.ci_high)]
    return [value for value in values if value is not None and words.finite(value) is not None]


def _short(name: str) -> str:
    return name if len(name) <= 10 else "baseline"
