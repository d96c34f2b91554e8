"""About how many blocks decide a comparison that is undecided."""

from __future__ import annotations

import math

import pytest

from sixbench.analysis.claim_blocks import blocks_of_a_trend, blocks_to_decide
from sixbench.stats import student_quantile, values_needed

pytestmark = pytest.mark.computes

CONFIDENCE = 0.95


def above_zero(low: float, high: float) -> bool:
    return low > 0 or high < 0


def test_a_difference_is_told_by_an_interval_that_leaves_none_out() -> None:
    """Six values with a spread of 4 and a mean of 1."""
    half_width = student_quantile(0.975, 5) * 4 / math.sqrt(6)
    interval = (1.0, 1 - half_width, 1 + half_width)
    needed = blocks_to_decide(interval, above_zero, n=6, confidence=CONFIDENCE, is_ratio=False)
    assert needed == pytest.approx(values_needed(4, 1, CONFIDENCE), abs=1)


def test_ratios_are_symmetric_in_their_logarithms() -> None:
    def other_than_one(low: float, high: float) -> bool:
        return low > 1 or high < 1

    half_width = student_quantile(0.975, 5) * 4 / math.sqrt(6)
    higher, lower = (
        blocks_to_decide(
            (math.exp(shift), math.exp(shift - half_width), math.exp(shift + half_width)),
            other_than_one,
            n=6,
            confidence=CONFIDENCE,
            is_ratio=True,
        )
        for shift in (1.0, -1.0)
    )
    assert higher == lower == pytest.approx(values_needed(4, 1, CONFIDENCE), abs=1)


def test_an_estimate_on_the_boundary_is_never_told() -> None:
    assert blocks_to_decide((0.0, -1.0, 1.0), above_zero, n=6, confidence=CONFIDENCE, is_ratio=False) is None


def test_one_more_block_is_the_least() -> None:
    assert blocks_to_decide((1.0, -1e-9, 2.0), above_zero, n=6, confidence=CONFIDENCE, is_ratio=False) == 7


def test_a_trend_of_half_the_strength_takes_four_times_the_blocks() -> None:
    assert blocks_of_a_trend(1.96 / 2, n=10, confidence=CONFIDENCE) == pytest.approx(40, abs=1)
    assert blocks_of_a_trend(-1.96 / 2, n=10, confidence=CONFIDENCE) == pytest.approx(40, abs=1)


def test_no_trend_and_one_that_is_significant_need_no_number() -> None:
    assert blocks_of_a_trend(0.0, n=10, confidence=CONFIDENCE) is None
    assert blocks_of_a_trend(2.5, n=10, confidence=CONFIDENCE) is None
