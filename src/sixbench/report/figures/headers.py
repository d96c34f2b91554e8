"""The headers of a captured packet of each path: headers to scale, the payload cut short."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Polygon, Rectangle

from ...store import Run
from .. import evidence
from ..evidence import PathEvidence, Stack
from . import style
from .data import Context
from .drawing import Drawing, Picture

_ROW_IN = 0.46
_BAR_IN = 0.34
_PAYLOAD_IN = 1.35
_UNKNOWN_BYTES = 20
"""Width of a header whose size the capture does not say."""

_COLOURS = {
    "Ethernet": "#e6e9ec",
    "IPv4": "#c9def0",
    "IPv6": "#f7d8c3",
    "TCP": "#cdeadd",
    "UDP": "#cdeadd",
    "ICMP": "#cdeadd",
    "ICMPv6": "#cdeadd",
}
_OTHER = "#e8d9ea"


def drawings(context: Context, run: Run) -> list[Drawing]:
    """One figure, if packets were captured."""
    found = [(item, item.largest) for item in evidence.by_path(run) if item.largest is not None]
    if not found:
        return []
    links = sorted({link for item, _ in found for link in item.links})
    return [
        Drawing(
            name="headers",
            title="Headers of the largest packet captured on each path",
            caption=(
                f"As seen on {', '.join(links) or 'the middle link'}, outermost header at the left, with sizes in "
                "bytes. Headers are to scale, payloads are not."
            ),
            section="evidence",
            rank=0,
            draw=lambda: _draw(context, found),
        )
    ]


def _draw(context: Context, found: list[tuple[PathEvidence, Stack]]) -> Picture:
    with style.house_style():
        height_in = 0.55 + _ROW_IN * len(found)
        figure = style.figure(height_in)
        figure.set_layout_engine("none")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, style.WIDTH_IN)
        axes.set_ylim(0, height_in)
        axes.set_axis_off()
        left_in = 0.25 + 0.066 * max(len(item.path) for item, _ in found)
        most = max(sum(_bytes(layer.bytes) for layer in stack.layers) for _, stack in found)
        scale = (style.WIDTH_IN - left_in - _PAYLOAD_IN - 0.2) / max(1, most)
        axes.text(
            0.09,
            height_in - 0.2,
            "Headers of the largest packet captured on each path",
            fontsize=9.5,
            fontweight="bold",
            va="center",
        )
        for index, (item, stack) in enumerate(found):
            y_in = height_in - 0.5 - _BAR_IN / 2 - index * _ROW_IN
            axes.text(left_in - 0.1, y_in, item.path, ha="right", va="center_baseline", fontsize=7.5)
            colour = context.styles[item.path].colour if item.path in context.styles else style.MUTED
            axes.add_patch(
                Rectangle((left_in - 0.05, y_in - _BAR_IN / 2), 0.03, _BAR_IN, facecolor=colour, linewidth=0)
            )
            _stack(axes, stack, left_in, y_in, scale)
        return Picture(figure=figure)


def _stack(axes: Axes, stack: Stack, x_in: float, y_in: float, scale: float) -> None:
    low = y_in - _BAR_IN / 2
    for layer in stack.layers:
        width = _bytes(layer.bytes) * scale
        colour = _COLOURS.get(layer.name, _OTHER)
        axes.add_patch(Rectangle((x_in, low), width, _BAR_IN, facecolor=colour, edgecolor=style.MUTED, linewidth=0.7))
        size = min(7.0, 72 * (width - 0.04) / (0.62 * len(layer.name)))
        if size >= 4:
            text = f"{layer.name}\n{layer.bytes if layer.bytes is not None else '?'}"
            axes.text(x_in + width / 2, y_in, text, ha="center", va="center", fontsize=size, linespacing=1.2)
        x_in += width
    if stack.payload_bytes:
        tear = 0.06
        end = x_in + _PAYLOAD_IN - 0.1
        corners = [
            (x_in, low),
            (end, low),
            (end - tear, y_in - _BAR_IN / 6),
            (end + tear, y_in + _BAR_IN / 6),
            (end, low + _BAR_IN),
            (x_in, low + _BAR_IN),
        ]
        axes.add_patch(Polygon(corners, closed=True, facecolor="white", edgecolor=style.MUTED, linewidth=0.7))
        axes.text(
            x_in + _PAYLOAD_IN / 2 - 0.05,
            y_in,
            f"payload\n{stack.payload_bytes}",
            ha="center",
            va="center",
            fontsize=7,
            linespacing=1.2,
        )


def _bytes(size: int | None) -> int:
    return _UNKNOWN_BYTES if size is None else size
