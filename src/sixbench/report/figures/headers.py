"""The headers of a captured packet of each path, on every link of its way where they differ. Headers are to scale,
and the payload is cut short."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
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

_AROUND_IN, _BELOW_TITLE_IN = 0.34, 0.26
"""The height that the title's lines and the paths leave free, and the part of it above the paths."""
_PAYLOAD_IN, _TOTAL_IN = 0.8, 0.5
"""The widths of a payload and of the size of the frame beside it."""
_TEAR_IN = 0.05
_LINE_IN = 0.12
"""The height of a line of headers in words."""
_LEAST_IN = 1.5
"""The least width of the headers beside names and links."""
_LINKS = 19
"""The most characters of links beside headers."""
_TWO_LINES_IN = 0.25
"""The least height of a bar in which two lines of text have room."""
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


@dataclass(frozen=True, kw_only=True)
class _RowHeights:
    """Heights of what a row has, in inches.

    Attributes:
        before, after: the room of a path before and after its rows.
        row: the height of a row besides its words.
        text, bar: the distances from the top of a row to the middle of its text and to the foot of its bar.
        bar_height: the height of the bar.
    """

    before: float
    after: float
    row: float
    text: float
    bar: float
    bar_height: float

    @property
    def around(self) -> float:
        """The height of a path besides its rows."""
        return self.before + self.after


_BESIDE = _RowHeights(before=0.045, after=0.045, row=0.36, text=0.18, bar=0.335, bar_height=0.31)
_STACKED = _RowHeights(before=0.26, after=0.08, row=0.46, text=0.08, bar=0.36, bar_height=0.2)


@dataclass(frozen=True, kw_only=True)
class _HeadersLayout:
    """Places of the parts of rows, in inches from the left. The parts of a row stand side by side, or one below the
    other where that leaves too little room for headers: then links are above the bar, and all sizes are in words below
    it.

    Attributes:
        names_in: the end of the paths' names beside their rows, or their beginning above them.
        links_in: the beginning of the names of links.
        left_in, right_in: the beginning and the end of the most bytes of headers.
        end_in: the end of payloads.
        scale: the width of a byte.
        links_characters: the most characters of a row's links, which are `links_pt` large.
    """

    is_stacked: bool
    heights: _RowHeights
    names_in: float
    links_in: float
    left_in: float
    right_in: float
    end_in: float
    scale: float
    links_characters: int
    links_pt: float

    @classmethod
    def fitting(cls, groups: Sequence[_Group], width_in: float) -> _HeadersLayout:
        """The layout for the rows of these paths."""
        most_bytes = max(1, *(_header_bytes(row.stack) for group in groups for row in group.rows))
        names_in = 0.2 + max(
            max(0.066 * len(group.evidence.path), 0.053 * len(_carried_by(group.evidence))) for group in groups
        )
        links = max(len(_place(row.links, _LINKS)) for group in groups for row in group.rows)
        left_in = names_in + 0.12 + 0.053 * links
        right_in = width_in - _PAYLOAD_IN - _TOTAL_IN
        if right_in - left_in >= _LEAST_IN:
            return cls(
                is_stacked=False,
                heights=_BESIDE,
                names_in=names_in,
                links_in=names_in + 0.05,
                left_in=left_in,
                right_in=right_in,
                end_in=right_in + _PAYLOAD_IN - 0.1,
                scale=(right_in - left_in) / most_bytes,
                links_characters=_LINKS,
                links_pt=6.0,
            )
        left_in, right_in = 0.2, width_in - 0.7
        return cls(
            is_stacked=True,
            heights=_STACKED,
            names_in=left_in,
            links_in=left_in,
            left_in=left_in,
            right_in=right_in,
            end_in=width_in - 0.09 - _TEAR_IN,
            scale=(right_in - left_in) / most_bytes,
            links_characters=int((width_in - left_in - _TOTAL_IN) / style.text_in("x", style.LEAST_PT)),
            links_pt=style.LEAST_PT,
        )


def _draw(context: Context, groups: list[_Group], title: str, width_in: float) -> Picture:
    with style.house_style():
        return _Headers(
            context=context, groups=groups, width_in=width_in, layout=_HeadersLayout.fitting(groups, width_in)
        ).draw(title)


