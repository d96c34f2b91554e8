"""Page loads as waterfalls: a bar for each object from its request to its end, both families over each other, and a
panel for each combination of levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ...analysis.clock import clock_of
from ...model.experiment import Experiment
from ...model.trial import TrialRecord
from ...model.workloads import http
from ...store import Run
from .. import rows, words
from ..page_loads import MOST_OBJECTS, LoadedPage, compared_paths, median_trial, page_load
from . import style
from .data import AsItem, Context, describe
from .drawing import Drawing, Picture
from .panels import PanelGrid
from .style import PathStyle

MOST_PANELS = 12
"""Combinations of levels that are drawn. The run directory has the rest."""
_PANEL_IN = 2.3
_WAITING_ALPHA = 0.35

_CAPTION = (
    "The last page that a trial loaded, of the valid trial whose page time is the median of its path. Each object is a "
    "line from its request to its end, pale until its answer began. Time counts from the start of the page."
)


@dataclass(frozen=True, kw_only=True)
class _Load:
    """The page load that is drawn of a path."""

    path: PathStyle
    times: LoadedPage


def drawings(context: Context, run: Run) -> list[Drawing]:
    """A figure if trials of `http` have the times of a page's objects. Only drawing it reads those of all panels."""
    combinations = [c for c in context.experiment.combinations if c.workload.kind == http.KIND.name]
    styles = [context.styles[name] for name in compared_paths(context.experiment)]
    columns = rows.varying(AsItem(combination) for combination in combinations)
    panels = []
    for combination in combinations:
        trials = {path.name: median_trial(run, combination.name, path.name) for path in styles}
        chosen = [(path, trial) for path in styles if (trial := trials[path.name]) is not None]
        if chosen:
            title = describe(columns, [combination.levels.get(column) for column in columns])
            panels.append((title, chosen))
    if not panels or not any(_load(path, trial) for path, trial in panels[0][1]):
        return []
    page, title = panels[:MOST_PANELS], f"{http.KIND.title}: objects of a page over time"
    left_out = len(panels) - len(page)
    more = f" Of longer pages the first {MOST_OBJECTS} objects are drawn." if _has_long_page(context.experiment) else ""
    more += f" The figure leaves out {words.count(left_out, 'more panel')}." if left_out else ""
    return [
        Drawing(
            name=f"{http.KIND.name}-waterfall",
            title=title,
            caption=_CAPTION + more,
            section="workload",
            workload=http.KIND.name,
            draw=lambda width_in: _draw(run, page, title, width_in),
        )
    ]


def _has_long_page(experiment: Experiment) -> bool:
    pages = [page.objects for page in experiment.pages.values()]
    counts = [
        int(http.OBJECTS.of(c.workload.params)) for c in experiment.combinations if c.workload.kind == http.KIND.name
    ]
    return max([*map(len, pages), *counts], default=0) > MOST_OBJECTS


def _load(path: PathStyle, trial: TrialRecord) -> _Load | None:
    load = page_load(trial)
    return None if load is None else _Load(path=path, times=load)


def _draw(
    run: Run,
    panels: Sequence[tuple[str, Sequence[tuple[PathStyle, TrialRecord]]]],
    title: str,
    width_in: float,
) -> Picture:
    with style.house_style():
        loads = [[load for path, trial in chosen if (load := _load(path, trial))] for _, chosen in panels]
        grid = PanelGrid.fitting(len(panels), width_in, beside_in=0.5)
        figure = style.figure(0.75 + _PANEL_IN * grid.rows, width_in)
        clock = clock_of(run)
        ends_ns = [end_ns for of_panel in loads for load in of_panel for end_ns in load.times.ended_ns]
        divisor, unit = words.common_scale(ends_ns, clock.unit("ns"))
        for place, (panel, _), of_panel in zip(grid.places(figure), panels, loads, strict=True):
            [axes] = place.axes
            _panel(axes, of_panel, divisor)
            place.title(panel)
            axes.set_xlim(0, 1.03 * max(ends_ns) / divisor)
            if place.is_first:
                axes.set_ylabel("Object")
            if place.is_last:
                axes.set_xlabel(f"Time ({unit})")
        style.title(figure, title)
        names = {load.path.name: load.path for of_panel in loads for load in of_panel}
        handles = [Patch(facecolor=path.colour, edgecolor="none", label=path.name) for path in names.values()]
        pale = Patch(facecolor=style.MUTED, edgecolor="none", alpha=_WAITING_ALPHA, label="until the answer began")
        style.legend(figure, [*handles, pale])
        return Picture(figure=figure)


def _panel(axes: Axes, loads: Sequence[_Load], divisor: float) -> None:
    """Draws the objects of the page from the top down, those of one path above those of the other."""
    height = 0.8 / max(1, len(loads))
    for number, load in enumerate(loads):
        lines = [index + 1 - 0.4 + height * (number + 0.5) for index in range(len(load.times.begun_ns))]
        times = load.times
        waiting, arriving = (times.begun_ns, times.first_byte_ns), (times.first_byte_ns, times.ended_ns)
        for (begins_ns, ends_ns), alpha in ((waiting, _WAITING_ALPHA), (arriving, 1.0)):
            axes.barh(
                lines,
                [(end_ns - begin_ns) / divisor for begin_ns, end_ns in zip(begins_ns, ends_ns, strict=True)],
                left=[begin_ns / divisor for begin_ns in begins_ns],
                height=height,
                color=load.path.colour,
                alpha=alpha,
                linewidth=0,
            )
    objects = max((len(load.times.begun_ns) for load in loads), default=1)
    axes.set_ylim(objects + 0.5, 0.5)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
