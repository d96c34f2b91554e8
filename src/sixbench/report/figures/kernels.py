"""The cost of a packet kernel by kernel: a marker for each path, and a panel for each combination of the other
factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes

from ...model.finding import Analysis, Estimate
from ...model.kernels import COLUMN
from ...model.workloads import WORKLOADS
from .. import rows, words
from . import data, style
from .data import CombinationPanel, Context
from .drawing import Drawing, Picture
from .lines import LevelPoint, line, shift_pt
from .panels import PanelGrid

COSTS = ("instructions_per_packet", "cpu_per_packet")
"""Metrics of cost. The figure has the first of these that was measured, or else the workload's primary metric."""

_COLUMNS = 3
_PANEL_IN = 1.9
_DODGE_PT = 6.0


def drawings(context: Context, analysis: Analysis) -> list[Drawing]:
    """One figure for each workload of a run on several kernels."""
    results = []
    for workload, estimates in rows.by_workload(analysis.estimates).items():
        metric, shown = _shown(workload, [estimate for estimate in estimates if COLUMN in estimate.levels])
        if len({estimate.levels[COLUMN] for estimate in shown}) < 2:
            continue
        title = f"{words.workload_title(workload)}: {words.metric_label(metric)}, kernel by kernel"
        results.append(
            Drawing(
                name=f"{workload}-by-kernel",
                title=title,
                caption=(
                    f"Points are the values of each path by itself with their {context.confidence} confidence "
                    "intervals. Older kernels are on the left. The axes do not begin at zero."
                ),
                section="workload",
                workload=workload,
                rank=0,
                draw=lambda width_in, shown=shown, title=title: _ByKernel(context, shown, title, width_in).draw(),  # type: ignore[misc]
            )
        )
    return results


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
    width_in: float
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        with style.house_style():
            others = [column for column in rows.varying(self.estimates) if column != COLUMN]
            panels = data.panels(self.estimates, [], others)
            grid = PanelGrid.fitting(len(panels), self.width_in, most_columns=_COLUMNS)
            divisor, unit = words.common_scale((e.value for e in self.estimates), self.estimates[0].unit)
            figure = style.figure(0.9 + grid.rows * (_PANEL_IN + 0.5), self.width_in)
            for place, panel in zip(grid.places(figure), panels, strict=True):
                [axes] = place.axes
                self._panel(axes, panel, place.index, divisor)
                place.title(panel.title)
                if place.is_first:
                    axes.set_ylabel(unit)
            style.title(figure, self.title)
            paths = self.context.paths(estimate.path for estimate in self.estimates)
            style.legend(figure, [style.path_handle(path, is_joined=False) for path in paths])
            return Picture(figure=figure, tips=self.tips)

    def _panel(self, axes: Axes, panel: CombinationPanel, index: int, divisor: float) -> None:
        kernels = [name for name in self.context.experiment.kernels if any(_on(e, name) for e in panel.estimates)]
        present = self.context.paths(estimate.path for estimate in panel.estimates)
        for order, path in enumerate(present):
            of_path = [e for name in kernels for e in panel.estimates if _on(e, name) and e.path == path.name]
            points = [
                LevelPoint(
                    at=kernels.index(str(e.levels[COLUMN])),
                    value=e.value,
                    low=words.finite(e.ci_low),
                    high=words.finite(e.ci_high),
                )
                for e in of_path
            ]
            gid = f"k{index}-{order}"
            # No line, because kernels are categories, with no values between them.
            moved_pt = shift_pt(order, len(present), _DODGE_PT)
            line(axes, path, points, divisor=divisor, order=0, moved_pt=moved_pt, gid=gid, is_joined=False)
            self.tips[gid] = [data.tip(path, e, COLUMN, None) for e in of_path]
        axes.set_xticks(range(len(kernels)), [name.removeprefix("debian-") for name in kernels])
        axes.set_xlim(-0.5, len(kernels) - 0.5)
        axes.grid(axis="x", visible=False)
        ends = [end for e in panel.estimates for end in (e.value, words.finite(e.ci_low), words.finite(e.ci_high))]
        known = [end / divisor for end in ends if end is not None]
        pad = 0.12 * (max(known) - min(known)) or 1.0
        axes.set_ylim(min(known) - pad, max(known) + pad)


def _on(estimate: Estimate, kernel: str) -> bool:
    return estimate.levels.get(COLUMN) == kernel