@dataclass(frozen=True, kw_only=True)
class _Headers:
    """The figure of one page."""

    context: Context
    groups: list[_Group]
    width_in: float
    layout: _HeadersLayout

    def draw(self, title: str) -> Picture:
        """Draws it, path by path from the top down."""
        heights_in = [self.layout.heights.around + sum(map(self._row_in, group.rows)) for group in self.groups]
        title_in = style.TITLE_LINE_IN * len(style.title_lines(title, self.width_in))
        height_in = _AROUND_IN + title_in + sum(heights_in)
        figure, axes = style.sheet(height_in, self.width_in)
        style.sheet_title(axes, title)
        y_in = height_in - _BELOW_TITLE_IN - title_in
        for group, group_in in zip(self.groups, heights_in, strict=True):
            self._group(axes, group, y_in)
            y_in -= group_in
            if not self.layout.is_stacked and group is not self.groups[-1]:
                axes.plot([0.09, self.width_in - 0.09], [y_in, y_in], color=style.FAINT, linewidth=0.6)
        return Picture(figure=figure)

    def _words(self, row: OnLinks) -> list[str]:
        """The headers of a row in words, where its bar has no room for sizes."""
        return _in_words(row.stack, self.width_in) if self.layout.is_stacked else []

    def _row_in(self, row: OnLinks) -> float:
        """The height of a row."""
        return self.layout.heights.row + _LINE_IN * len(self._words(row))

    def _group(self, axes: Axes, group: _Group, top_in: float) -> None:
        """Draws the rows of a path, from `top_in` down, with its name, and its colour along them."""
        layout, y_in = self.layout, top_in - self.layout.heights.before
        self._name(axes, group.evidence, top_in)
        for row in group.rows:
            self._row(axes, row, y_in)
            y_in -= self._row_in(row)
        styles = self.context.styles
        colour = styles[group.evidence.path].colour if group.evidence.path in styles else style.MUTED
        if layout.is_stacked:
            left_in, high_in, low_in, width_in = 0.09, top_in - 0.04, y_in + 0.06, 0.04
        else:
            over_in = layout.heights.bar - layout.heights.bar_height
            left_in, high_in, low_in, width_in = layout.names_in - 0.05, top_in - layout.heights.before, y_in, 0.03
            high_in, low_in = high_in - over_in, low_in + over_in
        axes.add_patch(Rectangle((left_in, low_in), width_in, high_in - low_in, facecolor=colour, linewidth=0))

    def _name(self, axes: Axes, evidence: PathSums, top_in: float) -> None:
        """Writes the path and what carries it."""
        layout, carried_by = self.layout, _carried_by(evidence)
        if layout.is_stacked:
            text = f"{evidence.path} ({carried_by})"
            axes.text(layout.names_in, top_in - 0.16, text, fontsize=7.5, va="center", fontweight="bold")
            return
        right_in, middle_in = layout.names_in - 0.1, top_in - layout.heights.before - layout.heights.text
        axes.text(right_in, middle_in + 0.06, evidence.path, ha="right", va="center", fontsize=7.5)
        axes.text(right_in, middle_in - 0.075, carried_by, ha="right", va="center", fontsize=6, color=style.MUTED)

    def _row(self, axes: Axes, row: OnLinks, top_in: float) -> None:
        """Draws the links, the bar of headers, the payload and the whole size, and the headers in words."""
        layout, stack = self.layout, row.stack
        text_at = top_in - layout.heights.text
        axes.text(
            layout.links_in, text_at, _place(row.links, layout.links_characters), va="center_baseline",
            fontsize=layout.links_pt, color=style.MUTED,
        )  # fmt: skip
        total = words.MISSING if stack.payload_bytes is None else f"{stack.total_bytes} B"
        axes.text(
            self.width_in - 0.09, text_at, total, ha="right", va="center_baseline", fontsize=style.LEAST_PT
        )  # fmt: skip
        self._bar(axes, stack, top_in - layout.heights.bar)
        axes.text(
            layout.left_in, top_in - layout.heights.bar - 0.03, "\n".join(self._words(row)), va="top",
            fontsize=style.LEAST_PT, linespacing=1.25,
        )  # fmt: skip

    def _bar(self, axes: Axes, stack: Stack, low_in: float) -> None:
        """Draws the headers, and the payload as torn off. Side by side, the headers of all rows end at one place, so
        that an inner header stands under the outer one."""
        layout, height_in = self.layout, self.layout.heights.bar_height
        x_in = layout.left_in if layout.is_stacked else layout.right_in - _header_bytes(stack) * layout.scale
        for layer in stack.layers:
            width_in = _bytes(layer.bytes) * layout.scale
            colour = _COLOURS.get(layer.name, _OTHER)
            axes.add_patch(
                Rectangle((x_in, low_in), width_in, height_in, facecolor=colour, edgecolor=style.MUTED, linewidth=0.7)
            )
            _label(axes, layer.name, layer.bytes, (x_in + width_in / 2, low_in + height_in / 2), width_in, height_in)
            x_in += width_in
        if stack.payload_bytes:
            _payload(axes, stack.payload_bytes, (x_in, layout.end_in), low_in, height_in)


