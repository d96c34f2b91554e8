"""The network: nodes and links, and below them the way that each path takes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

from ...model.framing import ETHERNET_FRAMING
from ...model.topology import Topology
from ...store import Run
from .. import words
from ..path_descriptions import PathDescription, path_descriptions
from . import strips, style
from .data import Context
from .drawing import Drawing, Picture
from .layout import GridSquare, Layout, is_blocked, layout
from .network_layout import NetworkLayout

MOST_LABELS = 10
"""The most links that are all labelled. If there are more, only those that are unlike most have a label."""
MOST_DRAWINGS = 4
"""Networks that differ in their nodes or links; what they share in shape is one drawing."""
MOST_PROFILES = 3
"""The most profiles that a label names. For more it has their number."""

At = Callable[[GridSquare], tuple[float, float]]
"""From a square to a place on the page, in inches."""

_CHARACTER_IN = 0.062
"""Width of a character of a node's name."""
_HOST, _ROUTER = "#e3edf7", "#f6f1e4"


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """Networks with the same nodes and links, which differ in what the links are set to."""

    topologies: list[Topology]

    @property
    def first(self) -> Topology:
        """One of them, for what they share."""
        return self.topologies[0]

    def label(self, index: int) -> str:
        """The settings of the link, over all the networks."""
        links = [topology.links[index] for topology in self.topologies]
        directions = [direction for link in links for direction in link.directions]
        ways = [direction.impairments for direction in directions]
        queues = [direction.queue for direction in directions]
        parts = [
            _profiles(link.profile for link in links),
            _values([direction.rate_bps for direction in directions], "_bps") or "no rate limit",
            " / ".join(sorted({direction.overhead for direction in directions} - {ETHERNET_FRAMING.name})),
            f"MTU {_values([link.mtu_bytes for link in links], '')}",
            _marked("delay", _values([impairments.mean_delay_ns or None for impairments in ways], "_ns")),
            _marked("jitter", _values([impairments.jitter_ns or None for impairments in ways], "_ns")),
            _marked("loss", _values([impairments.loss_ratio or None for impairments in ways], "_ratio")),
            _marked("queue", _values([queue.limit_bytes for queue in queues], "_bytes")),
            _marked("queue", _values([queue.limit_ns for queue in queues], "_ns")),
            _marked("queue", _values([queue.limit_packets for queue in queues], "_packets")),
            " / ".join(sorted({queue.discipline for queue in queues} - {"tail-drop"})),
        ]
        return "\n".join(part for part in parts if part)


def drawings(context: Context, run: Run) -> list[Drawing]:
    """One drawing for each shape of network that the experiment has."""
    shapes: dict[object, list[Topology]] = {}
    for topology in run.manifest.experiment.topologies:
        ends = tuple((link.name, link.ends[0].node, link.ends[1].node) for link in topology.links)
        shapes.setdefault((tuple(topology.nodes), ends), []).append(topology)
    results = []
    paths = path_descriptions(run)
    for number, topologies in enumerate(list(shapes.values())[:MOST_DRAWINGS], start=1):
        shape = _Shape(topologies=topologies)
        if not shape.first.nodes:
            continue
        results.append(
            Drawing(
                name="network" if len(shapes) == 1 else f"network-{number}",
                title="Network and paths" if len(shapes) == 1 else f"Network {number} of {len(shapes)} and paths",
                caption=_caption(shape, paths),
                section="network",
                rank=0 if number == 1 else number,
                draw=lambda width_in, shape=shape: _draw(context, shape, paths, width_in),  # type: ignore[misc]
            )
        )
    return results


def _caption(shape: _Shape, paths: Sequence[PathDescription]) -> str:
    text = (
        "Squares are hosts, circles are routers. Below them is the way of each path from end host to end host, with "
        "its packets."
    )
    if any(described.route is not None and described.route.deepest.tunnels for described in paths):
        text += (
            " A pipe is a tunnel, in the colour of its outer packets (blue: IPv4, orange: IPv6). The nodes at its "
            "small squares encapsulate what goes in and decapsulate what comes out."
        )
    if any(described.route is not None and described.route.network.translators for described in paths):
        text += " A diamond is a node that translates packets to the other family."
    if any(described.route is not None and described.route.network.relays for described in paths):
        text += " A diamond between two families is also a relay, with connections of its own on either side."
    if any(" / " in shape.label(index) for index in range(len(shape.first.links))):
        text += " Values with a slash between them are of different directions or levels."
    common = _common_label(shape)
    if common is not None:
        text += f" Links without a label: {', '.join(common.splitlines())}."
    return text


