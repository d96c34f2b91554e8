"""Distributions of times: cumulative, from the histograms of all valid trials together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, repeat

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ...analysis.clock import clock_of
from ...model.experiment import Combination
from ...model.json_object import JsonObject
from ...model.metric import METRICS
from ...model.trial import TrialRecord
from ...model.workloads import WORKLOADS
from ...store import Run
from .. import rows, words
from . import data, style
from .data import Context
from .drawing import Drawing, Picture, paged
from .panels import PanelGrid

MOST_PANELS = 9
MOST_PAGES = 3
"""Pages for a workload. The trials' records have the rest."""
LAST = 0.999
"""The quantile at which curves end. Otherwise one packet that waited for a second would take the room of all
others."""

_STEP = 1 / 300
"""The least rise from one point of a curve to the next. Less cannot be seen."""


@dataclass(frozen=True, kw_only=True)
class DistributionCurve:
    """The share of values (0 to 1) up to each time."""

    path: str
    count: int
    times_ns: list[float]
    shares: list[float]


@dataclass(frozen=True, kw_only=True)
class _Panel:
    title: str
    curves: list[DistributionCurve]


def drawings(context: Context, run: Run) -> list[Drawing]:
    """One figure for each workload and histogram, or several if there are many combinations of levels."""
    by_place: dict[tuple[str, str], list[TrialRecord]] = {}
    for trial in run.trials:
        if trial.status == "ok" and trial.histograms:
            by_place.setdefault((trial.combination, trial.path), []).append(trial)
    by_workload: dict[str, list[Combination]] = {}
    for combination in context.experiment.combinations:
        by_workload.setdefault(combination.workload.kind, []).append(combination)
    results: list[Drawing] = []
    clock = "" if clock_of(run).kind == "real" else " in virtual time"
    for workload, combinations in by_workload.items():
        drawn = [item for item in combinations if any((item.name, path) in by_place for path in context.styles)]
        names = WORKLOADS[workload].distributions
        panels = _panels(context, combinations, drawn[: MOST_PANELS * MOST_PAGES], by_place, names)
        more = max(0, len(drawn) - MOST_PANELS * MOST_PAGES)
        for name in names:
            label = METRICS[f"{name}_p50"].label.removesuffix(", median")
            results += _of_histogram(context, workload, name, f"{label}{clock}", panels[name], more)
    return results


def merge(path: str, histograms: Sequence[JsonObject]) -> DistributionCurve | None:
    """The curve of several histograms together. None if they are empty. Buckets are `[value, count]`, as the
    agent writes them."""
    counts: dict[float, int] = {}
    for histogram in histograms:
        for value, seen in histogram.get("buckets") or []:
            if value > 0 and seen > 0:
                counts[float(value)] = counts.get(float(value), 0) + int(seen)
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
    return DistributionCurve(path=path, count=total, times_ns=times, shares=shares)


def _panels(
    context: Context,
    combinations: list[Combination],
    drawn: list[Combination],
    by_place: dict[tuple[str, str], list[TrialRecord]],
    names: Sequence[str],
) -> dict[str, list[_Panel]]:
    """For each histogram of these names a panel a combination. `drawn`: those of the combinations that have room."""
    columns = rows.varying(data.AsItem(combination) for combination in combinations)
    results: dict[str, list[_Panel]] = {name: [] for name in names}
    for combination in drawn:
        title = data.describe(columns, [combination.levels.get(column) for column in columns])
        histograms = {
            path: [trial.histograms for trial in by_place.get((combination.name, path), [])] for path in context.styles
        }
        for name, panels in results.items():
            merged = [
                merge(path, [of_trial[name] for of_trial in of_trials if name in of_trial])
                for path, of_trials in histograms.items()
            ]
            curves = [curve for curve in merged if curve is not None]
            if curves:
                panels.append(_Panel(title=title, curves=curves))
    return results


def _of_histogram(
    context: Context, workload: str, name: str, label: str, panels: list[_Panel], more: int
) -> list[Drawing]:
    pages = [panels[start : start + MOST_PANELS] for start in range(0, len(panels), MOST_PANELS)]
    caption = (
        "Each curve gives the share of values up to each time, over all valid trials. The axis of time is "
        f"logarithmic, and curves end at {100 * LAST:g} %. The values of one trial depend on one another, "
        "so only the intervals over trials show the certainty of a difference."
    )
    if more:
        caption += f" {more} further combinations of levels are not drawn; the trials' records have them."
    return paged(
        pages,
        name=f"{workload}-{name.replace('_', '-')}-distribution",
        title=f"{words.workload_title(workload)}: distribution of the {label[:1].lower()}{label[1:]}",
        captions=repeat(caption),
        section="workload",
        workload=workload,
        ranks=count(1),
        draw=partial(_draw, context, label),
    )


def _draw(context: Context, label: str, panels: list[_Panel], title: str, width_in: float) -> Picture:
    with style.house_style():
        grid = PanelGrid.fitting(len(panels), width_in, beside_in=0.6)
        figure = style.figure(0.75 + grid.rows * (2.4 if grid.columns == 1 else 2.05), width_in)
        for place, panel in zip(grid.places(figure), panels, strict=True):
            [axes] = place.axes
            _curves(axes, context, panel, place.width_in)
            place.title(panel.title)
            axes.set_xlabel(f"{label} (log scale)" if grid.columns < 3 else "log scale")
            if place.is_first:
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
