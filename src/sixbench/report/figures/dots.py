"""Values of a workload of which no numeric factor varies: a row a path, a line of panels a metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...model.finding import Estimate, Finding
from .. import rows, words
from . import data, style
from .data import Context, Measured
from .drawing import Drawing, Picture

MOST_ROWS = 45
"""Rows that a page holds, over all metrics."""


def drawings(context: Context, items: Sequence[Measured]) -> list[Drawing]:
    """One figure with all headline metrics of a workload; several where there are many rows."""
    if not items:
        return []
    pages: list[list[Measured]] = [[]]
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
    found = []
    for number, page in enumerate(pages, start=1):
        suffix = f" ({number} of {len(pages)})" if len(pages) > 1 else ""
        found.append(
            Drawing(
                name=f"{workload}-values{f'-{number}' if len(pages) > 1 else ''}",
                title=title + suffix,
                caption=_caption(context, page),
                section="workload",
                workload=workload,
                rank=0 if number == 1 else number,
                draw=lambda page=page, suffix=suffix: _Dots(context, page, title + suffix).draw(),  # type: ignore[misc]
            )
        )
    return found


def _caption(context: Context, page: Sequence[Measured]) -> str:
    text = f"means of valid trials with their {context.confidence} confidence intervals, from zero."
    if not any(_is_compared(item) for item in page):
        return text[:1].upper() + text[1:]
    return (
        f"Left: {text} Right: change against {context.experiment.baseline}, paired by block; the grey band is the "
        f"margin of ±{100 * context.margin:g} % within which paths count as equivalent."
    )


def _is_compared(item: Measured) -> bool:
    """Whether any path is: not where the baseline has no such value."""
    return any(panel.findings for panel in item.panels)


@dataclass
class _Dots:
    context: Context
    items: Sequence[Measured]
    title: str
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        """The figure."""
        with style.house_style():
            counts = [sum(len(panel.estimates) for panel in item.panels) for item in self.items]
            figure = style.figure(0.75 + sum(0.72 + 0.19 * count for count in counts))
            grid = figure.add_gridspec(
                len(self.items), 2, height_ratios=[0.5 + 0.19 * count for count in counts], width_ratios=[1, 1]
            )
            for index, item in enumerate(self.items):
                if _is_compared(item):
                    left = figure.add_subplot(grid[index, 0])
                    self._metric(left, figure.add_subplot(grid[index, 1], sharey=left), item, index)
                else:
                    self._metric(figure.add_subplot(grid[index, :]), None, item, index)
            style.title(figure, self.title)
            style.legend(figure, self._handles())
            return Picture(figure=figure, tips=self.tips)

    def _metric(self, left: Axes, right: Axes | None, item: Measured, index: int) -> None:
        """Rows of one metric: the paths of each combination, from the top down."""
        shown: list[tuple[str, Estimate, Finding | None]] = []
        for panel in item.panels:
            by_path = {finding.path: finding for finding in panel.findings}
            for path in self.context.paths(estimate.path for estimate in panel.estimates):
                estimate = next(e for e in panel.estimates if e.path == path.name)
                label = f"{path.name}, {panel.title}" if panel.title else path.name
                shown.append((label, estimate, by_path.get(path.name)))
        divisor, unit = words.common_scale((e.value for _, e, _ in shown), item.unit)
        for place, (_, estimate, finding) in enumerate(shown):
            self._value(left, place, estimate, finding, divisor, f"d{index}-{place}")
        left.set_yticks(range(len(shown)), [label for label, _, _ in shown])
        left.set_ylim(len(shown) - 0.4, -0.6)
        left.tick_params(axis="y", length=0)
        left.grid(axis="y", visible=False)
        tops = [v for _, e, _ in shown for v in (e.value, e.ci_high) if v is not None and words.finite(v) is not None]
        top = max(tops, default=0.0) / divisor
        left.set_xlim(0, top * 1.06 if top > 0 else 1)
        left.locator_params(axis="x", nbins=6)
        title = f"{words.metric_label(item.metric)} ({unit})"
        if right is None:
            left.set_title(f"{title}, not compared: {self.context.experiment.baseline} has none")
            return
        left.set_title(title)
        right.tick_params(axis="y", labelleft=False, length=0)
        right.grid(axis="y", visible=False)
        self._changes(right, [finding for _, _, finding in shown], item.unit, index)

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
            axes.plot(
                [estimate.theory / divisor] * 2,
                [place - 0.38, place + 0.38],
                color=path.colour,
                linestyle=(0, (2, 1)),
                linewidth=1,
            )

    def _changes(self, axes: Axes, findings: list[Finding | None], base_unit: str, index: int) -> None:
        known = [(place, finding) for place, finding in enumerate(findings) if finding is not None]
        by_ratio = any(words.finite(finding.ratio) is not None for _, finding in known)
        margin = 100 * self.context.margin
        if by_ratio:
            values = [(place, f, *_percents(f)) for place, f in known if words.finite(f.ratio) is not None]
            unit = "%"
        else:
            divisor, unit = rows.difference_scale(
                (f.difference for _, f in known if f.difference is not None), base_unit
            )
            values = [
                (place, f, f.difference / divisor, _over(f.ci_low, divisor), _over(f.ci_high, divisor))
                for place, f in known
                if words.finite(f.difference) is not None and f.difference is not None
            ]
        axes.set_title(
            f"Change vs {self.context.experiment.baseline} ({unit})"
            if len(self.context.experiment.baseline) < 14
            else f"Change ({unit})"
        )
        axes.axvline(0, color=style.MUTED, linewidth=0.8, zorder=1)
        if by_ratio:
            axes.axvspan(-margin, margin, color=style.BAND, linewidth=0, zorder=0)
        for place, finding, value, low, high in values:
            path = self.context.styles[finding.path]
            bars = axes.errorbar(
                [value],
                [place],
                xerr=_reach(value, low, high, 1.0),
                color=path.colour,
                marker=path.marker,
                markerfacecolor=path.face,
                linestyle="none",
                elinewidth=1.2,
            )
            gid = f"x{index}-{place}"
            bars.lines[0].set_gid(gid)
            change = rows.row(finding).change_with_interval
            self.tips[gid] = [f"{finding.path}\n{change} against {finding.baseline}: {finding.verdict}"]
            expected = rows.expected_ratio(finding)
            if by_ratio and expected is not None:
                axes.plot(
                    [words.as_percent(expected)] * 2,
                    [place - 0.38, place + 0.38],
                    color=path.colour,
                    linestyle=(0, (2, 1)),
                    linewidth=1,
                )
                if rows.contradicts_theory(finding):
                    style.ring(axes, value, place)
        ends = [end for *_, low, high in values for end in (low, high) if end is not None]
        axes.set_xlim(*style.change_limits([value for _, _, value, _, _ in values], ends, margin if by_ratio else 0.0))
        axes.xaxis.set_major_formatter(style.signed_ticks())
        axes.locator_params(axis="x", nbins=6)

    def _handles(self) -> list[Line2D | Patch]:
        estimates = [e for item in self.items for panel in item.panels for e in panel.estimates]
        handles: list[Line2D | Patch] = [
            style.path_handle(path) for path in self.context.paths(e.path for e in estimates)
        ]
        if any(estimate.theory is not None for estimate in estimates):
            handles.append(style.theory_handle())
        findings = [finding for item in self.items for panel in item.panels for finding in panel.findings]
        if any(rows.contradicts_theory(finding) for finding in findings):
            handles.append(style.ring_handle())
        if any(_is_compared(item) for item in self.items):
            handles.append(style.margin_handle(self.context.margin))
        return handles


def _percents(finding: Finding) -> tuple[float, float | None, float | None]:
    assert finding.ratio is not None
    low, high = words.finite(finding.ci_low), words.finite(finding.ci_high)
    return (
        words.as_percent(finding.ratio),
        None if low is None else words.as_percent(low),
        None if high is None else words.as_percent(high),
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
