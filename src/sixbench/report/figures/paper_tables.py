"""Figures of a paper's tables: a panel for each column that compares, with its numbers and ours by the level of the
row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ...model.finding import ComparedTable
from .. import words
from . import style
from .drawing import Drawing, Picture
from .panels import PanelGrid

_PUBLISHED, _OURS = "#5f6b76", "#0072B2"
_ACROSS = 3
"""Panels beside one another."""
_PANEL_IN = 1.75
_HEADING_PT = 7.5
_APART = 0.1
"""The distance from a level's tick to the paper's numbers on the left and to ours on the right."""

Number = float | None


def drawings(tables: Sequence[ComparedTable]) -> list[Drawing]:
    """One figure for each table with a column to compare."""
    return [
        Drawing(
            name=f"paper-{table.name}",
            title=f"{table.name} and ours: {words.one_line(table.title)}",
            caption=(
                "Diamonds are the paper's numbers, and dots are those of this run. Units and headings are the paper's. "
                "A number that this run does not have is left out."
            ),
            section="published",
            rank=0,
            draw=lambda width_in, table=table: _PaperTable(table, width_in).draw(),  # type: ignore[misc]
        )
        for table in tables
        if any(cell is not None for row in table.ours for cell in row)
    ]


@dataclass
class _PaperTable:
    table: ComparedTable
    width_in: float
    tips: dict[str, list[str]] = field(default_factory=dict)

    def draw(self) -> Picture:
        columns = [index for index, column in enumerate(self.table.columns) if column.is_compared]
        grid = PanelGrid.fitting(len(columns), self.width_in, most_columns=_ACROSS, beside_in=0.24)
        with style.house_style():
            figure = style.figure(0.75 + grid.rows * _PANEL_IN, self.width_in)
            for place, column in zip(grid.places(figure), columns, strict=True):
                self._panel(place.axes[0], column)
                place.title(self._heading(column), _HEADING_PT)
            style.title(figure, f"{self.table.name} and ours")
            style.legend(figure, [_handle("D", _PUBLISHED, "published"), _handle("o", _OURS, "ours")])
            return Picture(figure=figure, tips=self.tips)

    def _panel(self, axes: Axes, column: int) -> None:
        level = self._level()
        levels = sorted({row[level] or 0.0 for row in self.table.rows})
        joined = len(levels) == len(self.table.rows)
        places = [levels.index(row[level] or 0.0) for row in self.table.rows]
        known: list[float] = []
        for side, rows, marker, colour in (
            (-_APART, self.table.rows, "D", _PUBLISHED),
            (_APART, self.table.ours, "o", _OURS),
        ):
            points = [
                (place + side, value, theirs)
                for place, row, theirs in zip(places, rows, self.table.rows, strict=True)
                if (value := words.finite(row[column])) is not None
            ]
            known += [value for _, value, _ in points]
            drawn = axes.plot(
                [x for x, _, _ in points],
                [value for _, value, _ in points],
                marker=marker,
                markersize=4,
                markerfacecolor="white" if marker == "D" else colour,
                color=colour,
                linestyle="-" if joined else "none",
                linewidth=0.9,
            )[0]
            gid = f"c{column}-{marker.lower()}"
            drawn.set_gid(gid)
            self.tips[gid] = [self._tip(value, row, column, level, marker) for _, value, row in points]
        axes.set_xticks(range(len(levels)), [f"{value:g}" for value in levels])
        axes.set_xlim(-0.5, len(levels) - 0.5)
        axes.set_xlabel(words.one_line(self.table.columns[level].heading), fontsize=7)
        _value_axis(axes, known)

    def _level(self) -> int:
        """The first column of levels that vary, or the first of all if none does."""
        columns = [index for index, column in enumerate(self.table.columns) if column.role == "level"]
        varying = [index for index in columns if len({row[index] for row in self.table.rows}) > 1]
        return (varying or columns or [0])[0]

    def _heading(self, column: int) -> str:
        heading, unit = self.table.columns[column].heading, self.table.columns[column].unit
        return words.one_line(f"{heading}, {unit}" if unit and unit not in heading else heading)

    def _tip(self, value: float, row: list[Number], column: int, level: int, marker: str) -> str:
        whose = "published" if marker == "D" else "ours"
        of = f"{self.table.columns[level].heading} {row[level] or 0:g}"
        return words.one_line(f"{of}: {whose} {value:.6g} {self.table.columns[column].unit}")


def _value_axis(axes: Axes, known: Sequence[float]) -> None:
    if style.spans_decades(known):
        low, high = min(known), max(known)
        pad = (high / low) ** 0.06
        axes.set_yscale("log")
        axes.set_ylim(low / pad, high * pad)
        axes.yaxis.set_major_locator(FixedLocator(style.log_ticks(low / pad, high * pad, 1.2)))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        low, high = min([0.0, *known]), max([0.0, *known])
        axes.set_ylim(low, high + 0.1 * (high - low) or 1.0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _handle(marker: str, colour: str, label: str) -> Line2D:
    face = "white" if marker == "D" else colour
    return Line2D([], [], color=colour, marker=marker, markerfacecolor=face, linestyle="none", label=label)