def _common_label(shape: _Shape) -> str | None:
    """The settings of most links, if there are too many links to label them all."""
    labels = [shape.label(index) for index in range(len(shape.first.links))]
    if len(labels) <= MOST_LABELS:
        return None
    return Counter(labels).most_common(1)[0][0]


def _draw(context: Context, shape: _Shape, paths: Sequence[PathDescription], width_in: float) -> Picture:
    with style.house_style():
        common = _common_label(shape)
        labels = {link.name: shape.label(index) for index, link in enumerate(shape.first.links)}
        shown = {name: "" if label == common else label for name, label in labels.items()}
        places = layout(shape.first, context.experiment.between)
        plan = NetworkLayout.fitting(places, paths, shown.values(), width_in)
        below = plan.strips(context, paths)
        top_in = 0.1 + sum(strip.height_in for strip in below)
        height_in = plan.height + top_in
        figure, axes = style.sheet(height_in, width_in)
        style.sheet_title(axes, "Network and paths" if below else "Network")

        def at(square: GridSquare) -> tuple[float, float]:
            x, down = plan.at(square)
            return x, height_in - down

        _links(axes, places, shape.first, shown, at, plan)
        for name, node in shape.first.nodes.items():
            _node(axes, name, node.kind == "host", at(places.squares[name]), plan)
        if places.rows == 1 and any(not strip.names for strip in below):
            strips.guides(axes, [at(places.squares[node])[0] for node in places.route], top_in + 0.1, 0.08)
        for strip in below:
            strip.draw(axes, top_in, plan.span[0] - 0.2)
            top_in -= strip.height_in
        return Picture(figure=figure)


def _links(axes: Axes, places: Layout, topology: Topology, labels: dict[str, str], at: At, plan: NetworkLayout) -> None:
    """Draws all links, and their labels where they do not cover one another. Bent links come first, since they have
    least choice."""
    lines = []
    squares = list(places.squares.values())
    for link in topology.links:
        a, b = places.squares[link.ends[0].node], places.squares[link.ends[1].node]
        line = _Line(start=at(a), end=at(b), bend=0.3 if is_blocked(squares, a, b) else 0.0)
        shape = f"arc3,rad={line.bend}"
        axes.add_patch(
            FancyArrowPatch(
                line.start, line.end, arrowstyle="-", connectionstyle=shape, color=style.MUTED, linewidth=1.4, zorder=1
            )
        )
        lines.append((line, labels.get(link.name, "")))
    taken: list[_Box] = []
    for line, label in sorted(lines, key=lambda item: (not item[0].bend, not item[0].level)):
        if label:
            taken.append(_label(axes, line, label, taken, plan))


@dataclass(frozen=True, kw_only=True)
class _Line:
    """A link on the page, in inches. `bend` is its bow as a share of its length."""

    start: tuple[float, float]
    end: tuple[float, float]
    bend: float

    @property
    def level(self) -> bool:
        """True if it is straight from left to right, so that its label stands over it."""
        return self.start[1] == self.end[1] and not self.bend

    def point(self, along: float) -> tuple[float, float]:
        """The point so far along it (0 to 1)."""
        (x1, y1), (x2, y2) = self.start, self.end
        sag = 2 * along * (1 - along) * self.bend
        return x1 + along * (x2 - x1) + sag * (y2 - y1), y1 + along * (y2 - y1) - sag * (x2 - x1)


@dataclass(frozen=True, kw_only=True)
class _Box:
    """Place of a label, in inches."""

    left: float
    bottom: float
    right: float
    top: float

    def covers(self, other: _Box) -> bool:
        """True if the two have any place in common."""
        apart = (
            self.right <= other.left or other.right <= self.left or self.top <= other.bottom or other.top <= self.bottom
        )
        return not apart


