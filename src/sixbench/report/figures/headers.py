"""The headers of a captured packet of each path, on every link of its way where they differ. Headers are to scale,
and the payload is cut short."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import partial
from itertools import count

from matplotlib.axes import Axes
from matplotlib.patches import Polygon, Rectangle

from ...store import Run
from .. import words
from ..evidence import OnLinks, PacketSum, PathSums, Stack, by_path
from . import style
from .data import Context
from .drawing import Drawing, Picture, paged

MOST_ROWS = 34
"""Stacks of a page."""

_ROW_IN, _BAR_IN, _GAP_IN = 0.36, 0.31, 0.09
"""Heights of a row, of the bar in it, and of the gap between paths."""
_PAYLOAD_IN, _TOTAL_IN = 0.8, 0.5
_NARROW_PAYLOAD_IN, _LINE_IN = 0.5, 0.12
_UNKNOWN_BYTES = 20
"""The width of a header whose size is not in the capture."""
_LEAST_SIZE = 5.0
ETHERNET_BYTES = 14
"""IEEE 802.3, without preamble and check sequence."""

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


@dataclass(frozen=True, kw_only=True)
class _Group:
    """The rows of one path."""

    evidence: PathSums
    rows: list[OnLinks]


def drawings(context: Context, run: Run) -> list[Drawing]:
    """One figure if packets were captured, or several if there are many paths."""
    groups = [_Group(evidence=item, rows=rows) for item in by_path(run) if (rows := item.of(PacketSum).packets)]
    pages: list[list[_Group]] = []
    for group in groups:
        if not pages or sum(len(item.rows) for item in (*pages[-1], group)) > MOST_ROWS:
            pages.append([])
        pages[-1].append(group)
    return paged(
        pages,
        name="headers",
        title="Packets of each path, link by link",
        captions=[_caption(context, page) for page in pages],
        section="evidence",
        ranks=count(),
        draw=partial(_draw, context),
    )


def _caption(context: Context, groups: list[_Group]) -> str:
    text = (
        "Each row is the largest packet that was captured in one trial of a path, on the links that are named. The "
        "outermost header is at the left. Sizes are in bytes, and that of the whole frame is at the right. Headers are "
        "to scale, payloads are not."
    )
    mtus = [link.mtu_bytes for topology in context.experiment.topologies for link in topology.links]
    largest = max(row.stack.total_bytes for group in groups for row in group.rows)
    if mtus and largest > max(mtus) + ETHERNET_BYTES:
        text += " Some packets are longer than the MTU of any link, because segmentation offload cuts them later."
    return text


def _draw(context: Context, groups: list[_Group], title: str, width_in: float) -> Picture:
    if style.is_narrow(width_in):
        return _draw_narrow(context, groups, title, width_in)
    with style.house_style():
        rows = sum(len(group.rows) for group in groups)
        height_in = 0.5 + _ROW_IN * rows + _GAP_IN * len(groups)
        figure, axes = style.sheet(height_in, width_in)
        axes.text(
            0.09,
            height_in - 0.2,
            title,
            fontsize=9.5,
            fontweight="bold",
            va="center",
            gid=style.TITLE,
        )
        names_in = 0.2 + max(
            max(0.066 * len(group.evidence.path), 0.053 * len(_carried_by(group.evidence))) for group in groups
        )
        links_in = 0.12 + 0.053 * max(len(_place(row.links)) for group in groups for row in group.rows)
        most = max(_header_bytes(row.stack) for group in groups for row in group.rows)
        right_in = width_in - _PAYLOAD_IN - _TOTAL_IN
        scale = (right_in - names_in - links_in) / max(1, most)
        y_in = height_in - 0.42
        for index, group in enumerate(groups):
            if index:
                axes.plot([0.09, width_in - 0.09], [y_in, y_in], color=style.FAINT, linewidth=0.6)
            y_in -= _GAP_IN / 2
            _name(axes, context, group, names_in, y_in)
            for row in group.rows:
                y_in -= _ROW_IN
                middle_in = y_in + _ROW_IN / 2
                axes.text(
                    names_in + 0.05, middle_in, _place(row.links), ha="left", va="center_baseline", fontsize=6,
                    color=style.MUTED,
                )  # fmt: skip
                _stack(axes, row.stack, right_in, middle_in, scale, width_in)
            y_in -= _GAP_IN / 2
        return Picture(figure=figure)


def _draw_narrow(context: Context, groups: list[_Group], heading: str, width_in: float) -> Picture:
    """Draws the links, the bar, and its headers in words, one below the other."""
    with style.house_style():
        title = style.title_lines(heading, width_in)
        names = [[_in_words(row.stack, width_in) for row in group.rows] for group in groups]
        lines = sum(len(words_of) for of_group in names for words_of in of_group)
        rows = sum(len(of_group) for of_group in names)
        height_in = 0.3 + style.TITLE_LINE_IN * len(title) + 0.34 * len(groups) + 0.46 * rows + _LINE_IN * lines
        figure, axes = style.sheet(height_in, width_in)
        axes.text(
            0.09,
            height_in - 0.12,
            "\n".join(title),
            fontsize=9.5,
            fontweight="bold",
            va="top",
            linespacing=1.2,
            gid=style.TITLE,
        )
        most = max(_header_bytes(row.stack) for group in groups for row in group.rows)
        scale = (width_in - 0.4 - _NARROW_PAYLOAD_IN) / max(1, most)
        y_in = height_in - 0.16 - style.TITLE_LINE_IN * len(title)
        for group, of_group in zip(groups, names, strict=True):
            item = group.evidence
            colour = context.styles[item.path].colour if item.path in context.styles else style.MUTED
            axes.text(
                0.2, y_in - 0.16, f"{item.path} ({_carried_by(item)})", fontsize=7.5, va="center", fontweight="bold"
            )
            top_in = y_in - 0.04
            y_in -= 0.26
            for row, words_of in zip(group.rows, of_group, strict=True):
                axes.text(
                    0.2, y_in - 0.08, _place(row.links, 34), fontsize=style.LEAST_PT, va="center", color=style.MUTED
                )
                total = words.MISSING if row.stack.payload_bytes is None else f"{row.stack.total_bytes} B"
                axes.text(width_in - 0.09, y_in - 0.08, total, fontsize=style.LEAST_PT, va="center", ha="right")
                _bars(axes, row.stack, 0.2, y_in - 0.36, scale, width_in - 0.09)
                axes.text(
                    0.2, y_in - 0.39, "\n".join(words_of), fontsize=style.LEAST_PT, va="top", linespacing=1.25,
                )  # fmt: skip
                y_in -= 0.46 + _LINE_IN * len(words_of)
            axes.add_patch(Rectangle((0.09, y_in + 0.06), 0.04, top_in - y_in - 0.06, facecolor=colour, linewidth=0))
            y_in -= 0.08
        return Picture(figure=figure)


def _in_words(stack: Stack, width_in: float) -> list[str]:
    parts = [f"{layer.name} {'?' if layer.bytes is None else layer.bytes}" for layer in stack.layers]
    if stack.payload_bytes:
        parts.append(f"payload {stack.payload_bytes}")
    together = ", ".join(part.replace(" ", "\u00a0") for part in parts)
    lines = textwrap.wrap(together, int((width_in - 0.3) / (0.0089 * style.LEAST_PT)))
    return [line.replace("\u00a0", " ") for line in lines]


def _bars(axes: Axes, stack: Stack, left_in: float, low_in: float, scale: float, right_in: float) -> None:
    """Draws the headers from the left, to scale, with names where they have room, and the payload up to the right
    edge."""
    x_in = left_in
    for layer in stack.layers:
        width = _bytes(layer.bytes) * scale
        colour = _COLOURS.get(layer.name, _OTHER)
        axes.add_patch(Rectangle((x_in, low_in), width, 0.2, facecolor=colour, edgecolor=style.MUTED, linewidth=0.7))
        if 0.0092 * style.LEAST_PT * len(layer.name) < width:
            axes.text(
                x_in + width / 2, low_in + 0.1, layer.name, ha="center", va="center_baseline", fontsize=style.LEAST_PT
            )
        x_in += width
    if stack.payload_bytes:
        axes.add_patch(
            Rectangle((x_in, low_in), right_in - x_in, 0.2, facecolor="white", edgecolor=style.MUTED, linewidth=0.7)
        )


def _name(axes: Axes, context: Context, group: _Group, right_in: float, top_in: float) -> None:
    """Writes the path and what carries it, with its colour along its rows."""
    item = group.evidence
    middle_in = top_in - _ROW_IN / 2
    axes.text(right_in - 0.1, middle_in + 0.06, item.path, ha="right", va="center", fontsize=7.5)
    axes.text(
        right_in - 0.1, middle_in - 0.075, _carried_by(item), ha="right", va="center", fontsize=6, color=style.MUTED
    )
    colour = context.styles[item.path].colour if item.path in context.styles else style.MUTED
    height = _ROW_IN * len(group.rows) - (_ROW_IN - _BAR_IN)
    low = top_in - _ROW_IN * len(group.rows) + (_ROW_IN - _BAR_IN) / 2
    axes.add_patch(Rectangle((right_in - 0.05, low), 0.03, height, facecolor=colour, linewidth=0))


def _carried_by(item: PathSums) -> str:
    return ", ".join([item.mechanism, *(engine for engine in item.engines if engine != "native")])


def _place(links: tuple[str, ...], room: int = 19) -> str:
    """The names of the links, in at most so many characters."""
    text = ", ".join(links)
    if len(text) <= room:
        return text
    more = f" + {len(links) - 1}" if len(links) > 1 else ""
    return (links[0] if len(links[0]) + len(more) <= room else f"{links[0][: room - 1 - len(more)]}…") + more


def _stack(axes: Axes, stack: Stack, right_in: float, y_in: float, scale: float, width_in: float) -> None:
    """Draws the headers so that they end at `right_in`. An inner header stands under the outer one."""
    low = y_in - _BAR_IN / 2
    x_in = right_in - _header_bytes(stack) * scale
    for layer in stack.layers:
        width = _bytes(layer.bytes) * scale
        colour = _COLOURS.get(layer.name, _OTHER)
        axes.add_patch(Rectangle((x_in, low), width, _BAR_IN, facecolor=colour, edgecolor=style.MUTED, linewidth=0.7))
        _label(axes, layer.name, layer.bytes, x_in + width / 2, y_in, width)
        x_in += width
    payload_bytes = stack.payload_bytes
    if payload_bytes:
        tear = 0.05
        end = right_in + _PAYLOAD_IN - 0.1
        corners = [
            (right_in, low),
            (end, low),
            (end - tear, y_in - _BAR_IN / 6),
            (end + tear, y_in + _BAR_IN / 6),
            (end, low + _BAR_IN),
            (right_in, low + _BAR_IN),
        ]
        axes.add_patch(Polygon(corners, closed=True, facecolor="white", edgecolor=style.MUTED, linewidth=0.7))
        text = f"payload\n{payload_bytes}"
        axes.text((right_in + end) / 2, y_in, text, ha="center", va="center", fontsize=6.5, linespacing=1.15)
    axes.text(
        width_in - 0.09,
        y_in,
        words.MISSING if payload_bytes is None else f"{stack.total_bytes} B",
        ha="right",
        va="center_baseline",
        fontsize=6.5,
    )


def _label(axes: Axes, name: str, size_bytes: int | None, x_in: float, y_in: float, width_in: float) -> None:
    """Writes name and bytes one under the other, turned if there is no room for that, or not at all."""
    size_text = "?" if size_bytes is None else str(size_bytes)
    size = min(6.5, 72 * (width_in - 0.03) / (0.6 * max(len(name), len(size_text))))
    if size >= _LEAST_SIZE:
        axes.text(x_in, y_in, f"{name}\n{size_text}", ha="center", va="center", fontsize=size, linespacing=1.15)
        return
    text = f"{name} {size_text}"
    size = min(6.0, 72 * (_BAR_IN - 0.03) / (0.63 * len(text)), 72 * width_in / 1.15)
    if size >= 3.5:
        axes.text(x_in, y_in, text, ha="center", va="center", fontsize=size, rotation=90)


def _header_bytes(stack: Stack) -> int:
    return sum(_bytes(layer.bytes) for layer in stack.layers)


def _bytes(size: int | None) -> int:
    return _UNKNOWN_BYTES if size is None else size