def _in_words(stack: Stack, width_in: float) -> list[str]:
    parts = [f"{layer.name} {'?' if layer.bytes is None else layer.bytes}" for layer in stack.layers]
    if stack.payload_bytes:
        parts.append(f"payload {stack.payload_bytes}")
    together = ", ".join(part.replace(" ", "\u00a0") for part in parts)
    lines = textwrap.wrap(together, int((width_in - 0.3) / (0.0089 * style.LEAST_PT)))
    return [line.replace("\u00a0", " ") for line in lines]


def _carried_by(item: PathSums) -> str:
    return ", ".join([item.mechanism, *(engine for engine in item.engines if engine != "native")])


def _place(links: tuple[str, ...], room: int) -> str:
    """The names of the links, in at most so many characters."""
    text = ", ".join(links)
    if len(text) <= room:
        return text
    more = f" + {len(links) - 1}" if len(links) > 1 else ""
    return (links[0] if len(links[0]) + len(more) <= room else f"{links[0][: room - 1 - len(more)]}…") + more


def _payload(axes: Axes, size_bytes: int, ends_in: tuple[float, float], low_in: float, height_in: float) -> None:
    """Draws a payload, which is torn off at its end, with its size where that has room."""
    (start, end), middle_in = ends_in, low_in + height_in / 2
    corners = [
        (start, low_in),
        (end, low_in),
        (end - _TEAR_IN, middle_in - height_in / 6),
        (end + _TEAR_IN, middle_in + height_in / 6),
        (end, low_in + height_in),
        (start, low_in + height_in),
    ]
    axes.add_patch(Polygon(corners, closed=True, facecolor="white", edgecolor=style.MUTED, linewidth=0.7))
    if height_in >= _TWO_LINES_IN:
        text = f"payload\n{size_bytes}"
        axes.text((start + end) / 2, middle_in, text, ha="center", va="center", fontsize=6.5, linespacing=1.15)


def _label(
    axes: Axes, name: str, size_bytes: int | None, middle: tuple[float, float], width_in: float, height_in: float
) -> None:
    """Writes name and bytes one under the other, turned if there is no room for that, or not at all. A bar of one line
    has the name alone."""
    if height_in < _TWO_LINES_IN:
        if 0.0092 * style.LEAST_PT * len(name) < width_in:
            axes.text(*middle, name, ha="center", va="center_baseline", fontsize=style.LEAST_PT)
        return
    size_text = "?" if size_bytes is None else str(size_bytes)
    size = min(6.5, 72 * (width_in - 0.03) / (0.6 * max(len(name), len(size_text))))
    if size >= _LEAST_SIZE:
        axes.text(*middle, f"{name}\n{size_text}", ha="center", va="center", fontsize=size, linespacing=1.15)
        return
    text = f"{name} {size_text}"
    size = min(6.0, 72 * (height_in - 0.03) / (0.63 * len(text)), 72 * width_in / 1.15)
    if size >= 3.5:
        axes.text(*middle, text, ha="center", va="center", fontsize=size, rotation=90)


def _header_bytes(stack: Stack) -> int:
    return sum(_bytes(layer.bytes) for layer in stack.layers)


def _bytes(size: int | None) -> int:
    return _UNKNOWN_BYTES if size is None else size
