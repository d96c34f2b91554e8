"""Panels of a figure: as many side by side as have the width that they need, and the others below."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style

LEAST_IN = 2.2
"""The least width of a panel with a value axis."""


@dataclass(frozen=True, kw_only=True)
class PanelPlace:
    """The place of a panel.

    Attributes:
        axes: its axes, which share the horizontal axis, from the top down.
        index: its number in the figure, from 0.
        width_in: the width of its axes, about.
        is_first: true for the first panel of a row.
        is_last: true for a panel that has none below it.
    """

    axes: Sequence[Axes]
    index: int
    width_in: float
    is_first: bool
    is_last: bool

    def title(self, text: str, size_pt: float = style.TITLE_PT) -> None:
        """Writes a title over the panel, on as many lines as it needs. An empty one takes no room."""
        if text:
            self.axes[0].set_title(style.wrapped(text, self.width_in, size_pt), fontsize=size_pt)


@dataclass(frozen=True, kw_only=True)
class PanelGrid:
    """The places of all panels of a figure.

    Attributes:
        width_in: the width of the figure.
        beside_in: the part of a panel's width that is not its axes': labels, and the gap to the next panel.
    """

    count: int
    columns: int
    width_in: float
    beside_in: float

    @classmethod
    def fitting(
        cls,
        count: int,
        width_in: float,
        *,
        least_in: float = LEAST_IN,
        most_columns: int | None = None,
        beside_in: float = 0.75,
    ) -> PanelGrid:
        """The grid with as many columns as have room.

        Args:
            least_in: the least width of a panel.
            most_columns: the most panels side by side, however wide the figure is. None: as many as make few panels
                large and rows full.
        """
        most = most_columns or (2 if count in (2, 4) else 3)
        columns = max(1, min(count, most, int(width_in / least_in + 1e-9)))
        return cls(count=count, columns=columns, width_in=width_in, beside_in=beside_in)

    @property
    def rows(self) -> int:
        """The number of panels below one another."""
        return math.ceil(self.count / self.columns)

    @property
    def axes_in(self) -> float:
        """The width of the axes of a panel, about."""
        return self.width_in / self.columns - self.beside_in

    def places(self, figure: Figure, heights_in: Sequence[float] | None = None) -> Iterator[PanelPlace]:
        """The places, row by row. The axes of a panel are made when it is its turn.

        Args:
            heights_in: those of all axes from the top down, of which each panel has the same number. None: each has
                one, and all are equal.
        """
        lines = len(heights_in or ()) or self.rows
        each = lines // self.rows
        grid = figure.add_gridspec(lines, self.columns, height_ratios=heights_in)
        for index in range(self.count):
            row, column = divmod(index, self.columns)
            axes = [figure.add_subplot(grid[each * row, column])]
            axes += [figure.add_subplot(grid[each * row + part, column], sharex=axes[0]) for part in range(1, each)]
            yield PanelPlace(
                axes=axes,
                index=index,
                width_in=self.axes_in,
                is_first=column == 0,
                is_last=index >= self.count - self.columns,
            )
