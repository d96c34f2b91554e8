"""The ways of the paths below a network: a line from client to server, in a pipe where packets are inside others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from .. import words
from ..path_descriptions import PathDescription
from ..routes import AlikeLinks, PathRoute
from . import style
from .style import PathStyle

_PLAIN_IN, _TUNNEL_IN, _NAMES_IN = 0.37, 0.56, 0.12
"""Heights of a strip without a tunnel, of one with a tunnel, and of the nodes' names below it."""

_PIPE_IN = 0.15
_MOST_NAMES = 14
_TITLE_IN = 0.16
SMALLEST_PT = 4.2
"""Size of the smallest text of a strip beside its title, which has to show all headers."""

_CHARACTER_IN = 0.6 / 72
"""Width of a character of 1 point. The font is DejaVu Sans."""

PIPES = {"ipv4": "#c9def0", "ipv6": "#f7d8c3"}
"""Colours of the outer packets, the same as of the headers in their own figure."""


@dataclass(frozen=True, kw_only=True)
class Strip:
    """The way of one path.

    Attributes:
        places: where its nodes stand, in inches from the left.
        names: whether the nodes' names stand under them, because the network above does not show them.
        is_titled_above: whether its title stands above it, and not at its left.
        least_pt: size of the smallest text. Text that has no room at this size is left out.
    """

    described: PathDescription
    look: PathStyle
    places: Mapping[str, float]
    names: bool
    is_titled_above: bool
    least_pt: float

    @property
    def height_in(self) -> float:
        """Room that it takes of the page."""
        return self._title_in + self._way_in + self._names_in

    @property
    def _title_in(self) -> float:
        return _TITLE_IN if self.is_titled_above else 0.0

    @property
    def _way_in(self) -> float:
        route = self.described.route
        carried = route is not None and any(stretch.tunnels for stretch in route.stretches)
        return _TUNNEL_IN if carried else _PLAIN_IN

    @property
    def _names_in(self) -> float:
        return _NAMES_IN if self.names else 0.0

    def draw(self, axes: Axes, top_in: float, left_in: float) -> None:
        """Draws it from `top_in` downwards, with the path's name to the left of `left_in`."""
        y_in = top_in - self._title_in - self._way_in / 2
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
        route = self.described.route
        if route is not None:
            for stretch in route.stretches:
                self._stretch(axes, stretch, y_in)
            for device in (*route.network.translators, *route.network.relays):
                axes.plot(
                    [self.places[device.node]], [y_in], marker="D", markersize=5.5, color=self.look.colour,
                    markeredgecolor="white", markeredgewidth=0.7, zorder=5,
                )  # fmt: skip
            if self.names:
                self._names(axes, route, y_in)

    def _title(self, axes: Axes, left_in: float, y_in: float, top_in: float) -> None:
        described = self.described
        by = [described.path.mechanism, *(engine for engine in described.engines if engine != "native")]
        if self.is_titled_above:
            title = f"{described.path.name} ({', '.join(by)})"
            axes.text(left_in + 0.1, top_in - 0.09, title, ha="left", va="center", fontsize=7.5, fontweight="bold")
            return
        axes.text(left_in, y_in + 0.055, described.path.name, ha="right", va="center", fontsize=7.5)
        axes.text(left_in, y_in - 0.07, ", ".join(by), ha="right", va="center", fontsize=6, color=style.MUTED)

    def _stretch(self, axes: Axes, stretch: AlikeLinks, y_in: float) -> None:
        a, b = self.places[stretch.nodes[0]], self.places[stretch.nodes[-1]]
        middle, width = (a + b) / 2, abs(b - a)
        text = words.stack(stretch.headers)
        if not stretch.tunnels:
            size = self._size_pt(text, width, 6.0)
            if size is None:
                return
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
        size = self._size_pt(text, width, 6.8) or self.least_pt
        axes.text(
            middle, y_in + _PIPE_IN / 2 + 0.025, text, ha="center", va="bottom", fontsize=size, zorder=5,
            fontweight="bold",
        )  # fmt: skip
        device = self._device(stretch)
        size = self._size_pt(device, width, 6.0, reach=1.6)
        if size is None:
            return
        axes.text(
            middle, y_in - _PIPE_IN / 2 - 0.025, device, ha="center", va="top", fontsize=size, color=style.MUTED,
            zorder=5,
        )  # fmt: skip

    def _size_pt(self, text: str, width_in: float, most_pt: float, reach: float = 1.0) -> float | None:
        """The size at which the text is that wide, between the smallest one and `most_pt`. None if it is more than
        `reach` times as wide at the smallest one."""
        of_1_pt = _CHARACTER_IN * max(1, len(text))
        if self.least_pt * of_1_pt > reach * width_in:
            return None
        return max(self.least_pt, min(most_pt, (width_in - 0.06) / of_1_pt))

    def _device(self, stretch: AlikeLinks) -> str:
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

    def _names(self, axes: Axes, route: PathRoute, y_in: float) -> None:
        """Writes the names of all nodes, or of those where something happens if there are many."""
        shown: Sequence[str] = list(dict.fromkeys(route.nodes))
        if len(shown) > _MOST_NAMES:
            shown = list(dict.fromkeys(node for s in route.stretches for node in (s.nodes[0], s.nodes[-1])))
        size_pt = max(6.0, self.least_pt)
        shown = _with_room(shown, self.places, size_pt)
        below_in = 0.19 if any(stretch.tunnels for stretch in route.stretches) else 0.06
        for node in shown:
            axes.plot([self.places[node]], [y_in], marker="|", markersize=4, color=self.look.colour, zorder=3)
            axes.text(
                self.places[node],
                y_in - below_in,
                node,
                ha="center",
                va="top",
                fontsize=size_pt,
                zorder=5,
            )


def guides(axes: Axes, places: Sequence[float], top_in: float, bottom_in: float) -> None:
    """Faint lines from the nodes of the network down through the strips."""
    for place in places:
        axes.plot(
            [place, place], [bottom_in, top_in], color=style.FAINT, linewidth=0.7, linestyle=(0, (2, 2)), zorder=0
        )


def _with_room(names: Sequence[str], places: Mapping[str, float], size_pt: float) -> list[str]:
    """The names that do not touch one another: those of both ends, and from the left as many as fit."""
    half = {name: 0.0045 * size_pt * len(name) + 0.02 for name in names}
    kept = [names[0], names[-1]]
    for name in names[1:-1]:
        if all(abs(places[name] - places[other]) >= half[name] + half[other] for other in kept):
            kept.append(name)
    return kept
