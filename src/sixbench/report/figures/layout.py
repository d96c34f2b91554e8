"""The places of a topology's nodes in its drawing: on a grid, with the way between the end hosts first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...model.topology import Topology

GridSquare = tuple[int, int]
"""Column and row of the grid; rows count downwards."""

LONGEST_ROW = 8
"""Nodes in a row. A longer way turns back below."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Places of the nodes.

    Attributes:
        route: the nodes of the way between the end hosts, in order.
        straight: whether the way is one row, so that something can be drawn along it.
    """

    squares: dict[str, GridSquare]
    route: list[str]
    straight: bool

    @property
    def columns(self) -> int:
        return 1 + max((column for column, _ in self.squares.values()), default=0)

    @property
    def rows(self) -> int:
        return 1 + max((row for _, row in self.squares.values()), default=0)


def layout(topology: Topology, between: tuple[str, str]) -> Layout:
    """A place for every node. The way between the two hosts goes from left to right. Every other node is as near as
    possible to one that it is linked to. Nodes without any link stand at the end."""
    route, connected = _route(topology, between)
    squares: dict[str, GridSquare] = {}
    for index, node in enumerate(route):
        row, column = divmod(index, LONGEST_ROW)
        squares[node] = (column if row % 2 == 0 else LONGEST_ROW - 1 - column, 2 * row)
    waiting = list(squares)
    while waiting:
        node = waiting.pop(0)
        for link in topology.links_of(node):
            neighbour = link.other_end(node).node
            if neighbour not in squares and neighbour in topology.nodes:
                squares[neighbour] = _free(squares, squares[node])
                waiting.append(neighbour)
        if not waiting:
            rest = [name for name in topology.nodes if name not in squares]
            if rest:
                squares[rest[0]] = (0, 1 + max(row for _, row in squares.values()))
                waiting.append(rest[0])
    left, top = min(column for column, _ in squares.values()), min(row for _, row in squares.values())
    moved = {node: (column - left, row - top) for node, (column, row) in squares.items()}
    used_rows = {row: index for index, row in enumerate(sorted({row for _, row in moved.values()}))}
    return Layout(
        squares={node: (column, used_rows[row]) for node, (column, row) in moved.items()},
        route=route,
        straight=connected and 1 < len(route) <= LONGEST_ROW,
    )


def is_blocked(squares: Sequence[GridSquare], a: GridSquare, b: GridSquare) -> bool:
    """True if a straight line between two squares runs through another of the squares, so that it must be bent."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    for x, y in squares:
        if (x, y) in (a, b):
            continue
        ex, ey = x - a[0], y - a[1]
        if dx * ey == dy * ex and 0 < ex * dx + ey * dy < dx * dx + dy * dy:
            return True
    return False


def _route(topology: Topology, between: tuple[str, str]) -> tuple[list[str], bool]:
    """The nodes on the way, and whether there is a way. If there is none, the nodes are the two hosts."""
    links = topology.route(*between) if all(node in topology.nodes for node in between) else None
    if links is None:
        return [node for node in dict.fromkeys(between) if node in topology.nodes] or list(topology.nodes)[:1], False
    route = [between[0]]
    for link in links:
        route.append(link.other_end(route[-1]).node)
    return route, True


def _free(squares: dict[str, GridSquare], near: GridSquare) -> GridSquare:
    taken = set(squares.values())
    return next(square for square in _around(near) if square not in taken)


def _around(square: GridSquare) -> Iterator[GridSquare]:
    """Squares by distance: below, above, and last to the sides, which the way needs for itself."""
    column, row = square
    distance = 0
    while True:
        distance += 1
        for dx in sorted(range(-distance, distance + 1), key=abs):
            dy = distance - abs(dx)
            if dy == 0 and distance < 3:
                continue
            yield column + dx, row + dy
            if dy:
                yield column + dx, row - dy
