"""Properties of comparisons whatever the numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sixbench.stats import Comparison, Pairs, compare, holm, trimmed_mean

pytestmark = pytest.mark.computes

VALUES = st.floats(min_value=1e-6, max_value=1e12)
PAIRS = st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=14)
SHARES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=14)


def _compare(pairs: list[tuple[float, float]], margin: float = 0.01, *, share: bool = False) -> Comparison:
    path, baseline = zip(*pairs, strict=True)
    scale = "difference" if share else "ratio"
    return compare(Pairs(path=path, baseline=baseline, scale=scale), confidence=0.95, margin=margin)


@given(PAIRS)
def test_the_interval_holds_the_ratio(pairs: list[tuple[float, float]]) -> None:
    result = _compare(pairs)
    assert result.low is not None
    assert result.ratio is not None
    assert result.high is not None
    assert 0 < result.low <= result.ratio <= result.high < math.inf
    assert result.p_value is not None
    assert 0 < result.p_value <= 1


@given(SHARES)
def test_the_interval_holds_the_difference(pairs: list[tuple[float, float]]) -> None:
    result = _compare(pairs, share=True)
    assert result.ratio is None
    assert result.low is not None
    assert result.difference is not None
    assert result.high is not None
    assert result.low <= result.difference <= result.high


@given(PAIRS)
def test_baseline_and_path_swapped_say_the_same(pairs: list[tuple[float, float]]) -> None:
    forward, backward = _compare(pairs), _compare([(b, a) for a, b in pairs])
    assert forward.ratio is not None
    assert forward.low is not None
    assert backward.ratio == pytest.approx(1 / forward.ratio)
    assert backward.high == pytest.approx(1 / forward.low)
    assert backward.p_value == pytest.approx(forward.p_value)
    assert backward.equivalent == forward.equivalent


@given(PAIRS, st.floats(min_value=1e-3, max_value=1e3))
def test_the_unit_does_not_matter(pairs: list[tuple[float, float]], factor: float) -> None:
    here, there = _compare(pairs), _compare([(a * factor, b * factor) for a, b in pairs])
    assert there.ratio == pytest.approx(here.ratio)
    assert there.low == pytest.approx(here.low)
    assert there.p_value == pytest.approx(here.p_value, abs=1e-9)


@given(PAIRS, st.floats(0, 1), st.floats(0, 1))
def test_a_wider_margin_holds_what_a_narrower_one_does(
    pairs: list[tuple[float, float]], margin: float, other: float
) -> None:
    narrow, wide = sorted((margin, other))
    assert _compare(pairs, wide).equivalent or not _compare(pairs, narrow).equivalent


@given(st.lists(st.none() | st.floats(0, 1), max_size=30))
def test_holm_only_raises_and_does_not_depend_on_the_order(p_values: list[float | None]) -> None:
    adjusted = holm(p_values)
    for p_value, result in zip(p_values, adjusted, strict=True):
        assert (p_value is None) == (result is None)
        assert p_value is None or result is None or p_value <= result <= 1
    backward = holm(p_values[::-1])
    assert backward[::-1] == pytest.approx(adjusted)


@settings(max_examples=50)
@given(st.lists(VALUES, min_size=1, max_size=30), st.integers(0, 40))
def test_a_trimmed_mean_is_among_the_values(values: list[float], trim: int) -> None:
    assert min(values) <= trimmed_mean(values, trim) <= max(values)
