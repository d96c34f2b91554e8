"""A paper's numbers beside ours: two joined points in each row."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count, repeat

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ...model.finding import PublishedComparison
from .. import words
from . import style
from .data import Context
from .drawing import Drawing, Picture, paged
from .row_labels import RowLabels

MOST_LINES = 46
"""Lines of labels on a page."""
LABEL = 46
"""Characters of a label's line, of which there are at most three."""
_LINE_IN = 0.125
_LEAST_IN = 2.7
"""The least width of axes beside labels."""
_PUBLISHED = "#5f6b76"
_OURS = "#0072B2"

Group = tuple[tuple[str, str], list[PublishedComparison]]
"""Source and unit, and the values that have them in common."""


def drawings(context: Context, published: Sequence[PublishedComparison]) -> list[Drawing]:
    """One figure, or several if there are many values. Each table or figure of the paper has a panel."""
    groups: dict[tuple[str, str], list[PublishedComparison]] = {}
    for item in published:
        if words.finite(item.published) is not None:
            groups.setdefault((item.source, item.unit), []).append(item)
    caption = (
        f"Diamonds are the paper's numbers. Dots are those of this run, with their {context.confidence} confidence "
        "intervals. Papers were measured on the hardware of their time, so absolute values differ. Compare the order "
        "and the ratios."
    )
    return paged(
        _pages(groups),
        name="published",
        title="Published values and ours",
        captions=repeat(caption),
        section="published",
        ranks=chain([0], count(2)),
        draw=lambda page, title, width_in: _Published(page, title, width_in).draw(),
    )


def _pages(groups: dict[tuple[str, str], list[PublishedComparison]]) -> list[list[Group]]:
    pages: list[list[Group]] = []
    room = 0
    for key, items in groups.items():
        part: list[PublishedComparison] = []
        for item in items:
            size = _lines(item) + (0 if part else 4)
            if not pages or size > room:
                part = []
                pages.append([])
                room = MOST_LINES
            if not part:
                pages[-1].append((key, part))
            part.append(item)
            room -= size
    return pages


def _label(item: PublishedComparison) -> str:
    lines = textwrap.wrap(words.keep_together(words.one_line(item.what)), LABEL)
    return "\n".join(lines[:3]).replace("\u00a0", " ") + ("…" if len(lines) > 3 else "")


def _lines(item: PublishedComparison) -> int:
    return _label(item).count("\n") + 1


@dataclass
class _Published:
    groups: list[Group]
    title: str
    width_in: float
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        with style.house_style():
            heights_in = [len(items) * self._row_in(items) for _, items in self.groups]
            figure = style.figure(0.75 + sum(0.65 + height_in for height_in in heights_in), self.width_in)
            grid = figure.add_gridspec(len(heights_in), 1, height_ratios=[0.4 + height for height in heights_in])
            for index, ((source, unit), items) in enumerate(self.groups):
                self._panel(figure.add_subplot(grid[index, 0]), source, unit, items, index)
            style.title(figure, self.title)
            published: style.Look = {"marker": "D", "markerfacecolor": "white", "linestyle": "none"}
            handles = [
                Line2D([], [], color=_PUBLISHED, label="published", **published),
                Line2D([], [], color=_OURS, marker="o", label="ours"),
            ]
            style.legend(figure, handles)
            return Picture(figure=figure, tips=self.tips)

    @cached_property
    def labels(self) -> RowLabels:
        """The layout of the rows of all panels."""
        labels = [_label(item) for _, items in self.groups for item in items]
        return RowLabels.fitting(labels, self.width_in, least_in=_LEAST_IN, size_pt=7.0)

    def _row_in(self, items: Sequence[PublishedComparison]) -> float:
        return (0.28 if self.labels.is_above else 0.07) + _LINE_IN * max(map(_lines, items))

    def _panel(self, axes: Axes, source: str, unit: str, items: list[PublishedComparison], index: int) -> None:
        values = [v for item in items for v in (item.published, item.ours, item.ours_low, item.ours_high)]
        known = [value for value in values if value is not None and words.finite(value) is not None]
        divisor, name = words.common_scale(known, unit)
        logarithmic = style.spans_decades(known)
        for place, item in enumerate(items):
            self._row(axes, place, item, divisor, f"p{index}-{place}")
        self.labels.write(axes, list(map(_label, items)), self._row_in(items))
        if logarithmic:
            low, high = min(known) / divisor, max(known) / divisor
            pad = (high / low) ** 0.05
            axes.set_xscale("log")
            axes.set_xlim(low / pad, high * pad)
            axes.xaxis.set_major_locator(FixedLocator(style.log_ticks(low / pad, high * pad, self.labels.axes_in)))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        else:
            low, high = min([0.0, *known]) / divisor, max([0.0, *known]) / divisor
            pad = 0.05 * (high - low) or 1.0
            axes.set_xlim(low - pad if low < 0 else 0, high + pad)
        title = f"{source} ({name}{', log scale' if logarithmic else ''})"
        axes.set_title(style.wrapped(title, self.labels.title_in))

    def _row(self, axes: Axes, place: int, item: PublishedComparison, divisor: float, gid: str) -> None:
        published, ours = item.published / divisor, words.finite(item.ours)
        text = f"{item.what}\npublished: {words.quantity(item.published, item.unit)} ({item.source})"
        if ours is not None:
            axes.plot([published, ours / divisor], [place, place], color=style.FAINT, linewidth=2.2, zorder=1.5)
            if words.finite(item.ours_low) is not None and words.finite(item.ours_high) is not None:
                low, high = item.ours_low or 0.0, item.ours_high or 0.0
                axes.plot([low / divisor, high / divisor], [place, place], color=_OURS, linewidth=1.3, zorder=2)
            dot = axes.plot([ours / divisor], [place], marker="o", color=_OURS, linestyle="none", zorder=3)[0]
            dot.set_gid(f"{gid}-ours")
            dot.set_clip_on(False)
            text += f"\nours: {words.quantity(item.ours, item.unit)}"
            self.tips[f"{gid}-ours"] = [text]
        else:
            text += "\nno such value in this run"
        diamond = axes.plot(
            [published],
            [place],
            marker="D",
            color=_PUBLISHED,
            markerfacecolor="white",
            markersize=5,
            linestyle="none",
            zorder=4,
        )[0]
        diamond.set_gid(gid)
        diamond.set_clip_on(False)
        self.tips[gid] = [text]
