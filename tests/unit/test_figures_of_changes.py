"""Figures of changes: what is cut off, the A/A comparison, few pairs, flat values, and their colours in pages."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import synthetic
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from synthetic_analysis import plain_analysis

from sixbench.model.finding import Analysis, Finding
from sixbench.report import palette
from sixbench.report.figures import drawings, for_page, mark_look, svg
from sixbench.report.figures.style import NARROW_IN, WIDTH_IN
from sixbench.store import Run

pytestmark = pytest.mark.computes


@pytest.fixture(scope="module")
def run() -> Run:
    return synthetic.small().in_memory()


@pytest.fixture(scope="module")
def analysis(run: Run) -> Analysis:
    return plain_analysis(run)


def drawn(run: Run, analysis: Analysis, name: str, width_in: float = WIDTH_IN) -> Figure:
    [drawing] = [drawing for drawing in drawings(run, analysis) if drawing.name == name]
    return drawing.draw(width_in).figure


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def markers(figure: Figure, marker: str) -> int:
    return sum(line.get_marker() == marker for axes in figure.axes for line in axes.lines)


@pytest.mark.parametrize("width_in", [WIDTH_IN, NARROW_IN])
@pytest.mark.parametrize(("name", "heads"), [("tcp-stream-goodput", "^v"), ("tcp-stream-changes", "><")])
def test_an_interval_that_is_cut_off_ends_in_an_arrowhead_with_its_number(
    run: Run, analysis: Analysis, name: str, heads: str, width_in: float
) -> None:
    [first, *_] = [f for f in analysis.findings if f.metric == "goodput" and f.path == "ipv6"]
    wide = replace(first, ci_low=0.0, ci_high=202.77)
    cut = replace(analysis, findings=[wide if finding is first else finding for finding in analysis.findings])
    before, after = drawn(run, analysis, name, width_in), drawn(run, cut, name, width_in)
    text = ", ".join(set(texts(after)) - set(texts(before)))
    assert "+20177" in text
    assert "−100" in text
    for head in heads:
        assert markers(after, head) == markers(before, head) + 1


def test_the_aa_comparison_is_a_bar_at_each_level_and_nothing_between(run: Run, analysis: Analysis) -> None:
    change, *_ = drawn(run, analysis, "tcp-stream-goodput").axes
    assert not [
        collection
        for collection in change.collections
        if type(collection) is PolyCollection or "FillBetween" in type(collection).__name__
    ]
    bars = [
        collection
        for collection in change.collections
        if isinstance(collection, LineCollection) and collection.get_linewidth()[0] > 5
    ]
    levels = {f.levels["message_bytes"] for f in analysis.findings if f.workload == "tcp-stream"}
    assert sorted(bar.get_segments()[0][0][0] for bar in bars) == sorted(levels)


def test_flat_values_have_the_change_first_and_others_the_values(run: Run, analysis: Analysis) -> None:
    labels = [axes.get_ylabel() for axes in drawn(run, analysis, "tcp-stream-goodput").axes]
    assert labels == ["change vs ipv4 (%)", "Mbit/s"]
    spread = [
        replace(estimate, value=estimate.value * 2, theory=None) if estimate.path == "ipv6" else estimate
        for estimate in analysis.estimates
    ]
    labels = [axes.get_ylabel() for axes in drawn(run, replace(analysis, estimates=spread), "tcp-stream-goodput").axes]
    assert labels == ["Goodput (Mbit/s)", "vs ipv4 (%)"]


def test_few_pairs_are_drawn_one_by_one(run: Run, analysis: Analysis) -> None:
    change, *_ = drawn(run, analysis, "tcp-stream-goodput").axes
    pairs = [len(line.get_ydata()) for line in change.lines if line.get_marker() == "_" and line.get_markersize() < 4]
    compared = [f for f in analysis.findings if f.metric == "goodput" and f.workload == "tcp-stream" and not f.is_aa]
    assert pairs == [finding.n for finding in compared]


def test_many_pairs_are_not(run: Run, analysis: Analysis) -> None:
    many = replace(analysis, findings=[replace(finding, n=30) for finding in analysis.findings])
    change, *_ = drawn(run, many, "tcp-stream-goodput").axes
    assert not [line for line in change.lines if line.get_marker() == "_" and line.get_markersize() < 4]


def test_colours_of_a_figure_in_a_page_are_variables_that_the_page_has(run: Run, analysis: Analysis) -> None:
    text = "".join(svg(drawing) for drawing in drawings(run, analysis)[:6])
    assert not re.search(r":\s*#[0-9a-f]{6}", text)
    used = set(re.findall(r"var\((--f-[a-z0-9-]+)\)", text))
    assert "--f-ink" in used
    sheet = palette.sheet()
    assert all(sheet.count(f"{name}:") == 2 for name in used)


def test_a_figure_in_a_page_has_a_wide_and_a_narrow_form(run: Run, analysis: Analysis) -> None:
    drawing = next(drawing for drawing in drawings(run, analysis) if drawing.name == "tcp-stream-changes")
    widths = [float(width) for width in re.findall(r'viewBox="0 0 ([\d.]+) ', for_page(drawing))]
    assert widths == [pytest.approx(72 * WIDTH_IN, abs=1), pytest.approx(72 * NARROW_IN, abs=1)]


# --- marks --------------------------------------------------------------------------------------------------------


def worse(finding: Finding) -> Finding:
    """The finding as a change that is shown to be worse."""
    return replace(
        finding, verdict="lower", ratio=0.98, ci_low=0.975, ci_high=0.985, difference=-1.0, noise_low=None,
        noise_high=None,
    )  # fmt: skip


def within_aa(finding: Finding) -> Finding:
    """The same change, where the baseline differs from itself by as much."""
    return replace(worse(finding), noise_low=0.97, noise_high=1.01)


def all_worse(analysis: Analysis) -> Analysis:
    """Findings of goodput alone, of which more is better."""
    shown = [finding for finding in analysis.findings if finding.metric == "goodput" and not finding.is_aa]
    return replace(analysis, findings=[worse(finding) for finding in shown])


def drawn_colours(figure: Figure) -> set[str]:
    lines = [line for axes in figure.axes for line in axes.lines]
    return {str(line.get_color()).lower() for line in [*lines, *figure.legends[0].get_lines()]}


def test_a_change_within_aa_is_nowhere_drawn_or_called_as_one_that_is_worse(run: Run, analysis: Analysis) -> None:
    decided = all_worse(analysis)
    undecided = replace(decided, findings=[within_aa(finding) for finding in decided.findings])
    assert {finding.mark for finding in undecided.findings} == {"within A/A"}
    seen = 0
    for before, after in zip(drawings(run, decided), drawings(run, undecided), strict=True):
        was, now = before.draw(WIDTH_IN), after.draw(WIDTH_IN)
        text = " ".join(tip for tips in was.tips.values() for tip in tips)
        if ": lower" in text:
            seen += 1
            tips = " ".join(tip for tips in now.tips.values() for tip in tips)
            assert ": within A/A" in tips, after.name
            assert "lower" not in tips + svg(after), after.name
        if now.figure.legends:
            assert mark_look.COLOURS["worse"] not in drawn_colours(now.figure), after.name
    assert seen >= 2


def test_the_colour_of_a_change_says_whether_it_is_worse_and_the_legend_too(run: Run, analysis: Analysis) -> None:
    decided = all_worse(analysis)
    for findings, colour, label in (
        (decided.findings, "worse", "lower (worse)"),
        ([replace(f, verdict="higher", ratio=1.02, ci_low=1.01, ci_high=1.03) for f in decided.findings], "better",
         "higher (better)"),
        ([within_aa(f) for f in decided.findings], "open", "within A/A"),
        ([replace(f, verdict="inconclusive", ci_high=1.01) for f in decided.findings], "open", "undecided"),
        ([replace(f, verdict="inconclusive", ci_low=0.3, ci_high=9.0) for f in decided.findings], "open",
         "too variable"),
    ):  # fmt: skip
        figure = drawn(run, replace(decided, findings=findings), "tcp-stream-changes")
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert labels[0] == label
        colours = drawn_colours(figure) & set(mark_look.COLOURS.values())
        assert colours == {mark_look.COLOURS[colour]}, label  # type: ignore[index]


def test_the_legend_and_the_caption_fit_what_is_drawn(run: Run, analysis: Analysis) -> None:
    decided = all_worse(analysis)
    [without] = [drawing for drawing in drawings(run, decided) if drawing.name == "tcp-stream-changes"]
    assert "A/A" not in without.caption
    within = replace(decided, findings=[within_aa(finding) for finding in decided.findings])
    [with_noise] = [drawing for drawing in drawings(run, within) if drawing.name == "tcp-stream-changes"]
    assert "a change within A/A is no larger than what the baseline may differ from itself" in with_noise.caption
