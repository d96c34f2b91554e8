"""The figure of fragments, link by link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text
from synthetic import standard

from sixbench.model.evidence import evidence_from_json
from sixbench.model.experiment import Experiment
from sixbench.model.trial import TrialRecord
from sixbench.report.figures import fragments, save, style
from sixbench.report.figures.data import Context
from sixbench.report.figures.drawing import Drawing

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]

TEXT = """
topology: {chain: 3, mtu: [1500, 1300]}
paths: {ipv4: native4, ipv6: native6}
workloads: [{udp-stream: {datagram: 1470B, df: [clear, kernel], count: 10}}]
"""


def link(name: str, sizes_bytes: list[int], counted: int | None = None) -> dict[str, Any]:
    expected = 10 * len(sizes_bytes)
    octets = 10 * sum(size + 14 for size in sizes_bytes)
    counted = expected if counted is None else counted
    return {
        "link": name,
        "sizes_bytes": sizes_bytes,
        "expected_packets": [expected, expected],
        "expected_bytes": [octets, octets],
        "counted_packets": counted,
        "counted_bytes": octets,
        "agrees": counted == expected,
    }


def trial(combination: str, path: str, links: list[dict[str, Any]]) -> TrialRecord:
    return TrialRecord(
        key=f"b001-{combination}-{path}",
        sequence=1,
        block=1,
        combination=combination,
        path=path,
        mechanism="native4",
        engine="kernel",
        workload="udp-stream",
        params={},
        levels={},
        status="ok",
        started_realtime_ns=0,
        elapsed_ns=1,
        evidence=evidence_from_json({"fragments": {"datagrams": 10, "links": links}}),
    )


def drawn(read: Read, **trials: list[dict[str, Any]]) -> list[Drawing]:
    """Drawings of trials, alike for both families. `trials` has the links of each combination."""
    records = [trial(name, path, links) for name, links in trials.items() for path in ("ipv4", "ipv6")]
    return fragments.drawings(Context.of(read(TEXT)), replace(standard().in_memory(), trials=records))


def panels(drawing: Drawing) -> list[Axes]:
    picture = drawing.draw(style.WIDTH_IN)
    assert len(save.render(picture, "svg")) > 1000
    return picture.figure.axes


WHOLE = [link("h1-r1", [1498]), link("r1-h2", [1498])]
CUT = [link("h1-r1", [1300, 218]), link("r1-h2", [1300, 218])]


def test_a_run_without_fragments_has_no_such_figure(read: Read) -> None:
    assert drawn(read, c0001=WHOLE, c0002=WHOLE) == []
    assert drawn(read) == []


def test_combinations_of_which_theory_says_the_same_share_panels(read: Read) -> None:
    [drawing] = drawn(read, c0001=WHOLE, c0002=WHOLE, c0003=CUT, c0004=CUT)
    packets, octets = panels(drawing)
    assert packets.get_title(loc="left") == "link MTU 1300 B, datagram 1470 B"
    assert [tick.get_text() for tick in packets.get_xticklabels()] == ["h1-r1", "r1-h2"]
    markers = {(round(line.get_xdata()[0]), line.get_ydata()[0]) for line in packets.lines if line.get_marker() == "o"}
    assert markers == {(0, 2.0), (1, 2.0)}
    assert {line.get_ydata()[0] for line in octets.lines if line.get_marker() == "o"} == {1300 + 218 + 28}
    assert "agree in all of 4 trials" in drawing.caption


def test_where_theory_says_otherwise_is_marked(read: Read) -> None:
    [drawing] = drawn(read, c0001=[link("h1-r1", [1498]), link("r1-h2", [1498], counted=20)], c0003=CUT)
    assert "differ in 2 of 4 trials" in drawing.caption
    first = panels(drawing)[0]
    rings = [line for line in first.lines if line.get_markersize() == 9]
    assert {(round(line.get_xdata()[0]), line.get_ydata()[0]) for line in rings} == {(1, 2.0)}


def test_many_groups_take_several_figures(read: Read) -> None:
    more = {f"c000{n}": [link("h1-r1", [1300, 200 + n]), link("r1-h2", [1300, 200 + n])] for n in range(1, 5)}
    actual_drawn = drawn(read, **more)
    assert [(drawing.name, drawing.rank) for drawing in actual_drawn] == [("fragments-1", 0), ("fragments-2", 1)]


def test_a_report_that_is_drawn_again_counts_no_trial_twice(read: Read) -> None:
    records = [trial(name, path, CUT) for name in ("c0001", "c0002") for path in ("ipv4", "ipv6")]
    run = replace(standard().in_memory(), trials=records)
    captions = [fragments.drawings(Context.of(read(TEXT)), run)[0].caption for _ in range(2)]
    assert captions[0] == captions[1]
    assert "agree in all of 4 trials" in captions[0]


def test_titles_of_panels_are_within_a_narrow_figure(read: Read) -> None:
    [drawing] = drawn(read, c0001=[link("h1-r1", [1498]), link("r1-h2", [1498], counted=20)], c0003=CUT)
    with style.house_style():
        figure = drawing.draw(style.NARROW_IN).figure
        figure.draw_without_rendering()
    titles = figure.findobj(lambda artist: isinstance(artist, Text) and "datagram" in artist.get_text())
    assert len([title for title in titles if title.get_text().startswith("link MTU")]) == 2  # type: ignore[attr-defined]
    assert all(title.get_window_extent().x1 <= figure.bbox.width for title in titles)
