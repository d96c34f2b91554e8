"""All headline changes of a workload with their intervals, the margin and the noise floor: one panel for each
metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...model.finding import Analysis, Finding
from .. import rows, words
from ..typed_cells import IntervalCell
from . import cut, mark_look, style
from .changes import PAIRS, Change, change_handles, changes, limits
from .data import Context
from .drawing import Drawing, Picture, paged
from .groups import members_of
from .mark_look import look_of
from .row_labels import RowLabels

MOST_ROWS = 48
"""Rows on a page, which can be read at the size of a sheet of paper."""

MOST_PAGES = 4
"""Pages for a workload. Only the tables have the rest."""

_LEAST_IN = 1.7
"""The least width of axes beside labels."""
_MESSAGE_PT = 7.0


def drawings(context: Context, analysis: Analysis) -> list[Drawing]:
    """One figure for each workload, or several if it has many findings. They leave out findings that are differences
    rather than ratios, and those of groups, which have figures of their own."""
    grouped = members_of(analysis)
    shown = [
        finding
        for finding in rows.headline(analysis)
        if words.finite(finding.ratio) is not None
        and (finding.combination, finding.path, finding.metric) not in grouped
    ]
    by_workload = rows.by_workload(shown).items()
    return [drawing for workload, findings in by_workload for drawing in _of_workload(context, workload, findings)]


def _of_workload(context: Context, workload: str, findings: list[Finding]) -> list[Drawing]:
    pages = _pages(rows.by_metric(findings))[:MOST_PAGES]
    of_pages = [[finding for _, part in page for finding in part] for page in pages]
    left_out = len(findings) - sum(map(len, of_pages))
    constant = words.levels(rows.constant(findings))
    against = words.listing(dict.fromkeys(finding.baseline for finding in findings))
    varying = rows.varying(findings)
    return paged(
        pages,
        name=f"{workload}-changes",
        title=f"{words.workload_title(workload)}{f', {constant}' if constant else ''}: change against {against}",
        captions=[_caption(context, left_out if page_rows is of_pages[-1] else 0, page_rows) for page_rows in of_pages],
        section="workload",
        workload=workload,
        ranks=count(1),
        draw=lambda page, title, width_in: _Forest(context, page, varying, title, width_in).draw(),
    )


def _caption(context: Context, left_out: int, findings: Sequence[Finding]) -> str:
    text = (
        "Each row is one comparison: the change of the path against its baseline, paired by block, with its "
        f"{context.confidence} confidence interval. The shape of the marker is the answer, and its colour says whether "
        "that is better or worse. Hollow grey markers are not decided"
    )
    has_noise = any(finding.noise_low is not None for finding in findings)
    if has_noise:
        text += ": a change within A/A is no larger than what the baseline may differ from itself"
    text += f". The grey band is the margin of {context.margins_of(findings)}."
    if has_noise:
        text += " The yellow bar is the interval of the A/A comparison at the same levels."
    text += " Each panel has its own scale."
    if any(change.pairs for change in changes(context, findings)):
        text += f" {PAIRS}"
    return text + (f" The table alone has {words.count(left_out, 'more finding')}." if left_out else "")


def _pages(by_metric: dict[str, list[Finding]]) -> list[list[tuple[str, list[Finding]]]]:
    """Metrics with their findings, path by path, on pages of at most `MOST_ROWS`."""
    pages: list[list[tuple[str, list[Finding]]]] = [[]]
    room = MOST_ROWS
    for metric, findings in by_metric.items():
        paths = list(dict.fromkeys(finding.path for finding in findings))
        left = sorted(findings, key=lambda finding: paths.index(finding.path))
        if len(left) > room and len(left) <= MOST_ROWS:
            room = 0
        while left:
            if room < min(4, len(left)):
                pages.append([])
                room = MOST_ROWS
            part, left = left[:room], left[room:]
            pages[-1].append((metric, part))
            room -= len(part) + 2
    return [page for page in pages if page]


@dataclass
class _Forest:
    context: Context
    page: Sequence[tuple[str, list[Finding]]]
    varying: Sequence[str]
    title: str
    width_in: float
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        with style.house_style():
            heights_in = [self.row_in * len(findings) for _, findings in self.page]
            figure = style.figure(0.8 + sum(0.62 + height_in for height_in in heights_in), self.width_in)
            grid = figure.add_gridspec(len(heights_in), 1, height_ratios=[0.35 + height for height in heights_in])
            for index, (metric, findings) in enumerate(self.page):
                self._panel(figure.add_subplot(grid[index, 0]), metric, findings, index)
            style.title(figure, self.title)
            style.legend(figure, self._handles())
            return Picture(figure=figure, tips=self.tips)

    def _panel(self, axes: Axes, metric: str, findings: list[Finding], index: int) -> None:
        margin = 100 * max(self.context.margins(findings))
        axes.axvspan(-margin, margin, color=style.BAND, linewidth=0, zorder=0)
        axes.axvline(0, color=style.MUTED, linewidth=0.8, zorder=1)
        shown = changes(self.context, findings)
        axes.set_xlim(*limits(shown, margin))
        for place, change in enumerate(shown):
            self._row(axes, place, change, f"f{index}-{place}")
        self.labels.write(axes, [self._text(change.finding) for change in shown], self.row_in)
        colours = [look_of(change.finding).colour for change in shown]
        rows_of = zip(range(len(shown)), shown, colours, strict=True)
        cut.mark(axes, "x", [interval for at, change, colour in rows_of for interval in change.intervals(at, colour)])
        axes.grid(axis="y", visible=False)
        axes.xaxis.set_major_formatter(style.signed_ticks())
        better = words.better(metric)
        title = f"{words.metric_label(metric)}: change in %{f' ({better})' if better else ''}"
        axes.set_title(style.wrapped(title, self.labels.title_in))

    @cached_property
    def labels(self) -> RowLabels:
        """The layout of rows, which have their labels at the left and their changes at the right, or both above."""
        findings = [finding for _, part in self.page for finding in part]
        return RowLabels.fitting(
            list(map(self._label, findings)),
            self.width_in,
            least_in=_LEAST_IN,
            other_in=max(style.text_in(_message(finding), _MESSAGE_PT) for finding in findings),
        )

    @property
    def row_in(self) -> float:
        """The height of a row."""
        return 0.33 if self.labels.is_above else 0.165

    def _row(self, axes: Axes, place: int, change: Change, gid: str) -> None:
        finding = change.finding
        row = rows.row(finding)
        look = look_of(finding)
        colour = look.colour
        if change.noise_low is not None and change.noise_high is not None:
            width = change.noise_high - change.noise_low
            height = 0.12 / self.row_in
            axes.barh(place, width, left=change.noise_low, height=height, color=style.NOISE, linewidth=0, zorder=0.5)
        if change.low is not None and change.high is not None:
            axes.plot([change.low, change.high], [place, place], color=colour, linewidth=1.3, zorder=2)
        axes.plot(change.pairs, [place] * len(change.pairs), color=colour, zorder=2.5, **style.LEVEL_PAIR)
        marker = axes.plot(
            [change.value],
            [place],
            color=colour,
            marker=look.shape,
            markerfacecolor=look.face,
            markersize=4.5,
            linestyle="none",
            zorder=3,
        )[0]
        marker.set_gid(gid)
        place_of = f"{finding.path}, {row.levels}" if row.levels else finding.path
        self.tips[gid] = [f"{place_of}\n{row.compared}\n{words.count(finding.n, 'pair')} of trials"]
        if not self.labels.is_above:
            axes.text(
                1.012, place, _message(finding), va="center", fontsize=_MESSAGE_PT, color=style.INK,
                transform=axes.get_yaxis_transform(),
            )  # fmt: skip

    def _text(self, finding: Finding) -> str:
        """The label of a row, with the change where that has no place of its own."""
        return f"{self._label(finding)}: {_message(finding)}" if self.labels.is_above else self._label(finding)

    def _label(self, finding: Finding) -> str:
        at = ", ".join(
            words.level(column, finding.levels[column]) for column in self.varying if column in finding.levels
        )
        return f"{finding.path}, {at}" if at else finding.path

    def _handles(self) -> list[Line2D | Patch]:
        findings = [finding for _, part in self.page for finding in part]
        return [*mark_look.handles(findings), *change_handles(self.context, findings, has_theory=False)]


def _message(finding: Finding) -> str:
    """The change with its interval."""
    row = rows.row(finding)
    interval = row.cells.interval
    has_ends = isinstance(interval, IntervalCell)
    return f"{row.cells.change.within('%')} ({interval.text})" if has_ends else row.change_with_interval
