"""Comparisons over a factor, such as servers: a row for each level with its interval, and below all of them the mean
with the interval of one more level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...model.change_words import PrintedChange
from ...model.comparison_group import ComparisonGroup
from ...model.finding import Analysis, Finding
from .. import group_words, rows, words
from ..group_tables import title as title_of
from . import cut, mark_look, style
from .changes import Change, changes, limits
from .cut import DrawnInterval
from .data import Context
from .drawing import Drawing, Picture, paged
from .mark_look import look_of
from .row_labels import RowLabels

MOST_ROWS = 50
"""Levels on a page, which can be read at the size of a sheet of paper. Each page has the mean of all."""

_LEAST_IN = 1.7
"""The least width of axes beside labels."""
_MESSAGE_PT = 7.0
_MEAN_ROWS = 1.5
"""The room that the mean takes, in rows: it is apart from the levels."""
_DIAMOND_IN = 0.055
"""Half the height of the diamond of the mean."""


def drawings(context: Context, analysis: Analysis) -> list[Drawing]:
    """One figure for each group whose changes are ratios, or several if it has many levels."""
    return [
        drawing for group, findings in _drawn(analysis) for drawing in _of_group(context, group, _ordered(findings))
    ]


def members_of(analysis: Analysis) -> frozenset[tuple[str, str, str]]:
    """The findings that these figures show, by combination, path and metric."""
    return frozenset(group_words.by_place([finding for _, findings in _drawn(analysis) for finding in findings]))


def _drawn(analysis: Analysis) -> list[tuple[ComparisonGroup, list[Finding]]]:
    """The groups that have a figure, with the findings that are ratios."""
    findings = group_words.by_place(analysis.findings)
    known = [
        (group, [f for f in group_words.findings_of(group, findings) if words.finite(f.ratio) is not None])
        for group in analysis.groups
    ]
    return [(group, members) for group, members in known if len(members) > 1]


def _ordered(findings: Sequence[Finding]) -> list[Finding]:
    """The findings from the worst change to the best; from the highest where neither direction is better."""
    is_higher_better = words.better(findings[0].metric).startswith("higher")
    return sorted(findings, key=lambda finding: finding.ratio or 1.0, reverse=not is_higher_better)


def _of_group(context: Context, group: ComparisonGroup, findings: list[Finding]) -> list[Drawing]:
    size = -(-len(findings) // -(-len(findings) // MOST_ROWS))
    pages = [findings[start : start + size] for start in range(0, len(findings), size)]
    others = "-".join(str(level) for level in group.levels.values())
    return paged(
        pages,
        name=f"{group.workload}-{group.metric}-{group.path}-over-{group.factor}{f'-{others}' if others else ''}",
        title=f"{words.workload_title(group.workload)}: {title_of(group)}",
        captions=[_caption(context, group)] * len(pages),
        section="workload",
        workload=group.workload,
        ranks=count(0),
        draw=lambda page, title, width_in: _Groups(context, group, page, findings, title, width_in).draw(),
    )


def _caption(context: Context, group: ComparisonGroup) -> str:
    noun, many = group_words.nouns(group)
    text = (
        f"Each row is the change at one {noun}, paired by block, with its {context.confidence} confidence interval. "
        "The worst is at the top. The shape of the marker is the answer, and hollow grey markers are not decided. The "
        f"grey band is the margin of {group_words.margin_text(group)}."
    )
    if group.pooled is not None:
        text += f" The diamond is the mean of all {many} with its interval."
    if group_words.predicted_change(group) is not None:
        text += f" The thin line through it is where the change at one more {noun} would lie."
    return f"{text} {group_words.sentences(group, context.experiment.statistics.confidence)}"


@dataclass
class _Groups:
    """A page of a group.

    Attributes:
        page: the findings of the page; `findings` are those of all pages, which share a scale.
    """

    context: Context
    group: ComparisonGroup
    page: Sequence[Finding]
    findings: Sequence[Finding]
    title: str
    width_in: float
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        with style.house_style():
            figure = style.figure(0.95 + self.row_in * (len(self.page) + self._mean_rows), self.width_in)
            self._panel(figure.add_subplot())
            style.title(figure, self.title)
            style.legend(figure, self._handles())
            return Picture(figure=figure, tips=self.tips)

    def _panel(self, axes: Axes) -> None:
        margin = 100 * self.group.margin
        axes.axvspan(-margin, margin, color=style.BAND, linewidth=0, zorder=0)
        axes.axvline(0, color=style.MUTED, linewidth=0.8, zorder=1)
        low, high = limits(changes(self.context, self.findings), margin)
        mean = self._mean
        if mean is not None:
            pad = 0.02 * (high - low)
            low, high = min(low, mean.change - pad), max(high, mean.change + pad)
        axes.set_xlim(low, high)
        shown = changes(self.context, self.page)
        for place, change in enumerate(shown):
            self._row(axes, place, change)
        colours = [look_of(change.finding).colour for change in shown]
        drawn = [change.intervals(at, colours[at])[0] for at, change in enumerate(shown)]
        labels = [self._label(change.finding) for change in shown]
        places = [float(place) for place in range(len(shown))]
        if mean is not None:
            places.append(len(shown) + _MEAN_ROWS - 1)
            labels.append(self._mean_label)
            drawn += self._draw_mean(axes, places[-1], mean)
        self.labels.write_at(axes, labels, places, self.row_in)
        cut.mark(axes, "x", drawn)
        axes.grid(axis="y", visible=False)
        axes.xaxis.set_major_formatter(style.signed_ticks())
        better = words.better(self.group.metric)
        text = f"{words.metric_label(self.group.metric)}: change in %{f' ({better})' if better else ''}"
        axes.set_title(style.wrapped(text, self.labels.title_in))

    def _row(self, axes: Axes, place: int, change: Change) -> None:
        look, gid = look_of(change.finding), f"g{place}"
        if change.low is not None and change.high is not None:
            axes.plot([change.low, change.high], [place, place], color=look.colour, linewidth=1.3, zorder=2)
        marker = axes.plot(
            [change.value], [place], color=look.colour, marker=look.shape, markerfacecolor=look.face, markersize=4.5,
            linestyle="none", zorder=3,
        )[0]  # fmt: skip
        marker.set_gid(gid)
        finding = change.finding
        compared = rows.row(finding).compared
        self.tips[gid] = [f"{self._level(finding)}\n{compared}\n{words.count(finding.n, 'pair')} of trials"]
        self._message(axes, place, rows.row(finding).change_with_interval)

    def _draw_mean(self, axes: Axes, place: float, mean: PrintedChange) -> list[DrawnInterval]:
        """Draws the mean as a diamond as wide as its interval, and the interval of one more level as a line."""
        axes.axhline(place - _MEAN_ROWS / 2, color=style.FAINT, linewidth=0.8, zorder=1)
        low, high = mean.ends
        half = _DIAMOND_IN / self.row_in
        corners = ([low, mean.change, high, mean.change], [place, place - half, place, place + half])
        axes.fill(*corners, facecolor=style.INK, edgecolor=style.INK, linewidth=0.8, zorder=3)
        predicted = group_words.predicted_change(self.group)
        intervals = [DrawnInterval(place=place, low=low, high=high, colour=style.INK)]
        if predicted is not None:
            axes.plot(predicted.ends, [place, place], color=style.INK, linewidth=0.9, zorder=2, **_PREDICTED)
            ends = predicted.ends
            intervals = [DrawnInterval(place=place, low=ends[0], high=ends[1], colour=style.INK)]
        marker = axes.plot([mean.change], [place], marker="D", markersize=1.5, color=style.INK, linestyle="none")[0]
        marker.set_gid("mean")
        sentences = group_words.sentences(self.group, self.context.experiment.statistics.confidence)
        self.tips["mean"] = [f"{self._mean_name}\n{mean.with_interval}\n{sentences}"]
        self._message(axes, place, mean.with_interval)
        return intervals

    def _message(self, axes: Axes, place: float, text: str) -> None:
        """Writes the change at the right of its row, unless it stands in the label."""
        if not self.labels.is_above:
            axes.text(
                1.012, place, text, va="center", fontsize=_MESSAGE_PT, color=style.INK,
                transform=axes.get_yaxis_transform(),
            )  # fmt: skip

    @cached_property
    def labels(self) -> RowLabels:
        """The layout of rows, which have their labels at the left and their changes at the right, or both above."""
        messages = [rows.row(finding).change_with_interval for finding in self.findings]
        return RowLabels.fitting(
            [*map(self._level, self.findings), self._mean_name],
            self.width_in,
            least_in=_LEAST_IN,
            other_in=max(style.text_in(message, _MESSAGE_PT) for message in messages),
        )

    @property
    def row_in(self) -> float:
        """The height of a row."""
        return 0.33 if self.labels.is_above else 0.165

    @property
    def _mean(self) -> PrintedChange | None:
        mean = group_words.mean_change(self.group)
        return mean if self.group.pooled is not None and self.group.pooled.ratio is not None else None

    @property
    def _mean_rows(self) -> float:
        return 0.0 if self._mean is None else _MEAN_ROWS

    @property
    def _mean_name(self) -> str:
        return f"mean of {0 if self.group.pooled is None else self.group.pooled.groups}"

    @property
    def _mean_label(self) -> str:
        mean = self._mean
        return f"{self._mean_name}: {mean.with_interval}" if self.labels.is_above and mean else self._mean_name

    def _level(self, finding: Finding) -> str:
        return words.level(self.group.factor, finding.levels.get(self.group.factor))

    def _label(self, finding: Finding) -> str:
        level = self._level(finding)
        return f"{level}: {rows.row(finding).change_with_interval}" if self.labels.is_above else level

    def _handles(self) -> list[Line2D | Patch]:
        handles: list[Line2D | Patch] = [*mark_look.handles(self.page)]
        handles.append(style.margin_handle(f"±{group_words.margin_text(self.group)}"))
        if self._mean is not None:
            handles.append(Line2D([], [], color=style.INK, marker="D", linestyle="none", label="mean of all"))
        if group_words.predicted_change(self.group) is not None:
            noun = group_words.nouns(self.group)[0]
            handles.append(Line2D([], [], color=style.INK, linewidth=0.9, label=f"one more {noun}", **_PREDICTED))
        return handles


_PREDICTED: style.Look = {"linestyle": (0, (4, 1.5))}
"""The look of the interval of one more level."""
