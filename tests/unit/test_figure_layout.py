"""Layout of figures by their size: how many panels are side by side, where labels of rows are, and that all fits."""

from __future__ import annotations

from dataclasses import replace

import pytest
import synthetic
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from synthetic_analysis import plain_analysis

from sixbench.model.finding import Analysis
from sixbench.report.figures import drawings
from sixbench.report.figures.panels import PanelGrid
from sixbench.report.figures.row_labels import RowLabels
from sixbench.report.figures.style import NARROW_IN, WIDTH_IN, house_style, legend
from sixbench.store import Run

pytestmark = pytest.mark.computes


@pytest.fixture(scope="module")
def run() -> Run:
    return synthetic.small().in_memory()


@pytest.fixture(scope="module")
def analysis(run: Run) -> Analysis:
    return plain_analysis(run, paper=True)


def drawn(run: Run, analysis: Analysis, name: str, width_in: float) -> Figure:
    [drawing] = [drawing for drawing in drawings(run, analysis) if drawing.name == name]
    return drawing.draw(width_in).figure


@pytest.mark.parametrize(
    ("count", "width_in", "columns"),
    [
        (1, WIDTH_IN, 1),
        (2, WIDTH_IN, 2),
        (4, WIDTH_IN, 2),
        (6, WIDTH_IN, 3),
        (6, 4.6, 2),
        (6, NARROW_IN, 1),
        (6, 2.5, 1),
        (5, 20, 3),
    ],
)
def test_as_many_panels_are_side_by_side_as_have_room(count: int, width_in: float, columns: int) -> None:
    grid = PanelGrid.fitting(count, width_in)
    assert grid.columns == columns
    places = list(grid.places(Figure(figsize=(width_in, 3))))
    assert [place.is_first for place in places] == [index % columns == 0 for index in range(count)]
    lowest = {index for index in range(count) if index + columns >= count}
    assert {place.index for place in places if place.is_last} == lowest


def test_the_axes_of_a_panel_share_what_is_across_and_stand_below_one_another() -> None:
    figure = Figure(figsize=(WIDTH_IN, 6))
    places = list(PanelGrid.fitting(6, WIDTH_IN).places(figure, [2.0, 1.0] * 2))
    for place in places:
        upper, lower = place.axes
        assert lower.get_shared_x_axes().joined(upper, lower)
        assert upper.get_position().y0 > lower.get_position().y1


def test_labels_are_beside_rows_where_that_leaves_the_axes_room() -> None:
    short, long = ["ipv4", "ipv6"], ["router-to-router, link rate 10 Mbit/s, link MTU 1500 B", "ipv6"]
    assert not RowLabels.fitting(short, NARROW_IN, least_in=1.95).is_above
    assert RowLabels.fitting(long, NARROW_IN, least_in=1.95).is_above
    assert not RowLabels.fitting(long, WIDTH_IN, least_in=1.95).is_above
    assert RowLabels.fitting([label * 2 for label in long], WIDTH_IN, least_in=1.95).is_above


def row_labels(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def test_rows_of_changes_have_their_labels_beside_them_at_any_width_with_room(run: Run, analysis: Analysis) -> None:
    """Five inches are enough for short names of paths, and no width of a page is for very long ones."""
    for width_in in (5.0, WIDTH_IN):
        assert row_labels(drawn(run, analysis, "ping-changes", width_in).axes[0]) == ["ipv6"]
    assert row_labels(drawn(run, analysis, "ping-changes", NARROW_IN).axes[0]) == []
    long = replace(analysis, findings=[replace(finding, path=finding.path * 20) for finding in analysis.findings])
    axes = drawn(run, long, "ping-changes", WIDTH_IN).axes[0]
    assert row_labels(axes) == []
    assert any(text.get_text().startswith("ipv6" * 20 + ": ") for text in axes.texts)


def test_values_are_beside_changes_or_below_them(run: Run, analysis: Analysis) -> None:
    for width_in, is_beside in ((NARROW_IN, False), (5.0, True), (WIDTH_IN, True)):
        figure = drawn(run, analysis, "ping-values", width_in)
        figure.draw_without_rendering()
        change, values = (axes.get_position() for axes in figure.axes[:2])
        assert (change.x1 <= values.x0) == is_beside
        assert (values.y1 <= change.y0) != is_beside


def texts_of(figure: Figure) -> list[Text]:
    """All texts but the numbers of ticks, of which matplotlib keeps those beyond the ends of the axes too."""
    ticks = [tick for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for tick in axis.get_major_ticks()]
    numbers = {label for tick in ticks for label in (tick.label1, tick.label2)}
    artists = figure.findobj(lambda artist: isinstance(artist, Text) and artist not in numbers)
    return [text for text in artists if isinstance(text, Text) and text.get_text().strip()]


@pytest.mark.parametrize("width_in", [2.5, 4.6, 12.0])
def test_titles_and_texts_are_within_figures_of_any_width(run: Run, analysis: Analysis, width_in: float) -> None:
    beyond = []
    for drawing in drawings(run, analysis):
        with house_style():
            figure = drawing.draw(width_in).figure
            figure.draw_without_rendering()
        for text in texts_of(figure):
            (left, low), (right, high) = text.get_window_extent().get_points()
            if min(left, low) < -2 or right > figure.bbox.width + 2 or high > figure.bbox.height + 2:
                beyond.append((drawing.name, text.get_text()))
    assert beyond == []


def test_entries_of_a_legend_are_closer_where_that_saves_a_line() -> None:
    def columns(names: int, width_in: float) -> int:
        figure = Figure(figsize=(width_in, 2))
        legend(figure, [Line2D([], [], label="a pair of trials") for _ in range(names)])
        return int(figure.legends[0]._ncols)

    assert columns(4, WIDTH_IN) == 4
    assert columns(2, NARROW_IN) == 2, "one below the other, had they the distances that they have where there is room"
