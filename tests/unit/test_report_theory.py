"""Reports where theory and measurement differ."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synthetic import small
from synthetic_analysis import plain_analysis

from sixbench.report import rows
from sixbench.report.figures import data, dots, style, sweep

pytestmark = pytest.mark.computes


@pytest.mark.parametrize(
    ("interval", "shown"),
    [((0.97, 1.0), "−1.40 %"), ((0.9, 0.95), "≠ −1.40 %"), ((None, None), "−1.40 %")],
)
def test_theory_outside_the_interval_is_marked(interval: tuple[float | None, float | None], shown: str) -> None:
    finding = plain_analysis(small().in_memory()).findings[0]
    low, high = interval
    finding = replace(finding, ratio=0.985, ci_low=low, ci_high=high, theory=98.6, theory_baseline=100.0)
    assert rows.row(finding).theory == shown


@pytest.mark.parametrize(("theory", "rings"), [(98.6, 0), (90.0, 1)])
def test_figures_mark_the_same(theory: float, rings: int) -> None:
    run = small().in_memory()
    analysis = plain_analysis(run)
    others = [replace(finding, theory=None) for finding in analysis.findings]
    at = next(index for index, finding in enumerate(others) if not finding.is_aa)
    first = replace(others[at], ratio=0.985, ci_low=0.97, ci_high=1.0, theory=theory, theory_baseline=100.0)
    analysis = replace(analysis, findings=[*others[:at], first, *others[at + 1 :]])
    items = [item for item in data.measured(analysis) if first in [f for panel in item.panels for f in panel.findings]]
    context = data.Context.of(run.manifest.experiment)
    drawn = sweep.drawings(context, items, first.metric) if items[0].main else dots.drawings(context, items)
    figures = [drawing.draw(style.WIDTH_IN).figure for drawing in drawn]
    lines = [line for figure in figures for axes in figure.axes for line in axes.lines if line.get_markersize() == 9]
    assert len(lines) == rings
