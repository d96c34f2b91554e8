"""Labels of rows: beside the axes, or above each row where that leaves the axes too little room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from . import style

_ABOVE_PT = 7.0
_FOOT_IN, _LINE_IN = 0.09, 0.125
"""The distance from the middle of a row up to the label above it, and the height of a line of it."""
_OVER_IN, _BELOW_IN = 0.17, 0.2
"""The room over the first row besides its label, and below the last row, where labels stand above."""
_EDGE_IN = 0.3
"""The part of a figure's width that neither axes nor labels have."""


@dataclass(frozen=True, kw_only=True)
class RowLabels:
    """Layout of the labels of all rows of a figure.

    Attributes:
        is_above: true where each label stands above its row.
        axes_in: the width that is left for the axes, about.
        title_in: the width from the left of the axes to the edge of the figure.
        size_pt: the size of labels beside the axes.
    """

    is_above: bool
    axes_in: float
    title_in: float
    size_pt: float

    @classmethod
    def fitting(
        cls, labels: Sequence[str], width_in: float, *, least_in: float, size_pt: float = 7.5, other_in: float = 0.0
    ) -> RowLabels:
        """The layout for these labels.

        Args:
            width_in: the width of labels, axes and what else is beside them.
            least_in: the least width of the axes beside labels.
            other_in: the width of what else stands beside the axes, if labels do.
        """
        lines = [line for label in labels for line in label.split("\n")]
        label_in = max((style.text_in(line, size_pt) for line in lines), default=0.0)
        room_in = width_in - _EDGE_IN
        if room_in - label_in - other_in < least_in:
            return cls(is_above=True, axes_in=room_in, title_in=room_in, size_pt=size_pt)
        title_in = room_in - label_in
        return cls(is_above=False, axes_in=title_in - other_in, title_in=title_in, size_pt=size_pt)

    def write(self, axes: Axes, labels: Sequence[str], row_in: float) -> None:
        """Makes the rows 0, 1, ... from the top down, and writes their labels.

        Args:
            row_in: the height of a row.
        """
        self.write_at(axes, labels, range(len(labels)), row_in)

    def write_at(self, axes: Axes, labels: Sequence[str], places: Sequence[float], row_in: float) -> None:
        """The same of rows at these places, the last one being the lowest."""
        axes.tick_params(axis="y", length=0)
        lowest = max(places, default=-1)
        if not self.is_above:
            axes.set_yticks(places, labels, fontsize=self.size_pt, linespacing=1.05)
            axes.set_ylim(lowest + 0.6, -0.6)
            return
        lines = max((label.count("\n") + 1 for label in labels), default=1)
        axes.set_yticks([])
        axes.set_ylim(lowest + _BELOW_IN / row_in, -(_OVER_IN + _LINE_IN * lines) / row_in)
        for place, label in zip(places, labels, strict=True):
            axes.text(
                0.01, place - _FOOT_IN / row_in, label, va="bottom", fontsize=_ABOVE_PT, linespacing=1.05,
                bbox=style.BEHIND, transform=axes.get_yaxis_transform(),
            )  # fmt: skip
