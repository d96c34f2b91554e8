"""Reports where theory and measurement differ."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synthetic import small
from synthetic_analysis import plain_analysis

from sixbench.model.finding import Finding
from sixbench.model.metric import METRICS
from sixbench.report import rows
from sixbench.report.answers import answer_rows
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


def time_of_page(**values: float | None) -> Finding:
    """A page of 396 and 400 ms by theory, which took longer by 1.5 %."""
    compared = next(finding for finding in plain_analysis(small().in_memory()).findings if not finding.is_aa)
    return replace(
        compared,
        **{  # type: ignore[arg-type]
            "workload": "http",
            "metric": "page_p50",
            "unit": "ns",
            "value": 451e6,
            "baseline_value": 444.6e6,
            "ratio": 1.0144,
            "ci_low": 1.0140,
            "ci_high": 1.0148,
            "theory": 400e6,
            "theory_baseline": 396e6,
            **values,
        },
    )


def test_the_change_between_lower_bounds_is_named_so_and_contradicts_no_other_change() -> None:
    finding = time_of_page()
    assert not rows.contradicts_theory(finding)
    assert rows.row(finding).theory == "bounds +1.01 %"
    assert rows.theory_words([finding]) == (
        "bounds: the change between theory's lower bounds. A measured one may be another."
    )
    assert rows.row(time_of_page(theory_baseline=None)).theory == "≥ 400.0 ms"
    # No bounds, no words on them.
    assert rows.theory_words([time_of_page(theory=None)]) == ""


@pytest.mark.parametrize("value", ["value", "baseline_value"])
def test_a_value_below_its_lower_bound_is_marked(value: str) -> None:
    finding = time_of_page(**{value: 390e6})
    assert rows.contradicts_theory(finding)
    assert rows.row(finding).theory == "≠ bounds +1.01 %"
    assert rows.theory_words([finding]).endswith("≠ bounds: a value is below its bound.")


def test_what_a_path_decides_alone_has_no_bound_but_a_value() -> None:
    bounds = {name for name, metric in METRICS.items() if metric.has_lower_bound}
    assert {"page_p50", "handshake_p50", "wire_received", "page_received"} <= bounds
    assert not bounds & {"goodput", "packets_rate", "datagram_size", "loss_ratio", "path_mtu"}


def test_answers_say_that_theory_gives_lower_bounds() -> None:
    run = small().in_memory()
    analysis = plain_analysis(run)
    statistics = run.manifest.experiment.statistics
    for finding, theory in (
        (time_of_page(), "lower bounds +1.01 %"),
        (time_of_page(value=390e6), "lower bounds +1.01 %, a value below its own"),
        (time_of_page(theory_baseline=None), "≥ 400.0 ms"),
    ):
        [answer] = answer_rows(replace(analysis, findings=[finding]), statistics)
        assert answer.theory == theory


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
