"""Kernel beside kernel: what a packet costs on each, a line a path, a panel a combination of the other factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes

from ...model.finding import Analysis, Estimate
from ...model.kernels import COLUMN
from ...model.workloads import WORKLOADS
from .. import rows, words
from . import data, style
from .data import Context, Panel
from .drawing import Drawing, Picture

COSTS = ("instructions_per_packet", "cpu_per_packet")
"""What is shown, the first of these that was measured; else the workload's primary metric."""

_COLUMNS = 3
_PANEL_IN = 1.9


def drawings(context: Context, analysis: Analysis) -> list[Drawing]:
    """One figure a workload, of a run on several kernels."""
    found = []
    for workload, estimates in rows.by_workload(analysis.estimates).items():
        metric, shown = _shown(workload, [estimate for estimate in estimates if COLUMN in estimate.levels])
        if len({estimate.levels[COLUMN] for estimate in shown}) < 2:
            continue
        title = f"{words.workload_title(workload)}: {words.metric_label(metric)}, kernel by kernel"
        found.append(
            Drawing(
                name=f"{workload}-by-kernel",
                title=title,
                caption=(
                    f"Means of valid trials with their {context.confidence} confidence intervals; the older kernels on "
                    "the left. The axes do not begin at zero."
                ),
                section="workload",
                workload=workload,
                rank=0,
                draw=lambda shown=shown, title=title: _ByKernel(context, shown, title).draw(),  # type: ignore[misc]
            )
        )
    return found


def _shown(workload: str, estimates: Sequence[Estimate]) -> tuple[str, list[Estimate]]:
    primary = WORKLOADS[workload].primary if workload in WORKLOADS else ""
    by_metric = rows.by_metric(estimates)
    metric = next((name for name in (*COSTS, primary) if name in by_metric), "")
    return metric, by_metric.get(metric, [])


@dataclass
class _ByKernel:
    context: Context
    estimates: Sequence[Estimate]
    title: str
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        """The figure."""
        with style.house_style():
            others = [column for column in rows.varying(self.estimates) if column != COLUMN]
            panels = data.panels(self.estimates, [], others)
            columns = min(_COLUMNS, len(panels))
            lines = math.ceil(len(panels) / columns)
            divisor, unit = words.common_scale((e.value for e in self.estimates), self.estimates[0].unit)
            figure = style.figure(0.9 + lines * (_PANEL_IN + 0.5))
            grid = figure.add_gridspec(lines, columns)
            for index, panel in enumerate(panels):
                axes = figure.add_subplot(grid[divmod(index, columns)])
                self._panel(axes, panel, index, divisor)
                axes.set_title(style.wrapped(panel.title, style.WIDTH_IN / columns - 0.75))
                if index % columns == 0:
                    axes.set_ylabel(unit)
            style.title(figure, self.title)
            paths = self.context.paths(estimate.path for estimate in self.estimates)
            style.legend(figure, [style.path_handle(path) for path in paths])
            return Picture(figure=figure, tips=self.tips)

    def _panel(self, axes: Axes, panel: Panel, index: int, divisor: float) -> None:
        kernels = [name for name in self.context.experiment.kernels if any(_on(e, name) for e in panel.estimates)]
        for order, path in enumerate(self.context.paths(estimate.path for estimate in panel.estimates)):
            own = [e for name in kernels for e in panel.estimates if _on(e, name) and e.path == path.name]
            places = [kernels.index(str(e.levels[COLUMN])) for e in own]
            bars = axes.errorbar(
                places,
                [e.value / divisor for e in own],
                yerr=[[_reach(e, e.ci_low) / divisor for e in own], [_reach(e, e.ci_high) / divisor for e in own]],
                color=path.colour,
                linestyle=path.line,
                marker=path.marker,
                markerfacecolor=path.face,
                markersize=4.5,
                elinewidth=1,
            )
            gid = f"k{index}-{order}"
            bars.lines[0].set_gid(gid)
            self.tips[gid] = [data.tip(path, e, COLUMN, None) for e in own]
        axes.set_xticks(range(len(kernels)), [name.removeprefix("debian-") for name in kernels])
        axes.set_xlim(-0.3, len(kernels) - 0.7)
        axes.margins(y=0.12)


def _on(estimate: Estimate, kernel: str) -> bool:
    return estimate.levels.get(COLUMN) == kernel


def _reach(estimate: Estimate, end: float | None) -> float:
    """How far an interval's end is from the value; 0 where there is none."""
    known = words.finite(end)
    return 0.0 if known is None else abs(known - estimate.value)
