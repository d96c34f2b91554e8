"""All headline changes of a workload with their intervals, the margin and the noise floor: one panel for each
metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
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
from .mark_look import look_of

MOST_ROWS = 48
"""Rows on a page, which can be read at the size of a sheet of paper."""

MOST_PAGES = 4
"""Pages for a workload. Only the tables have the rest."""


def drawings(context: Context, analysis: Analysis) -> list[Drawing]:
    """One figure for each workload, or several if it has many findings. They leave out findings that are differences
    rather than ratios."""
    shown = [finding for finding in rows.headline(analysis) if words.finite(finding.ratio) is not None]
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
        captions=[_caption(context, left_out if own is of_pages[-1] else 0, own) for own in of_pages],
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
        if self.is_narrow:
            axes.set_yticks([])
        else:
            axes.set_yticks(range(len(shown)), [self._label(change.finding) for change in shown])
        axes.set_ylim(len(shown) - 0.4, -0.9 if self.is_narrow else -0.6)
        colours = [look_of(change.finding).colour for change in shown]
        rows_of = zip(range(len(shown)), shown, colours, strict=True)
        cut.mark(axes, "x", [interval for at, change, colour in rows_of for interval in change.intervals(at, colour)])
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(style.signed_ticks())
        better = words.better(metric)
        title = f"{words.metric_label(metric)}: change in %{f' ({better})' if better else ''}"
        axes.set_title(style.wrapped(title, self.width_in - 0.3))

    @property
    def is_narrow(self) -> bool:
        """True if rows have their text above them, for want of room beside."""
        return style.is_narrow(self.width_in)

    @property
    def row_in(self) -> float:
        return 0.33 if self.is_narrow else 0.165

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
        interval = row.cells.interval
        has_ends = isinstance(interval, IntervalCell)
        message = f"{row.cells.change.within('%')} ({interval.text})" if has_ends else row.change_with_interval
        text: style.Look = {"transform": axes.get_yaxis_transform(), "fontsize": 7, "color": style.INK}
        if self.is_narrow:
            axes.text(0.01, place - 0.3, f"{self._label(finding)}: {message}", va="bottom", bbox=style.BEHIND, **text)
        else:
            axes.text(1.012, place, message, va="center", **text)

    def _label(self, finding: Finding) -> str:
        at = ", ".join(
            words.level(column, finding.levels[column]) for column in self.varying if column in finding.levels
        )
        return f"{finding.path}, {at}" if at else finding.path

    def _handles(self) -> list[Line2D | Patch]:
        findings = [finding for _, part in self.page for finding in part]
        return [*mark_look.handles(findings), *change_handles(self.context, findings, has_theory=False)]
