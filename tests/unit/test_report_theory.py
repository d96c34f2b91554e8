"""What a report says where theory and measurement differ."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synthetic import small
from synthetic_analysis import plain_analysis

from sixbench.report import rows


@pytest.mark.parametrize(
    ("interval", "shown"),
    [((0.97, 1.0), "−1.40 %"), ((0.9, 0.95), "≠ −1.40 %"), ((None, None), "−1.40 %")],
)
def test_theory_outside_the_interval_is_marked(interval: tuple[float | None, float | None], shown: str) -> None:
    finding = plain_analysis(small().in_memory()).findings[0]
    low, high = interval
    finding = replace(finding, ratio=0.985, ci_low=low, ci_high=high, theory=98.6, theory_baseline=100.0)
    assert rows.row(finding).theory == shown
