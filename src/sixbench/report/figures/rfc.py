"""The results of tests by an RFC: throughputs beside what the line carries, and the values of the other tests, by frame
size or by rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from ...rfc.procedures import TESTS
from ...rfc.results import AtSize, RfcTestResults, results_of, values_of
from ...rfc.traffic import PLAIN
from ...store import Run
from .. import words
from . import rfc_traffic, style
from .data import Context
from .drawing import Drawing, Picture
from .lines import LevelPoint, line, shift_pt
from .panels import PanelGrid, PanelPlace

FRAME_SIZE, RATE = "frame_bytes", "rate_pps"
_PANEL_IN = 1.75


@dataclass(frozen=True, kw_only=True)
class RfcCurve:
    """The values of a path.

    Attributes:
        tips: what is said of each point.
    """

    path: str
    points: Sequence[LevelPoint]
    tips: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class CurvePanel:
    """Curves over one axis.

    Attributes:
        lines: what the line carries, by path.
        testers: the tester's own throughput, by path.
    """

    title: str
    unit: str
    across: str
    curves: Sequence[RfcCurve]
    lines: Sequence[RfcCurve] = ()
    testers: Sequence[RfcCurve] = ()


def drawings(context: Context, run: Run) -> list[Drawing]:
    """A figure of the throughputs, and one of each other test with values. None for a run that is no such test."""
    drawn = []
    results = [at_size for at_size in results_of(run) if not at_size.is_tester]
    throughputs = _throughputs([result for result in results if result.traffic == PLAIN])
    if throughputs.curves:
        drawn.append(
            _drawing(
                context,
                "throughput",
                "Throughput",
                "Points are the highest rates without loss, in frames a second in each direction, with the lowest rate "
                "that lost frames above them. Dashed lines are what the slowest line of the path carries: rate / "
                "(8 (X + O + 20)), where X is the frame size and O the overhead of the mechanism there. Dotted lines "
                "are the tester's own throughput, without a device.",
                [throughputs],
            )
        )
    by_traffic = rfc_traffic.drawing(context, results)
    if by_traffic is not None:
        drawn.append(by_traffic)
    values = [item for item in values_of(run) if item.traffic == PLAIN]
    for name in dict.fromkeys(item.test for item in values):
        panels = _panels([item for item in values if item.test == name])
        if panels:
            drawn.append(_drawing(context, name, TESTS[name].title, _CAPTION, panels))
    return drawn


_CAPTION = (
    "Points are the values of the table, of plain frames. Bars go from the 1st to the 99th percentile of the "
    "repetitions, where a value is of several. Forward is from client to server."
)


def _drawing(context: Context, name: str, title: str, caption: str, panels: Sequence[CurvePanel]) -> Drawing:
    return Drawing(
        name=f"rfc-{name}",
        title=title,
        caption=caption,
        section="rfc",
        rank=0,
        draw=lambda width_in: _Figure(context, title, panels, width_in).draw(),
    )


def _throughputs(at_sizes: Sequence[AtSize]) -> CurvePanel:
    def curves(value: Callable[[AtSize], float | None], high: Callable[[AtSize], float | None]) -> list[RfcCurve]:
        results = []
        for path in dict.fromkeys(at_size.path for at_size in at_sizes):
            known = [
                (at_size, at) for at_size in at_sizes if at_size.path == path and (at := value(at_size)) is not None
            ]
            points = [
                LevelPoint(at=at_size.frame_bytes, value=at, low=None, high=high(at_size)) for at_size, at in known
            ]
            tips = [f"{path}, {at_size.frame_bytes} B: {words.whole(round(at))} frames/s" for at_size, at in known]
            if points:
                results.append(RfcCurve(path=path, points=points, tips=tips))
        return results

    return CurvePanel(
        title="",
        unit="frames/s",
        across=FRAME_SIZE,
        curves=curves(
            lambda at_size: at_size.goals[0].bounds.lower_pps, lambda at_size: at_size.goals[0].bounds.upper_pps
        ),
        lines=curves(lambda at_size: at_size.line_pps, lambda _: None),
        testers=curves(lambda at_size: at_size.tester_pps, lambda _: None),
    )


def _panels(results: Sequence[RfcTestResults]) -> list[CurvePanel]:
    """A panel for each value over the frame size; of the loss at several rates, one for each frame size over the
    rate."""
    if results[0].test == "frame-loss-rate":
        return [
            _panel([result for result in results if result.frame_bytes == size], f"frames of {size} B", RATE)
            for size in dict.fromkeys(result.frame_bytes for result in results)
        ]
    panels = []
    for name in dict.fromkeys(value.name for result in results for value in result.values):
        of_name = [replaced for result in results if (replaced := _only(result, name)).values]
        panel = _panel(of_name, name, FRAME_SIZE)
        if panel.curves:
            panels.append(panel)
    return panels


def _only(result: RfcTestResults, name: str) -> RfcTestResults:
    return replace(result, values=[value for value in result.values if value.name == name])


def _panel(results: Sequence[RfcTestResults], title: str, across: str) -> CurvePanel:
    curves = []
    for path in dict.fromkeys(item.path for item in results):
        points, tips = [], []
        for result in results:
            for value in result.values if result.path == path else ():
                at = value.rate_pps if across == RATE else result.frame_bytes
                if value.value is None or at is None:
                    continue
                points.append(LevelPoint(at=at, value=value.value, low=value.low, high=value.high))
                tips.append(f"{path}, {result.frame_bytes} B, {value.name}: {words.quantity(value.value, value.unit)}")
        if points:
            order = sorted(range(len(points)), key=lambda index: points[index].at)
            curves.append(
                RfcCurve(path=path, points=[points[index] for index in order], tips=[tips[index] for index in order])
            )
    units = [value.unit for item in results for value in item.values]
    return CurvePanel(title=title, unit=units[0] if units else "", across=across, curves=curves)


@dataclass
class _Figure:
    context: Context
    title: str
    panels: Sequence[CurvePanel]
    width_in: float
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        with style.house_style():
            grid = PanelGrid.fitting(len(self.panels), self.width_in)
            height_in = 2.6 if len(self.panels) == 1 else _PANEL_IN
            figure = style.figure(0.9 + grid.rows * (height_in + 0.5), self.width_in)
            for place, panel in zip(grid.places(figure), self.panels, strict=True):
                place.title(panel.title)
                self._panel(place, panel)
            style.title(figure, self.title)
            style.legend(figure, self._handles())
            return Picture(figure=figure, tips=self.tips)

    def _panel(self, place: PanelPlace, panel: CurvePanel) -> None:
        [axes] = place.axes
        drawn = [*panel.curves, *panel.lines, *panel.testers]
        values = [point.value for curve in drawn for point in curve.points]
        divisor, unit = words.common_scale(values, panel.unit)
        is_log = style.spans_decades(values) or (panel.unit == "frames/s" and min(values) > 0 and len(values) > 2)
        present = self.context.paths(curve.path for curve in panel.curves)
        by_path = {curve.path: curve for curve in panel.curves}
        for order, path in enumerate(present):
            gid = f"r{place.index}-{order}"
            moved_pt = 0.0 if panel.across == RATE else shift_pt(order, len(present))
            line(axes, path, by_path[path.name].points, divisor=divisor, order=order, moved_pt=moved_pt, gid=gid)
            self.tips[gid] = list(by_path[path.name].tips)
        for curves, dashes, width in ((panel.lines, (4, 2), 1.0), (panel.testers, (1, 1.5), 1.2)):
            for curve in curves:
                [path] = self.context.paths([curve.path])
                axes.plot(
                    [point.at for point in curve.points],
                    [point.value / divisor for point in curve.points],
                    color=path.colour,
                    linestyle=(0, dashes),
                    linewidth=width,
                    zorder=1.5,
                )
        self._y_axis(axes, unit, is_log=is_log, divisor=divisor, values=values, panel=panel)
        places = sorted({point.at for curve in drawn for point in curve.points})
        if panel.across == FRAME_SIZE:
            style.level_axis(axes, FRAME_SIZE, places, place.width_in)
            axes.set_xlabel("frame size")
        else:
            axes.set_xlim(0, 1.06 * places[-1])
            axes.locator_params(axis="x", nbins=4)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: words.whole(round(value))))
            axes.set_xlabel("frames/s in each direction")

    def _y_axis(
        self, axes: Axes, unit: str, *, is_log: bool, divisor: float, values: Sequence[float], panel: CurvePanel
    ) -> None:
        axes.set_ylabel(f"{unit}{', log scale' if is_log else ''}")
        ends = [end for curve in panel.curves for p in curve.points for end in (p.low, p.high) if end is not None]
        low, high = min([*values, *ends]) / divisor, max([*values, *ends]) / divisor
        if is_log:
            low = min(value for value in values if value > 0) / divisor
            pad = max(1.08, (high / low) ** 0.06)
            axes.set_yscale("log")
            axes.set_ylim(low / pad, high * pad)
            few = high / low < 30
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
            axes.yaxis.set_major_formatter(
                FuncFormatter(lambda value, _: words.whole(round(value)) if value >= 1 else f"{value:g}")
            )
            axes.yaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_minor_formatter(NullFormatter())
        elif low >= 0:
            axes.set_ylim(0, 1.1 * high if high > 0 else 1.0)
        else:
            pad = 0.1 * (max(high, 0) - low)
            axes.set_ylim(low - pad, max(high, 0) + pad)

    def _handles(self) -> list[Line2D | Patch]:
        paths = self.context.paths(curve.path for panel in self.panels for curve in panel.curves)
        handles: list[Line2D | Patch] = [style.path_handle(path) for path in paths]
        for curves, dashes, label in (("lines", (4, 2), "the line"), ("testers", (1, 1.5), "the tester")):
            if any(getattr(panel, curves) for panel in self.panels):
                handles.append(Line2D([], [], color=style.MUTED, linestyle=(0, dashes), linewidth=1.1, label=label))
        return handles
