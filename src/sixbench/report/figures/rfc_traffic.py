"""The throughput of frames that differ from plain ones beside that of plain ones, with a panel for each frame size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ...rfc.results import AtSize, is_at_tester
from ...rfc.traffic import PLAIN, TRAFFICS
from .. import words
from . import style
from .data import Context
from .drawing import Drawing, Picture
from .panels import PanelGrid

TITLE = "Throughput by traffic"
_ROW_IN, _AROUND_IN = 0.2, 0.62
_SPREAD = 0.5
"""Distance of the paths of a row, as a share of the row."""


def drawing(context: Context, at_sizes: Sequence[AtSize]) -> Drawing | None:
    """The figure of throughputs without those of the tester. None where all frames are plain."""
    sizes = sorted({at_size.frame_bytes for at_size in at_sizes if at_size.traffic != PLAIN})
    known = [
        at_size
        for at_size in at_sizes
        if at_size.frame_bytes in sizes and at_size.goals[0].bounds.lower_pps is not None
    ]
    if not any(at_size.traffic != PLAIN for at_size in known):
        return None
    return Drawing(
        name="rfc-throughput-by-traffic",
        title=TITLE,
        caption="Points are the highest rates without loss, in frames a second in each direction, and bars go up to "
        "the lowest rate that lost frames. Hollow points are as fast as the tester. Dotted lines are throughputs with "
        "plain frames.",
        section="rfc",
        rank=0,
        draw=lambda width_in: _Figure(context, known, width_in).draw(),
    )


@dataclass
class _Figure:
    context: Context
    results: Sequence[AtSize]
    width_in: float
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        sizes = sorted({at_size.frame_bytes for at_size in self.results})
        of_size = {size: [at_size for at_size in self.results if at_size.frame_bytes == size] for size in sizes}
        grid = PanelGrid.fitting(len(sizes), self.width_in, most_columns=2)
        pages = [sizes[at : at + grid.columns] for at in range(0, len(sizes), grid.columns)]
        most = [max(len(_traffics(of_size[size])) for size in row) for row in pages]
        heights_in = [_AROUND_IN + _ROW_IN * count for count in most]
        with style.house_style():
            figure = style.figure(0.6 + sum(heights_in), self.width_in)
            for place, size in zip(grid.places(figure, heights_in), sizes, strict=True):
                place.title(f"frames of {size} B" if len(sizes) > 1 else "")
                self._panel(place.axes[0], of_size[size], place.index)
            style.title(figure, TITLE if len(sizes) > 1 else f"{TITLE}, frames of {sizes[0]} B")
            paths = self.context.paths(dict.fromkeys(at_size.path for at_size in self.results))
            style.legend(figure, [style.path_handle(path, is_joined=False) for path in paths])
            return Picture(figure=figure, tips=self.tips)

    def _panel(self, axes: Axes, at_sizes: Sequence[AtSize], index: int) -> None:
        names = _traffics(at_sizes)
        paths = self.context.paths(dict.fromkeys(at_size.path for at_size in at_sizes))
        divisor, unit = words.common_scale([_rate(at_size) for at_size in at_sizes], "frames/s")
        for order, path in enumerate(paths):
            gid, sizes = f"t{index}-{order}", [at_size for at_size in at_sizes if at_size.path == path.name]
            moved = _SPREAD * ((order + 0.5) / len(paths) - 0.5)
            rates = [_rate(at_size) / divisor for at_size in sizes]
            over = [
                max(0.0, (at_size.goals[0].bounds.upper_pps or _rate(at_size)) - _rate(at_size)) / divisor
                for at_size in sizes
            ]
            axes.errorbar(
                rates,
                [names.index(at_size.traffic) + moved for at_size in sizes],
                xerr=[[0.0] * len(sizes), over],
                color=path.colour,
                marker=path.marker,
                markerfacecolor="white",
                linestyle="none",
                linewidth=1.0,
            )[0].set_gid(gid)
            own_limit = [
                (rate, at_size) for rate, at_size in zip(rates, sizes, strict=True) if not is_at_tester(at_size)
            ]
            axes.plot(
                [rate for rate, _ in own_limit],
                [names.index(at_size.traffic) + moved for _, at_size in own_limit],
                color=path.colour,
                marker=path.marker,
                markerfacecolor=path.face,
                linestyle="none",
            )
            self.tips[gid] = [
                f"{path.name}, {at_size.frame_bytes} B, {at_size.traffic}: {_words(at_size)}" for at_size in sizes
            ]
            for size in sizes:
                if size.traffic == PLAIN:
                    axes.axvline(_rate(size) / divisor, color=path.colour, linestyle=":", linewidth=0.8, zorder=1.2)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_yticks(range(len(names)), names)
        ends = [at_size.goals[0].bounds.upper_pps or _rate(at_size) for at_size in at_sizes]
        axes.set_xlim(0, 1.08 * max(ends) / divisor)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlabel(unit)


def _traffics(at_sizes: Sequence[AtSize]) -> list[str]:
    return [name for name in (PLAIN, *TRAFFICS) if any(at_size.traffic == name for at_size in at_sizes)]


def _rate(at_size: AtSize) -> float:
    return at_size.goals[0].bounds.lower_pps or 0.0


def _words(at_size: AtSize) -> str:
    return f"{words.whole(round(_rate(at_size)))} frames/s"
