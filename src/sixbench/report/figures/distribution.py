"""Distributions of times: cumulative, from the histograms of all valid trials together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ...analysis.clock import clock_of
from ...model.experiment import Combination
from ...model.trial import TrialRecord
from ...store import Run
from .. import rows, words
from . import data, style
from .data import Context
from .drawing import Drawing, Picture

MOST_PANELS = 9
MOST_PAGES = 3
"""Of a workload; what is beyond is in the trials' records."""
LAST = 0.999
"""Quantile at which curves end: one packet that waited for a second would else take the room of all others."""

_STEP = 1 / 300
"""Least rise from one point of a curve to the next: less cannot be seen."""

NAMES = {
    "rtt": "Round-trip time",
    "connect": "Connection time",
    "transaction": "Transaction time",
    "one_way_delay": "One-way delay",
}
"""Histograms that are drawn, by their name in trial records."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Share of the values (0 to 1) up to each time."""

    path: str
    count: int
    times_ns: list[float]
    shares: list[float]


@dataclass(frozen=True, kw_only=True)
class _Panel:
    title: str
    curves: list[Curve]


def drawings(context: Context, run: Run) -> list[Drawing]:
    """One figure a workload and histogram; several where there are many combinations of levels."""
    by_place: dict[tuple[str, str], list[TrialRecord]] = {}
    for trial in run.trials:
        if trial.status == "ok" and trial.histograms:
            by_place.setdefault((trial.combination, trial.path), []).append(trial)
    by_workload: dict[str, list[Combination]] = {}
    for combination in context.experiment.combinations:
        by_workload.setdefault(combination.workload.kind, []).append(combination)
    found: list[Drawing] = []
    clock = "" if clock_of(run).kind == "real" else " in virtual time"
    for workload, combinations in by_workload.items():
        for name, label in NAMES.items():
            panels = _panels(context, combinations, by_place, name)
            found += _of_histogram(context, workload, name, f"{label}{clock}", panels)
    return found


def merge(path: str, histograms: Sequence[dict[str, Any]]) -> Curve | None:
    """The curve of several histograms together; None where they hold nothing. Buckets are `[value, count]`, as the
    agent writes them."""
    counts: dict[float, int] = {}
    for histogram in histograms:
        for value, count in histogram.get("buckets") or []:
            if value > 0 and count > 0:
                counts[float(value)] = counts.get(float(value), 0) + int(count)
    total = sum(counts.values())
    if not total:
        return None
    times: list[float] = []
    shares: list[float] = []
    so_far = 0
    for value in sorted(counts):
        so_far += counts[value]
        share = so_far / total
        if not shares or share - shares[-1] >= _STEP or share >= LAST:
            times.append(value)
            shares.append(share)
        if share >= LAST:
            break
    return Curve(path=path, count=total, times_ns=times, shares=shares)


def _panels(
    context: Context, combinations: list[Combination], by_place: dict[tuple[str, str], list[TrialRecord]], name: str
) -> list[_Panel]:
    columns = rows.varying(data.AsItem(combination) for combination in combinations)
    panels = []
    for combination in combinations:
        curves = []
        for path in context.styles:
            trials = by_place.get((combination.name, path), [])
            curve = merge(path, [trial.histograms[name] for trial in trials if name in trial.histograms])
            if curve is not None:
                curves.append(curve)
        if curves:
            title = data.describe(columns, [combination.levels.get(column) for column in columns])
            panels.append(_Panel(title=title, curves=curves))
    return panels


def _of_histogram(context: Context, workload: str, name: str, label: str, panels: list[_Panel]) -> list[Drawing]:
    pages = [panels[start : start + MOST_PANELS] for start in range(0, len(panels), MOST_PANELS)]
    made = []
    for number, page in enumerate(pages[:MOST_PAGES], start=1):
        suffix = f" ({number} of {len(pages)})" if len(pages) > 1 else ""
        title = f"{words.workload_title(workload)}: distribution of the {label[:1].lower()}{label[1:]}{suffix}"
        made.append(
            Drawing(
                name=f"{workload}-{name.replace('_', '-')}-distribution{f'-{number}' if len(pages) > 1 else ''}",
                title=title,
                caption=(
                    "Share of all values of the valid trials together that are at most so long, on a logarithmic axis, "
                    f"up to {100 * LAST:g} %. Values of one trial depend on one another: how certain a difference is, "
                    "only the intervals over trials say."
                ),
                section="workload",
                workload=workload,
                rank=number,
                draw=lambda page=page, title=title, label=label: _draw(context, page, title, label),  # type: ignore[misc]
            )
        )
    return made


def _draw(context: Context, panels: list[_Panel], title: str, label: str) -> Picture:
    with style.house_style():
        columns = 1 if len(panels) == 1 else 2 if len(panels) in (2, 4) else 3
        count = math.ceil(len(panels) / columns)
        figure = style.figure(0.75 + count * (2.4 if columns == 1 else 2.05))
        grid = figure.add_gridspec(count, columns)
        width_in = style.WIDTH_IN / columns - 0.6
        for index, panel in enumerate(panels):
            row, column = divmod(index, columns)
            axes = figure.add_subplot(grid[row, column])
            _curves(axes, context, panel, width_in)
            if panel.title:
                axes.set_title(style.wrapped(panel.title, width_in))
            axes.set_xlabel(f"{label} (log scale)" if columns < 3 else "log scale")
            if column == 0:
                axes.set_ylabel("Share of values (%)")
        style.title(figure, title)
        paths = context.paths(curve.path for panel in panels for curve in panel.curves)
        style.legend(figure, [style.path_handle(path, markers=False) for path in paths])
        return Picture(figure=figure)


def _curves(axes: Axes, context: Context, panel: _Panel, width_in: float) -> None:
    for curve in panel.curves:
        path = context.styles[curve.path]
        axes.step(
            [curve.times_ns[0], *curve.times_ns],
            [0.0, *(100 * share for share in curve.shares)],
            where="post",
            color=path.colour,
            linestyle=path.line,
            linewidth=1.3,
        )
    low = min(curve.times_ns[0] for curve in panel.curves)
    high = max(curve.times_ns[-1] for curve in panel.curves)
    axes.set_xscale("log")
    low, high = low * (low / high) ** 0.04 / 1.01, high * (high / low) ** 0.04 * 1.01
    axes.set_xlim(low, high)
    axes.set_ylim(0, 102)
    axes.yaxis.set_major_locator(FixedLocator([0, 25, 50, 75, 100]))
    ticks = style.log_ticks(low, high, width_in)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: words.level("_ns", float(f"{value:.3g}"))))