def _label(axes: Axes, line: _Line, label: str, taken: Sequence[_Box], plan: NetworkLayout) -> _Box:
    """Writes a link's label at the first of several places that is free, and returns where it is."""
    rows = label.splitlines()
    longest = max(len(row) for row in rows)
    room_in = (abs(line.end[0] - line.start[0]) or plan.step) - plan.around_label
    least = 4.0 if line.level else style.LEAST_PT
    size = max(least, min(7.0, 72 * room_in / (0.6 * longest)))
    width, height = 0.6 * longest * size / 72, 1.3 * len(rows) * size / 72
    candidates: list[tuple[_Box, float, float, str]] = []
    for along in (0.5, 0.35, 0.65, 0.25, 0.75):
        x, y = line.point(along)
        if line.level:
            candidates.append(
                (
                    _Box(left=x - width / 2, right=x + width / 2, bottom=y + 0.05, top=y + 0.05 + height),
                    x,
                    y + 0.05,
                    "center",
                )
            )
            continue
        low, high = y - height / 2, y + height / 2
        candidates.append((_Box(left=x + 0.06, right=x + 0.06 + width, bottom=low, top=high), x + 0.06, y, "left"))
        candidates.append((_Box(left=x - 0.06 - width, right=x - 0.06, bottom=low, top=high), x - 0.06, y, "right"))
    leftmost, rightmost = axes.get_xlim()
    inside = [
        candidate for candidate in candidates if candidate[0].left >= leftmost and candidate[0].right <= rightmost
    ] or candidates
    free = [candidate for candidate in inside if not any(candidate[0].covers(box) for box in taken)]
    box, x, y, side = (free or inside)[0]
    axes.text(
        x,
        y,
        label,
        ha=side,
        va="bottom" if line.level else "center",
        fontsize=size,
        color=style.MUTED,
        linespacing=1.25,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3},
    )
    return box


def _node(axes: Axes, name: str, is_host: bool, place: tuple[float, float], plan: NetworkLayout) -> None:
    """Draws a node, with its name in it, below it, or to the right where links go down."""
    (x, y), radius = place, plan.radius
    if is_host:
        side = 1.8 * radius
        axes.add_patch(
            FancyBboxPatch(
                (x - side / 2, y - side / 2), side, side, boxstyle=f"round,pad=0,rounding_size={0.2 * side}",
                facecolor=_HOST, edgecolor=style.INK, linewidth=1.1, zorder=2,
            )
        )  # fmt: skip
    else:
        axes.add_patch(Circle((x, y), radius, facecolor=_ROUTER, edgecolor=style.INK, linewidth=1.1, zorder=2))
    if plan.is_down:
        axes.text(
            x + radius + 0.06, y, _shortened(name, plan.step - 2 * radius), ha="left", va="center_baseline",
            fontsize=7.5, fontweight="bold", zorder=3, bbox={**style.BEHIND, "pad": 0.3},
        )  # fmt: skip
        return
    inside = len(name) * _CHARACTER_IN < 1.9 * radius
    axes.text(
        x, y if inside else y - radius - 0.05, _shortened(name, plan.step), ha="center",
        va="center_baseline" if inside else "top", fontsize=7.5, zorder=3,
    )  # fmt: skip


def _shortened(name: str, room_in: float) -> str:
    """The name of a node, or its beginning where all of it has no room."""
    most = max(4, int(room_in / _CHARACTER_IN))
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _values(values: Sequence[float | None], column: str) -> str:
    """The values that are set: one, a few, or from the least to the greatest. Empty if nothing is set."""
    known = sorted({value for value in values if value is not None and math.isfinite(value)})
    texts = [words.level(column, value) for value in known]
    if len(known) < len(set(values)) and known:
        texts.append("none")
    return " / ".join(texts) if len(texts) <= 3 else f"{texts[0]} to {texts[-1]} ({len(texts)})"


def _profiles(names: Iterable[str | None]) -> str:
    known = list(dict.fromkeys(name for name in names if name is not None))
    return f"{len(known)} profiles" if len(known) > MOST_PROFILES else _marked("profile", " / ".join(known))


def _marked(name: str, text: str) -> str:
    return f"{name} {text}" if text else ""
