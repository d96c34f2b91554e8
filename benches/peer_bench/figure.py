"""All ratios in one figure, with intervals and targets, in the house style."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from sixbench.report import words
from sixbench.report.figures import style
from sixbench.report.figures.drawing import Picture
from sixbench.report.figures.save import render
from sixbench.store.atomic import write_file

from .comparisons import COMPARISONS, OURS
from .results import Results
from .verdicts import Row

_FAMILIES = {4: ("#0072B2", "o"), 6: ("#D55E00", "s")}
"""As the first two paths of an experiment look: IPv4, IPv6."""
_ROW_IN = 0.19


def write_figure(results: Results, directory: Path) -> list[Path]:
    """Writes `ratios.svg` and `ratios.png`; nothing where there is no ratio. Raises `WriteError`."""
    rows = results.rows()
    if not rows:
        return []
    written = []
    with style.house_style():
        picture = _draw(rows)
        for kind in ("svg", "png"):
            path = directory / f"ratios.{kind}"
            write_file(path, render(picture, kind))
            written.append(path)
    return written


def _draw(result: list[Row]) -> Picture:
    panels = [(c, [row for row in result if row.comparison == c.key]) for c in COMPARISONS]
    panels = [(comparison, part) for comparison, part in panels if part]
    lines = [len(_lines(part)) for _, part in panels]
    figure = style.figure(0.9 + sum(0.62 + _ROW_IN * count for count in lines), style.WIDTH_IN)
    grid = figure.add_gridspec(len(panels), 1, height_ratios=[0.4 + _ROW_IN * count for count in lines])
    for index, (comparison, part) in enumerate(panels):
        axes = figure.add_subplot(grid[index, 0])
        _panel(axes, part)
        better = (
            "lower is better" if any(target.lower_is_better for target in comparison.targets) else "higher is better"
        )
        axes.set_title(f"{comparison.title} ({better})")
    style.title(figure, f"{OURS} over its peers: ratios with 95 % intervals")
    style.legend(figure, _handles())
    return Picture(figure=figure)


def _lines(part: list[Row]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row.ours, row.peer) for row in part))


def _panel(axes: Axes, part: list[Row]) -> None:
    lines = _lines(part)
    axes.axvline(1, color=style.MUTED, linewidth=0.8, zorder=1)
    for row in part:
        colour, marker = _FAMILIES[row.family]
        place = lines.index((row.ours, row.peer)) + (-0.16 if row.family == 4 else 0.16)
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [place, place], color=colour, linewidth=1.3, zorder=2)
        axes.plot([row.ratio], [place], color=colour, marker=marker, markersize=4, linestyle="none", zorder=3)
        if row.target:
            axes.plot(
                [row.target.bound],
                [round(place)],
                color=style.INK,
                marker="|",
                markersize=11,
                linestyle="none",
                zorder=2,
            )
    axes.set_xscale("log")
    low, high = _limits(part)
    axes.set_xlim(low, high)
    ticks = style.log_ticks(low, high, 4.2)
    axes.set_xticks(ticks, [words.number(tick, 2) for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(lines)), [_label(ours, peer) for ours, peer in lines])
    axes.set_ylim(len(lines) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def _limits(part: list[Row]) -> tuple[float, float]:
    """Holds all ratios, 1 and the targets; what is too wide an interval to tell anything else apart runs off."""
    targets = [row.target.bound for row in part if row.target]
    centres = [row.ratio for row in part] + [1.0, *targets]
    low, high = min(centres), max(centres)
    ends = [end for row in part for end in (row.low, row.high) if end is not None]
    low = min([low, *(max(end, low / 2) for end in ends)])
    high = max([high, *(min(end, high * 2) for end in ends)])
    return low / 1.15, high * 1.15


def _label(ours: str, peer: str) -> str:
    how = ours.removeprefix(OURS).removeprefix(", ")
    return f"{how} / {peer}" if how else peer


def _handles() -> list[Line2D]:
    families = [
        Line2D([], [], color=colour, marker=marker, linewidth=1.3, label=f"IPv{family}")
        for family, (colour, marker) in _FAMILIES.items()
    ]
    target = Line2D([], [], color=style.INK, marker="|", markersize=11, linestyle="none", label="target")
    return [*families, target]
