"""Values of a workload in which no quantity varies: a row for each path, and panels side by side for each metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...model.change_words import difference_scale
from ...model.finding import Estimate, Finding
from .. import rows, words
from . import cut, data, style
from .changes import PAIRS, Change, change_handles, changes, limits, value_handles
from .data import Context, FigureMetric
from .drawing import Drawing, Picture, paged
from .row_labels import RowLabels

MOST_ROWS = 45
"""Rows that a page holds, over all metrics."""

_LEAST_IN, _LEAST_OF_TWO_IN = 1.95, 1.45
"""The least width of axes beside labels, if they are the only ones, and of each of two."""
_APART_IN = 0.1


def drawings(context: Context, items: Sequence[FigureMetric]) -> list[Drawing]:
    """One figure with all headline metrics of a workload, or several if there are many rows."""
    if not items:
        return []
    pages: list[list[FigureMetric]] = [[]]
    used = 0
    for item in items:
        size = sum(len(panel.estimates) for panel in item.panels)
        if pages[-1] and used + size > MOST_ROWS:
            pages.append([])
            used = 0
        pages[-1].append(item)
        used += size
    workload = items[0].workload
    constant = words.levels(rows.constant(e for item in items for panel in item.panels for e in panel.estimates))
    title = f"{words.workload_title(workload)}{f', {constant}' if constant else ''}: value of each path, and change"
    return paged(
        pages,
        name=f"{workload}-values",
        title=title,
        captions=[_caption(context, page) for page in pages],
        section="workload",
        workload=workload,
        ranks=chain([0], count(2)),
        draw=lambda page, title, width_in: _Dots(context, page, title, width_in).draw(),
    )


def _caption(context: Context, page: Sequence[FigureMetric]) -> str:
    text = (
        f"Values are those of each path by itself, with {context.confidence} confidence intervals, on axes from zero."
    )
    if not any(_is_compared(item) for item in page):
        return text
    findings = [finding for item in page for panel in item.panels for finding in panel.findings]
    text = (
        f"The change against {context.baselines(findings)} comes first. It is paired by block. {text} The grey band is "
        f"the margin of {context.margins_of(findings)}, within which paths count as equivalent."
    )
    if any(finding.noise_low is not None for finding in findings):
        text += " Yellow bars are the intervals of the A/A comparison."
    return f"{text} {PAIRS}" if any(change.pairs for change in changes(context, findings)) else text


def _label(path: str, panel: data.CombinationPanel) -> str:
    return f"{path}, {panel.title}" if panel.title else path


def _is_compared(item: FigureMetric) -> bool:
    """True if any path is compared, which takes a baseline that has such a value."""
    return any(panel.findings for panel in item.panels)


@dataclass
class _Dots:
    context: Context
    items: Sequence[FigureMetric]
    title: str
    width_in: float
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        with style.house_style():
            heights_in: list[float] = []
            for item in self.items:
                rows_of = sum(len(panel.estimates) for panel in item.panels)
                compared = sum(len(panel.findings) for panel in item.panels)
                is_stacked = self.is_stacked and _is_compared(item)
                heights_in += [0.5 + self.row_in * number for number in ([compared] if is_stacked else []) + [rows_of]]
            figure = style.figure(0.75 + sum(0.22 + height_in for height_in in heights_in), self.width_in)
            grid = figure.add_gridspec(len(heights_in), 1 if self.is_stacked else 2, height_ratios=heights_in)
            line = 0
            for index, item in enumerate(self.items):
                if not _is_compared(item):
                    self._metric(figure.add_subplot(grid[line, :]), None, item, index)
                    line += 1
                    continue
                change = figure.add_subplot(grid[line, 0])
                at = grid[line + 1, 0] if self.is_stacked else grid[line, 1]
                self._metric(figure.add_subplot(at), change, item, index)
                line += 2 if self.is_stacked else 1
            style.title(figure, self.title)
            style.legend(figure, self._handles())
            return Picture(figure=figure, tips=self.tips)

    @cached_property
    def is_stacked(self) -> bool:
        """True if the changes stand above the values, because both have too little room beside the labels."""
        return self._layout(2 * _LEAST_OF_TWO_IN).is_above

    @cached_property
    def labels(self) -> RowLabels:
        """The layout of all rows."""
        return self._layout(_LEAST_IN if self.is_stacked else 2 * _LEAST_OF_TWO_IN)

    def _layout(self, least_in: float) -> RowLabels:
        labels = [_label(e.path, panel) for item in self.items for panel in item.panels for e in panel.estimates]
        return RowLabels.fitting(labels, self.width_in, least_in=least_in)

    @property
    def row_in(self) -> float:
        """The height of a row."""
        return 0.33 if self.labels.is_above else 0.19

    def _metric(self, values: Axes, change: Axes | None, item: FigureMetric, index: int) -> None:
        """Draws the rows of one metric: the paths of each combination, from the top down."""
        shown: list[tuple[str, Estimate, Finding | None]] = []
        for panel in item.panels:
            by_path = {finding.path: finding for finding in panel.findings}
            for path in self.context.paths(estimate.path for estimate in panel.estimates):
                estimate = next(e for e in panel.estimates if e.path == path.name)
                shown.append((_label(path.name, panel), estimate, by_path.get(path.name)))
        divisor, unit = words.common_scale((e.value for _, e, _ in shown), item.unit)
        for place, (_, estimate, finding) in enumerate(shown):
            self._value(values, place, estimate, finding, divisor, f"d{index}-{place}")
        tops = [v for _, e, _ in shown for v in (e.value, e.ci_high) if v is not None and words.finite(v) is not None]
        top = max(tops, default=0.0) / divisor
        values.set_xlim(0, top * 1.06 if top > 0 else 1)
        values.locator_params(axis="x", nbins=6)
        title = f"{words.metric_label(item.metric)} ({unit})"
        labels = [label for label, _, _ in shown]
        if change is None:
            baselines = self.context.baselines(e for _, e, _ in shown)
            title += f", not compared, because {baselines} has no values for it"
        else:
            # Beside the values, the baseline has a row too, without a change.
            compared = [(label, finding) for label, _, finding in shown if finding is not None or not self.is_stacked]
            self._changes(change, [finding for _, finding in compared], item, index)
            self.labels.write(change, [label for label, _ in compared], self.row_in)
        is_second = change is not None and not self.is_stacked
        self.labels.write(values, [""] * len(labels) if is_second else labels, self.row_in)
        values.grid(axis="y", visible=False)
        values.set_title(style.wrapped(title, self.labels.axes_in if change is None else self._title_in))

    @property
    def _title_in(self) -> float:
        """The room for the title of one of two axes."""
        return self.labels.axes_in if self.is_stacked else self.labels.axes_in / 2 - _APART_IN

    @property
    def tick(self) -> float:
        """Half the height of the mark of theory, in rows."""
        return 0.2 if self.labels.is_above else 0.38

    def _value(
        self, axes: Axes, place: int, estimate: Estimate, finding: Finding | None, divisor: float, gid: str
    ) -> None:
        path = self.context.styles[estimate.path]
        value = estimate.value / divisor
        bars = axes.errorbar(
            [value],
            [place],
            xerr=_reach(value, estimate.ci_low, estimate.ci_high, divisor),
            color=path.colour,
            marker=path.marker,
            markerfacecolor=path.face,
            linestyle="none",
            elinewidth=1.2,
            zorder=3,
        )
        bars.lines[0].set_gid(gid)
        bars.lines[0].set_clip_on(False)  # a marker at zero is whole; its bar ends at the axis
        self.tips[gid] = [data.tip(path, estimate, None, finding)]
        if estimate.theory is not None:
            self._theory(axes, estimate.theory / divisor, place, path)

    def _theory(self, axes: Axes, expected: float, place: int, path: style.PathStyle) -> None:
        ends = [place - self.tick, place + self.tick]
        axes.plot([expected] * 2, ends, color=path.colour, linestyle=(0, (2, 1)), linewidth=1)

    def _changes(self, axes: Axes, findings: list[Finding | None], item: FigureMetric, index: int) -> None:
        known = [(place, finding) for place, finding in enumerate(findings) if finding is not None]
        by_ratio = any(words.finite(finding.ratio) is not None for _, finding in known)
        margin = 100 * max(self.context.margins(finding for _, finding in known), default=0.0)
        if by_ratio:
            shown = [(place, change) for place, f in known for change in changes(self.context, [f])]
            unit = "%"
            axes.axvspan(-margin, margin, color=style.BAND, linewidth=0, zorder=0)
            axes.set_xlim(*limits([change for _, change in shown], margin))
        else:
            divisor, unit = difference_scale([f.difference for _, f in known if f.difference is not None], item.unit)
            shown = [(place, _difference(f, divisor)) for place, f in known if words.finite(f.difference) is not None]
            ends = [end for _, change in shown for end in change.ends]
            centres = [change.value for _, change in shown]
            axes.set_xlim(*style.change_limits(centres, ends, 0.0, most_reach=math.inf))
        against = self.context.baselines(finding for panel in item.panels for finding in panel.findings)
        title = f"{words.metric_label(item.metric)}: change vs {against} ({unit})"
        axes.set_title(style.wrapped(title, self._title_in))
        axes.axvline(0, color=style.MUTED, linewidth=0.8, zorder=1)
        axes.grid(axis="y", visible=False)
        for place, change in shown:
            self._change(axes, place, change, f"x{index}-{place}")
        axes.xaxis.set_major_formatter(style.signed_ticks())
        axes.locator_params(axis="x", nbins=6)
        colours = [self.context.styles[change.finding.path].colour for _, change in shown]
        marks = [
            interval
            for (at, change), colour in zip(shown, colours, strict=True)
            for interval in change.intervals(at, colour)
        ]
        cut.mark(axes, "x", marks)

    def _change(self, axes: Axes, place: int, change: Change, gid: str) -> None:
        finding, path = change.finding, self.context.styles[change.finding.path]
        if change.noise_low is not None and change.noise_high is not None and not finding.is_aa:
            width, height = change.noise_high - change.noise_low, 1.6 * self.tick
            axes.barh(place, width, left=change.noise_low, height=height, color=style.NOISE, linewidth=0, zorder=0.5)
        axes.plot(change.pairs, [place] * len(change.pairs), color=path.colour, zorder=2.5, **style.LEVEL_PAIR)
        bars = axes.errorbar(
            [change.value],
            [place],
            xerr=_reach(change.value, change.low, change.high, 1.0),
            color=path.colour,
            marker=path.marker,
            markerfacecolor=path.face,
            linestyle="none",
            elinewidth=1.2,
        )
        bars.lines[0].set_gid(gid)
        self.tips[gid] = [f"{finding.path}\n{rows.row(finding).compared}"]
        expected = rows.expected_ratio(finding)
        if finding.ratio is not None and expected is not None:
            self._theory(axes, words.as_percent(expected), place, path)
            if rows.contradicts_theory(finding):
                style.ring(axes, change.value, place)

    def _handles(self) -> list[Line2D | Patch]:
        estimates = [e for item in self.items for panel in item.panels for e in panel.estimates]
        findings = [finding for item in self.items for panel in item.panels for finding in panel.findings]
        return [
            *value_handles(self.context, estimates, is_joined=False),
            *(change_handles(self.context, findings) if findings else ()),
        ]


def _difference(finding: Finding, divisor: float) -> Change:
    """The change of a finding that is a difference, in the unit of the axis."""
    assert finding.difference is not None
    return Change(
        finding=finding,
        value=finding.difference / divisor,
        low=_over(finding.ci_low, divisor),
        high=_over(finding.ci_high, divisor),
        noise_low=_over(finding.noise_low, divisor),
        noise_high=_over(finding.noise_high, divisor),
        pairs=[],
    )


def _over(value: float | None, divisor: float) -> float | None:
    value = words.finite(value)
    return None if value is None else value / divisor


def _reach(value: float, low: float | None, high: float | None, divisor: float) -> list[list[float]]:
    low, high = words.finite(low), words.finite(high)
    return [
        [math.nan if low is None else max(0.0, value - low / divisor)],
        [math.nan if high is None else max(0.0, high / divisor - value)],
    ]
