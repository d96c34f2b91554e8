"""The waterfall of a page load."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from page_loads import TEXT, page_times, page_trials
from stored import manifest_of
from workload_results import HTTP_CLIENT

from sixbench.agent.answers import check
from sixbench.model.errors import AgentError
from sixbench.model.experiment import Experiment
from sixbench.model.trial import TrialRecord
from sixbench.model.workloads import WORKLOADS
from sixbench.report.figures import style, waterfall
from sixbench.report.figures.data import Context
from sixbench.report.figures.drawing import Drawing
from sixbench.report.page_loads import MOST_OBJECTS, compared_paths
from sixbench.store import Run

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]


def figures(experiment: Experiment, records: list[TrialRecord]) -> list[Drawing]:
    run = Run(directory=Path("runs/r"), manifest=manifest_of(experiment), trials=records)
    return waterfall.drawings(Context.of(experiment, records), run)


def test_both_families_are_over_each_other_in_a_panel_for_each_version(read: Read) -> None:
    experiment = read(TEXT)
    [drawing] = figures(experiment, page_trials(experiment))
    assert (drawing.name, drawing.workload) == ("http-waterfall", "http")
    figure = drawing.draw(style.WIDTH_IN).figure
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["version 1.1", "version 2"]
    names = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert names == ["ipv4", "ipv6", "until the answer began"]
    for axes in figure.axes:
        # Three objects by two families, each until its answer began and from then on.
        bars = axes.patches
        assert len(bars) == 2 * 2 * 3
        # The trial of block 2 has the median.
        assert {round(bar.get_x(), 6) for bar in bars[:3]} == {2, 30}
        assert {round(bar.get_width(), 6) for bar in bars[:3]} == {10}
        assert {round(bar.get_width(), 6) for bar in bars[3:6]} == {5}
        rows = [bar.get_y() + bar.get_height() / 2 for bar in bars]
        # IPv4 above IPv6, in the row of the same object.
        assert [round(row) for row in rows[:3]] == [round(row) for row in rows[6:9]] == [1, 2, 3]
        assert all(above < below for above, below in zip(rows[:3], rows[6:9], strict=True))
        assert axes.yaxis_inverted()


def test_trials_without_times_of_objects_have_no_waterfall(read: Read) -> None:
    experiment = read(TEXT)
    assert figures(experiment, page_trials(experiment, client={})) == []
    assert figures(experiment, page_trials(experiment, status="invalid")) == []
    assert figures(read(TEXT.replace("{http: {version: [1.1, 2], objects: 3, count: 1}}", "{ping: {}}")), []) == []


def test_a_long_page_is_cut_and_the_caption_has_it(read: Read) -> None:
    experiment = read(TEXT.replace("objects: 3", "objects: 2000"))
    long = {name: times * 700 for name, times in page_times(1).items()}
    [drawing] = figures(experiment, page_trials(experiment, client={"last_page": long}))
    assert f"the first {MOST_OBJECTS} objects" in drawing.caption
    [panel, _] = drawing.draw(style.WIDTH_IN).figure.axes
    assert len(panel.patches) == 2 * 2 * MOST_OBJECTS
    [short] = figures(read(TEXT), page_trials(read(TEXT)))
    assert "the first" not in short.caption


def test_without_both_families_the_baseline_is_compared(read: Read) -> None:
    experiment = read(TEXT.replace(", ipv6: native6", ""))
    assert compared_paths(experiment) == ["nat64", "ipv4"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ended_ns": [1]}, "not equally many"),
        ({"first_byte_ns": [10**9] * 3}, "ended before its answer began"),
        ({"begun_ns": [-1, 0, 0]}, "greater than or equal to 0"),
    ],
)
def test_times_that_cannot_be_are_refused(changes: dict[str, list[int]], message: str) -> None:
    [expected] = WORKLOADS["http"].results("client", {})
    check(expected.form, HTTP_CLIENT | {"last_page": page_times(1)}, "run of http")
    with pytest.raises(AgentError, match=message):
        check(expected.form, HTTP_CLIENT | {"last_page": page_times(1) | changes}, "run of http")
