"""The ways of the paths below a network: a line from client to server, in a pipe where packets are inside others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from .. import words
from ..path_descriptions import PathDescription
from ..ways import Stretch, Way
from . import style
from .style import PathStyle

_PLAIN_IN, _TUNNEL_IN, _NAMES_IN = 0.37, 0.56, 0.12
"""Heights of a strip without a tunnel, of one with a tunnel, and of the nodes' names below it."""

_PIPE_IN = 0.15
_MOST_NAMES = 14
_NARROW_TITLE_IN = 0.16
_SMALLEST_PT = 4.2

PIPES = {"ipv4": "#c9def0", "ipv6": "#f7d8c3"}
"""Colours of the outer packets, the same as of the headers in their own figure."""


@dataclass(frozen=True, kw_only=True)
class Strip:
    """The way of one path.

    Attributes:
        places: where its nodes stand, in inches from the left.
        names: whether the nodes' names stand under them, because the network above does not show them.
        is_narrow: whether its title stands above it, and no text is smaller than can be read on a phone.
    """

    described: PathDescription
    look: PathStyle
    places: Mapping[str, float]
    names: bool
    is_narrow: bool = False

    @property
    def height_in(self) -> float:
        """Room that it takes of the page."""
        return self._way_in + self._names_in + (_NARROW_TITLE_IN if self.is_narrow else 0.0)

    @property
    def _way_in(self) -> float:
        way = self.described.way
        carried = way is not None and any(stretch.tunnels for stretch in way.stretches)
        return _TUNNEL_IN if carried else _PLAIN_IN

    @property
    def _names_in(self) -> float:
        return _NAMES_IN if self.names else 0.0

    def draw(self, axes: Axes, top_in: float, left_in: float) -> None:
        """Draws it from `top_in` downwards, with the path's name to the left of `left_in`."""
        y_in = top_in - (_NARROW_TITLE_IN if self.is_narrow else 0.0) - self._way_in / 2
        self._title(axes, left_in, y_in, top_in)
        ends = [min(self.places.values()), max(self.places.values())]
        axes.plot(
            ends, [y_in, y_in], color=self.look.colour, linewidth=1.4, linestyle=self.look.line, zorder=3,
            solid_capstyle="butt",
        )  # fmt: skip
        for end in ends:
            axes.plot(
                [end], [y_in], marker="o", markersize=4, color=self.look.colour, markerfacecolor=self.look.face,
                zorder=4,
            )  # fmt: skip
        way = self.described.way
        if way is not None:
            for stretch in way.stretches:
                self._stretch(axes, stretch, y_in)
            for device in (*way.network.translators, *way.network.relays):
                axes.plot(
                    [self.places[device.node]], [y_in], marker="D", markersize=5.5, color=self.look.colour,
                    markeredgecolor="white", markeredgewidth=0.7, zorder=5,
                )  # fmt: skip
            if self.names:
                self._names(axes, way, y_in)

    def _title(self, axes: Axes, left_in: float, y_in: float, top_in: float) -> None:
        described = self.described
        by = [described.path.mechanism, *(engine for engine in described.engines if engine != "native")]
        if self.is_narrow:
            title = f"{described.path.name} ({', '.join(by)})"
            axes.text(left_in - 0.1, top_in - 0.09, title, ha="left", va="center", fontsize=7.5, fontweight="bold")
            return
        axes.text(left_in, y_in + 0.055, described.path.name, ha="right", va="center", fontsize=7.5)
        axes.text(left_in, y_in - 0.07, ", ".join(by), ha="right", va="center", fontsize=6, color=style.MUTED)

    def _stretch(self, axes: Axes, stretch: Stretch, y_in: float) -> None:
        a, b = self.places[stretch.nodes[0]], self.places[stretch.nodes[-1]]
        middle, width = (a + b) / 2, abs(b - a)
        text = words.stack(stretch.headers)
        if not stretch.tunnels:
            if self.is_narrow and not _fits(text, width):
                return
            size = max(self._least_pt, _fitting(text, width, 6.0))
            axes.text(middle, y_in + 0.04, text, ha="center", va="bottom", fontsize=size, color=style.MUTED, zorder=5)
            return
        for depth, tunnel in enumerate(stretch.tunnels):
            height = _PIPE_IN * (1 + 0.35 * (len(stretch.tunnels) - 1 - depth))
            colour = PIPES[tunnel.headers[0]]
            axes.add_patch(
                Rectangle(
                    (min(a, b), y_in - height / 2), width, height, facecolor=colour, edgecolor=style.MUTED,
                    linewidth=0.6, zorder=2 + 0.01 * depth,
                )
            )  # fmt: skip
        for place in (a, b):
            axes.plot(
                [place], [y_in], marker="s", markersize=6.5, color=self.look.colour, markeredgecolor="white",
                markeredgewidth=0.7, zorder=5,
            )  # fmt: skip
        size = max(self._least_pt, _fitting(text, width, 6.8))
        axes.text(
            middle, y_in + _PIPE_IN / 2 + 0.025, text, ha="center", va="bottom", fontsize=size, zorder=5,
            fontweight="bold",
        )  # fmt: skip
        device = self._device(stretch)
        if self.is_narrow and not _fits(device, 1.6 * width):
            return
        size = max(self._least_pt, _fitting(device, width, 6.0))
        axes.text(
            middle, y_in - _PIPE_IN / 2 - 0.025, device, ha="center", va="top", fontsize=size, color=style.MUTED,
            zorder=5,
        )  # fmt: skip

    @property
    def _least_pt(self) -> float:
        return style.LEAST_PT if self.is_narrow else _SMALLEST_PT

    def _device(self, stretch: Stretch) -> str:
        """The device and its MTU, over all networks: `6in4-1, MTU 1480`."""
        devices = dict.fromkeys(end.name for tunnel in stretch.tunnels for end in tunnel.ends)
        mtus = {
            mtu: None
            for tunnel in self.described.tunnels
            if tunnel.device in devices
            for mtu in sorted(tunnel.mtu_bytes)
        }
        texts = [str(mtu) for mtu in sorted(mtus)]
        known = " / ".join(texts) if len(texts) <= 3 else f"{texts[0]} to {texts[-1]}"
        return f"{', '.join(devices)}{f', MTU {known}' if known else ''}"

    def _names(self, axes: Axes, way: Way, y_in: float) -> None:
        """Writes the names of all nodes, or of those where something happens if there are many."""
        shown: Sequence[str] = list(dict.fromkeys(way.nodes))
        if len(shown) > _MOST_NAMES:
            shown = list(dict.fromkeys(node for s in way.stretches for node in (s.nodes[0], s.nodes[-1])))
        if self.is_narrow:
            shown = _with_room(shown, self.places)
        below_in = 0.19 if any(stretch.tunnels for stretch in way.stretches) else 0.06
        for node in shown:
            axes.plot([self.places[node]], [y_in], marker="|", markersize=4, color=self.look.colour, zorder=3)
            axes.text(
                self.places[node],
                y_in - below_in,
                node,
                ha="center",
                va="top",
                fontsize=max(6, self._least_pt),
                zorder=5,
            )


def guides(axes: Axes, places: Sequence[float], top_in: float, bottom_in: float) -> None:
    """Faint lines from the nodes of the network down through the strips."""
    for place in places:
        axes.plot(
            [place, place], [bottom_in, top_in], color=style.FAINT, linewidth=0.7, linestyle=(0, (2, 2)), zorder=0
        )


def _fits(text: str, width_in: float) -> bool:
    """True if the smallest text of a narrow figure has room."""
    return 0.0085 * style.LEAST_PT * len(text) <= width_in


def _with_room(names: Sequence[str], places: Mapping[str, float]) -> list[str]:
    """The names that do not touch one another: those of both ends, and from the left as many as fit."""
    half = {name: 0.0045 * style.LEAST_PT * len(name) + 0.02 for name in names}
    kept = [names[0], names[-1]]
    for name in names[1:-1]:
        if all(abs(places[name] - places[other]) >= half[name] + half[other] for other in kept):
            kept.append(name)
    return kept


def _fitting(text: str, width_in: float, most: float) -> float:
    """The size at which the text fits, within what can be read."""
    return max(_SMALLEST_PT, min(most, 72 * (width_in - 0.06) / (0.6 * max(1, len(text)))))
