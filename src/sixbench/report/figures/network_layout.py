"""The layout of a drawing of a network: places of nodes on the page, and of the paths' ways below them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..path_descriptions import PathDescription
from . import strips, style
from .data import Context
from .layout import GridSquare, Layout
from .strips import Strip

_ROW_IN = 1.15
_RADIUS_IN, _SMALL_RADIUS_IN = 0.17, 0.1
"""The radius of a node with its name in it or below it, and of one with its name beside it."""
_LEAST_IN = 2.6
"""The least width of the way between the hosts from left to right."""


@dataclass(frozen=True, kw_only=True)
class NetworkLayout:
    """Places of the parts of a drawing, in inches. The way between the hosts goes from left to right, or from the top
    down where the names of paths leave it too little room: then these stand above the ways of the paths.

    Attributes:
        places: the squares of the nodes.
        is_down: true where the way between the hosts goes from the top down.
        span: the ends of the paths' ways, from the left.
        origin: the place of the first node, from the left and from the top.
        along, across: the distance of two nodes on the way between the hosts, and of two beside it.
        radius: that of a node.
        height: the height of the drawing without the paths.
    """

    places: Layout
    is_down: bool
    span: tuple[float, float]
    origin: tuple[float, float]
    along: float
    across: float
    radius: float
    height: float

    @classmethod
    def fitting(
        cls, places: Layout, paths: Sequence[PathDescription], labels: Iterable[str], width_in: float
    ) -> NetworkLayout:
        """The layout for a figure of that width, with these labels of links."""
        names_in = [
            max(0.068 * len(path.path.name), 0.055 * len(", ".join([path.path.mechanism, *path.engines])))
            for path in paths
        ]
        left = 0.25 + max(names_in, default=0.0)
        if width_in - left - 0.5 >= _LEAST_IN:
            along = (width_in - left - 0.5) / max(1, places.columns - 1)
            return cls(
                places=places,
                is_down=False,
                span=(left + 0.2, width_in - 0.3),
                origin=(left + 0.2 if places.columns > 1 else width_in / 2, 0.85),
                along=along,
                across=_ROW_IN,
                radius=min(_RADIUS_IN, 0.3 * along),
                height=1.29 + _ROW_IN * (places.rows - 1),
            )
        lines = max((label.count("\n") + 1 for label in labels if label), default=1)
        along = max(0.62, 0.42 + 0.12 * lines)
        return cls(
            places=places,
            is_down=True,
            span=(0.3, width_in - 0.3),
            origin=(0.5, 0.55),
            along=along,
            across=(width_in - 0.8) / max(1, places.rows),
            radius=_SMALL_RADIUS_IN,
            height=0.85 + along * (places.columns - 1),
        )

    @property
    def step(self) -> float:
        """The distance of two nodes side by side."""
        return self.across if self.is_down else self.along

    @property
    def around_label(self) -> float:
        """The length of a level link that its label leaves free at both ends together, for the nodes and, where these
        have their names beside them, a part of the names."""
        return 2 * (_RADIUS_IN if self.is_down else self.radius) + 0.08

    def at(self, square: GridSquare) -> tuple[float, float]:
        """The place of a square, from the left and from the top."""
        (left, top), along, across = self.origin, square[0] * self.along, square[1] * self.across
        return (left + across, top + along) if self.is_down else (left + along, top + across)

    def strips(self, context: Context, paths: Sequence[PathDescription]) -> list[Strip]:
        """A strip for each path. It stands under the nodes of the network if its way is the row of the drawing, and
        else has the nodes of its own way side by side. There is none without a way between the hosts."""
        is_row = self.places.straight and not self.is_down
        row = {node: self.at(self.places.squares[node])[0] for node in self.places.route} if is_row else {}
        results = []
        for path in paths:
            nodes = list(dict.fromkeys(path.route.nodes)) if path.route else list(self.places.route)
            has_own_row = not row or nodes != list(row)
            if has_own_row and path.route is None:
                continue
            step = (self.span[1] - self.span[0]) / max(1, len(nodes) - 1)
            spread = {node: self.span[0] + index * step for index, node in enumerate(nodes)}
            results.append(
                Strip(
                    described=path,
                    look=context.styles[path.path.name],
                    places=spread if has_own_row else row,
                    names=has_own_row,
                    is_titled_above=self.is_down,
                    least_pt=style.LEAST_PT if self.is_down else strips.SMALLEST_PT,
                )
            )
        return results
