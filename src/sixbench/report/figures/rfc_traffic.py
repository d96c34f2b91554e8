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

TITLE = "Throughput by traffic"
_ROW_IN, _AROUND_IN = 0.2, 0.62
_SPREAD = 0.5
"""How far the paths of a row are apart, as a share of the row."""


def drawing(context: Context, found: Sequence[AtSize]) -> Drawing | None:
    """The figure of throughputs without those of the tester. None where all frames are plain."""
    sizes = sorted({one.frame_bytes for one in found if one.traffic != PLAIN})
    known = [one for one in found if one.frame_bytes in sizes and one.goals[0].bounds.lower_pps is not None]
    if not any(one.traffic != PLAIN for one in known):
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
    found: Sequence[AtSize]
    width_in: float
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        sizes = sorted({one.frame_bytes for one in self.found})
        of_size = {size: [one for one in self.found if one.frame_bytes == size] for size in sizes}
        columns = min(2, style.panel_columns(len(sizes), self.width_in))
        pages = [sizes[at : at + columns] for at in range(0, len(sizes), columns)]
        most = [max(len(_traffics(of_size[size])) for size in row) for row in pages]
        heights_in = [_AROUND_IN + _ROW_IN * count for count in most]
        with style.house_style():
            figure = style.figure(0.6 + sum(heights_in), self.width_in)
            grid = figure.add_gridspec(len(pages), columns, height_ratios=heights_in)
            for index, size in enumerate(sizes):
                axes = figure.add_subplot(grid[divmod(index, columns)])
                if len(sizes) > 1:
                    axes.set_title(f"frames of {size} B")
                self._panel(axes, of_size[size], index)
            style.title(figure, TITLE if len(sizes) > 1 else f"{TITLE}, frames of {sizes[0]} B")
            paths = self.context.paths(dict.fromkeys(one.path for one in self.found))
            style.legend(figure, [style.path_handle(path, is_joined=False) for path in paths])
            return Picture(figure=figure, tips=self.tips)

    def _panel(self, axes: Axes, found: Sequence[AtSize], index: int) -> None:
        names = _traffics(found)
        paths = self.context.paths(dict.fromkeys(one.path for one in found))
        divisor, unit = words.common_scale([_rate(one) for one in found], "frames/s")
        for order, path in enumerate(paths):
            gid, own = f"t{index}-{order}", [one for one in found if one.path == path.name]
            moved = _SPREAD * ((order + 0.5) / len(paths) - 0.5)
            rates = [_rate(one) / divisor for one in own]
            over = [max(0.0, (one.goals[0].bounds.upper_pps or _rate(one)) - _rate(one)) / divisor for one in own]
            axes.errorbar(
                rates,
                [names.index(one.traffic) + moved for one in own],
                xerr=[[0.0] * len(own), over],
                color=path.colour,
                marker=path.marker,
                markerfacecolor="white",
                linestyle="none",
                linewidth=1.0,
            )[0].set_gid(gid)
            own_limit = [(rate, one) for rate, one in zip(rates, own, strict=True) if not is_at_tester(one)]
            axes.plot(
                [rate for rate, _ in own_limit],
                [names.index(one.traffic) + moved for _, one in own_limit],
                color=path.colour,
                marker=path.marker,
                markerfacecolor=path.face,
                linestyle="none",
            )
            self.tips[gid] = [f"{path.name}, {one.frame_bytes} B, {one.traffic}: {_words(one)}" for one in own]
            for one in own:
                if one.traffic == PLAIN:
                    axes.axvline(_rate(one) / divisor, color=path.colour, linestyle=":", linewidth=0.8, zorder=1.2)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_yticks(range(len(names)), names)
        ends = [one.goals[0].bounds.upper_pps or _rate(one) for one in found]
        axes.set_xlim(0, 1.08 * max(ends) / divisor)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlabel(unit)


def _traffics(found: Sequence[AtSize]) -> list[str]:
    return [name for name in (PLAIN, *TRAFFICS) if any(one.traffic == name for one in found)]


def _rate(one: AtSize) -> float:
    return one.goals[0].bounds.lower_pps or 0.0


def _words(one: AtSize) -> str:
    return f"{words.whole(round(_rate(one)))} frames/s"
