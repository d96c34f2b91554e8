"""Throughput over time: a thin line for every trial, a thick one for their median, and a panel for each path and
combination of levels."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ...analysis.clock import clock_of
from ...model.experiment import Combination
from ...model.workloads import WORKLOADS
from ...store import Run
from .. import rows, words
from ..link_descriptions import event_words
from . import style
from .data import AsItem, Context, describe
from .drawing import Drawing, Picture
from .panels import PanelGrid
from .style import PathStyle

MOST_ROWS = 6
"""Combinations of levels that are drawn. The run directory has the rest, which looks much the same."""
MOST_COLUMNS = 5
MOST_CHANGES = 3
_LEAST_IN = 1.4
"""The least width of a panel. All panels of a row have one scale, so few numbers are beside it."""
MOST_TRIALS = 20
"""Lines of a panel: the first blocks."""

_EVENT: style.Look = {"linestyle": "dashed", "linewidth": 0.8}

SOURCES = ("forward_receiver", "reverse_receiver")
"""The series of bytes received that streams have. The first one that a trial has is drawn."""


@dataclass(frozen=True, kw_only=True)
class _Panel:
    path: PathStyle
    title: str
    keys: list[str]
    events_s: list[float]
    """Times at which links change, counted from the opening of the measured window."""


@dataclass(frozen=True, kw_only=True)
class _Series:
    """The ends of the intervals, and the bits per second in each."""

    times_s: list[float]
    values_bps: list[float]


def drawings(context: Context, run: Run) -> list[Drawing]:
    """Figures of the workloads that have such series. Only drawing a figure reads which trials have one."""
    results = []
    for workload in (kind.name for kind in WORKLOADS.values() if kind.flow == "stream"):
        combinations = [c for c in context.experiment.combinations if c.workload.kind == workload]
        panels = _panels(context, run, combinations)
        if not any(_series(run, key, workload) for panel in panels[:1] for key in panel.keys):
            continue
        columns = max(1, min(MOST_COLUMNS, len({panel.path.name for panel in panels})))
        page = panels[: MOST_ROWS * columns]
        title = f"{words.workload_title(workload)}: goodput over time"
        results.append(
            Drawing(
                name=f"{workload}-time",
                title=title,
                caption=_caption(run, combinations, len(panels) - len(page)),
                section="workload",
                workload=workload,
                draw=lambda width_in, page=page, title=title, workload=workload, columns=columns: _draw(  # type: ignore[misc]
                    run, page, title, workload, columns, width_in
                ),
            )
        )
    return results


def _caption(run: Run, combinations: Sequence[Combination], left_out: int) -> str:
    text = (
        "Thin lines are valid trials, the first ones of each path. The thick line is their median. Time counts from "
        "the opening of the measured window."
    )
    topologies = run.manifest.experiment.topologies
    changes = dict.fromkeys("; ".join(event_words(topologies[c.topology], c.events)) for c in combinations if c.events)
    if changes:
        text += (
            f" Dashed lines mark changes of links: {'; or '.join([*changes][:MOST_CHANGES])}. The times of changes "
            "count from the start of the warm-up."
        )
    return f"{text} The figure leaves out {words.count(left_out, 'more panel')}." if left_out > 0 else text


def _panels(context: Context, run: Run, combinations: Sequence[Combination]) -> list[_Panel]:
    columns = rows.varying(AsItem(combination) for combination in combinations)
    keys: dict[tuple[str, str], list[str]] = {}
    for trial in run.trials:
        if trial.status == "ok":
            keys.setdefault((trial.combination, trial.path), []).append(trial.key)
    return [
        _Panel(
            path=path,
            title=describe(columns, [combination.levels.get(column) for column in columns]),
            keys=keys[combination.name, path.name][:MOST_TRIALS],
            events_s=[
                (event.at_ns - int(combination.workload.params.get("warmup_ns", 0))) / 1e9
                for event in combination.events
            ],
        )
        for combination in combinations
        for path in context.styles.values()
        if (combination.name, path.name) in keys
    ]


def _draw(run: Run, panels: Sequence[_Panel], title: str, workload: str, columns: int, width_in: float) -> Picture:
    with style.house_style():
        results = [[series for key in panel.keys if (series := _series(run, key, workload))] for panel in panels]
        grid = PanelGrid.fitting(len(panels), width_in, least_in=_LEAST_IN, most_columns=columns, beside_in=0.5)
        figure = style.figure(0.75 + 1.6 * grid.rows, width_in)
        values = [value for of_panel in results for series in of_panel for value in series.values_bps]
        clock = clock_of(run)
        divisor, unit = words.common_scale(values, clock.unit("bit/s"))
        for place, panel, of_panel in zip(grid.places(figure), panels, results, strict=True):
            [axes] = place.axes
            _panel(axes, panel, of_panel, divisor)
            place.title(f"{panel.path.name}, {panel.title}" if panel.title else panel.path.name)
            axes.set_ylim(0, 1.08 * max(values, default=1.0) / divisor)
            if place.is_first:
                axes.set_ylabel(f"Goodput ({unit})")
            if place.is_last:
                axes.set_xlabel(f"Time ({clock.unit('s')})")
        style.title(figure, title)
        trial = Line2D([], [], color=style.MUTED, linewidth=0.6, alpha=0.6, label="a trial")
        legend = [trial, Line2D([], [], color=style.MUTED, linewidth=1.8, label="median of the trials")]
        if any(panel.events_s for panel in panels):
            legend.append(Line2D([], [], color=style.MUTED, **_EVENT, label="a link changes"))
        style.legend(figure, legend)
        return Picture(figure=figure)


def _panel(axes: Axes, panel: _Panel, of_panel: Sequence[_Series], divisor: float) -> None:
    for series in of_panel:
        axes.plot(
            series.times_s, [v / divisor for v in series.values_bps], color=panel.path.colour, linewidth=0.5, alpha=0.35
        )
    by_time: dict[float, list[float]] = {}
    for series in of_panel:
        for time_s, value_bps in zip(series.times_s, series.values_bps, strict=True):
            by_time.setdefault(time_s, []).append(value_bps / divisor)
    common = sorted(time_s for time_s, values in by_time.items() if len(values) * 2 > len(of_panel))
    axes.plot(common, [statistics.median(by_time[time_s]) for time_s in common], color=panel.path.colour, linewidth=1.7)
    for at_s in panel.events_s:
        axes.axvline(at_s, color=style.MUTED, zorder=0, **_EVENT)
    if by_time:
        axes.set_xlim(0, max(by_time))


def _series(run: Run, key: str, workload: str) -> _Series | None:
    """The goodput of a trial over time. None if it has no such series."""
    sources = run.series(key)
    columns = next((sources[name] for name in SOURCES if "bytes" in sources.get(name, {})), None)
    if columns is None:
        return None
    times_s, values_bps, before_ns = [], [], 0.0
    for end_ns, received_bytes in zip(columns["bytes:t_ns"], columns["bytes"], strict=True):
        if end_ns > before_ns:
            times_s.append(round(end_ns / 1e9, 3))
            values_bps.append(8e9 * received_bytes / (end_ns - before_ns))
        before_ns = end_ns
    return _Series(times_s=times_s, values_bps=values_bps) if times_s else None
