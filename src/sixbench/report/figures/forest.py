"""All headline changes of a workload with their intervals, the margin and the noise floor: one panel a metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...model.finding import Analysis, Finding
from .. import rows, words
from . import style
from .data import Context
from .drawing import Drawing, Picture

MOST_ROWS = 48
"""Rows of a page: what can be read at the size of a sheet of paper."""

MOST_PAGES = 4
"""Pages a workload; what is beyond is in the tables only."""


def drawings(context: Context, analysis: Analysis) -> list[Drawing]:
    """One figure a workload, several where it has many findings. Findings that are differences rather than ratios are
    left out."""
    found = []
    shown = [finding for finding in rows.headline(analysis) if words.finite(finding.ratio) is not None]
    for workload, findings in rows.by_workload(shown).items():
        varying = rows.varying(findings)
        pages = _pages(rows.by_metric(findings))
        constant = words.levels(rows.constant(findings))
        against = words.listing(dict.fromkeys(finding.baseline for finding in findings))
        title = f"{words.workload_title(workload)}{f', {constant}' if constant else ''}: change against {against}"
        left_out = len(findings) - sum(len(part) for page in pages[:MOST_PAGES] for _, part in page)
        for number, page in enumerate(pages[:MOST_PAGES], start=1):
            suffix = f" ({number} of {min(len(pages), MOST_PAGES)})" if len(pages) > 1 else ""
            found.append(
                Drawing(
                    name=f"{workload}-changes{f'-{number}' if len(pages) > 1 else ''}",
                    title=title + suffix,
                    caption=_caption(context, left_out if number == min(len(pages), MOST_PAGES) else 0),
                    section="workload",
                    workload=workload,
                    rank=number,
                    draw=lambda page=page, suffix=suffix, title=title, varying=varying: _Forest(  # type: ignore[misc]
                        context, page, varying, title + suffix
                    ).draw(),
                )
            )
    return found


def _caption(context: Context, left_out: int) -> str:
    text = (
        "Each row is one comparison: the change of the path against its baseline, paired by block, with its "
        f"{context.confidence} confidence interval; colour and marker are the verdict. The grey band is the margin of "
        f"±{100 * context.margin:g} %, the yellow bar the interval of the A/A comparison at the same levels. Each "
        "panel has a scale of its own."
    )
    return text + (f" {words.count(left_out, 'more finding')} in the table only." if left_out else "")


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
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        """The figure."""
        with style.house_style():
            counts = [len(findings) for _, findings in self.page]
            figure = style.figure(0.8 + sum(0.62 + 0.165 * count for count in counts))
            grid = figure.add_gridspec(len(counts), 1, height_ratios=[0.35 + 0.165 * count for count in counts])
            for index, (metric, findings) in enumerate(self.page):
                self._panel(figure.add_subplot(grid[index, 0]), metric, findings, index)
            style.title(figure, self.title)
            style.legend(figure, self._handles())
            return Picture(figure=figure, tips=self.tips)

    def _panel(self, axes: Axes, metric: str, findings: list[Finding], index: int) -> None:
        margin = 100 * self.context.margin
        axes.axvspan(-margin, margin, color=style.BAND, linewidth=0, zorder=0)
        axes.axvline(0, color=style.MUTED, linewidth=0.8, zorder=1)
        for place, finding in enumerate(findings):
            self._row(axes, place, finding, f"f{index}-{place}")
        axes.set_yticks(range(len(findings)), [self._label(finding) for finding in findings])
        axes.set_ylim(len(findings) - 0.4, -0.6)
        axes.set_xlim(*_limits(findings, margin))
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(style.signed_ticks())
        better = words.better(metric)
        axes.set_title(f"{words.metric_label(metric)}: change in %{f' ({better})' if better else ''}")

    def _row(self, axes: Axes, place: int, finding: Finding, gid: str) -> None:
        assert finding.ratio is not None
        row = rows.row(finding)
        colour = style.VERDICT_COLOURS[finding.verdict]
        if finding.noise_low is not None and finding.noise_high is not None:
            low, high = words.as_percent(finding.noise_low), words.as_percent(finding.noise_high)
            axes.barh(place, high - low, left=low, height=0.72, color=style.NOISE, linewidth=0, zorder=0.5)
        ends = [words.finite(finding.ci_low), words.finite(finding.ci_high)]
        if ends[0] is not None and ends[1] is not None:
            axes.plot(
                [words.as_percent(ends[0]), words.as_percent(ends[1])],
                [place, place],
                color=colour,
                linewidth=1.3,
                zorder=2,
            )
        marker = axes.plot(
            [words.as_percent(finding.ratio)],
            [place],
            color=colour,
            marker=style.VERDICT_MARKERS[finding.verdict],
            markerfacecolor="white" if finding.verdict == "inconclusive" else colour,
            markersize=4.5,
            linestyle="none",
            zorder=3,
        )[0]
        marker.set_gid(gid)
        place_of = f"{finding.path}, {row.levels}" if row.levels else finding.path
        compared = f"{row.change_with_interval} against {finding.baseline}: {finding.verdict}"
        self.tips[gid] = [f"{place_of}\n{compared}\n{words.count(finding.n, 'pair')} of trials"]
        said = row.change if row.interval == words.MISSING else f"{row.change.removesuffix(' %')} ({row.interval})"
        axes.text(1.012, place, said, transform=axes.get_yaxis_transform(), va="center", fontsize=7, color=style.INK)

    def _label(self, finding: Finding) -> str:
        at = ", ".join(
            words.level(column, finding.levels[column]) for column in self.varying if column in finding.levels
        )
        return f"{finding.path}, {at}" if at else finding.path

    def _handles(self) -> list[Line2D | Patch]:
        findings = [finding for _, part in self.page for finding in part]
        handles: list[Line2D | Patch] = []
        for verdict, colour in style.VERDICT_COLOURS.items():
            if any(finding.verdict == verdict for finding in findings):
                face = "white" if verdict == "inconclusive" else colour
                marker = style.VERDICT_MARKERS[verdict]
                handles.append(
                    Line2D([], [], color=colour, marker=marker, markerfacecolor=face, linewidth=1.3, label=verdict)
                )
        handles.append(style.margin_handle(self.context.margin))
        if any(finding.noise_low is not None for finding in findings):
            handles.append(style.noise_handle())
        return handles


def _limits(findings: list[Finding], margin: float) -> tuple[float, float]:
    centres = [words.as_percent(finding.ratio) for finding in findings if finding.ratio is not None]
    known = [words.finite(end) for finding in findings for end in (finding.ci_low, finding.ci_high)]
    return style.change_limits(centres, [words.as_percent(end) for end in known if end is not None], margin)
