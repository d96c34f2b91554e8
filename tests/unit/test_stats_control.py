"""Looks at a series over time: how often they find a change where there is none, and that they find those there are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray

from sixbench.stats import departures, sudden_width
from sixbench.stats.rank_sum import tail

pytestmark = pytest.mark.computes

MONITORS, LOOKS, SERIES, BASELINE = 2000, 50, 4, 24
Draw = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]

DRAWN: dict[str, Draw] = {
    "normal": lambda random, shape: random.normal(size=shape),
    "exponential": lambda random, shape: random.exponential(size=shape),
    "student-3": lambda random, shape: random.standard_t(3, size=shape),
}


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (5, 4), (6, 3)])
def test_the_chances_of_ranks_are_those_of_all_arrangements(n: int, m: int) -> None:
    wrong = [
        sum(1 for low in range(n + m) if low not in higher for high in higher if low > high)
        for higher in combinations(range(n + m), m)
    ]
    expected = [sum(item <= u for item in wrong) / comb(n + m, m) for u in range(n * m + 1)]
    assert tail(n, m) == pytest.approx(expected, abs=1e-12)


def test_chances_of_many_ranks_are_exact_where_they_are_small() -> None:
    assert tail(24, 32)[:5] * comb(56, 32) == pytest.approx([1, 2, 4, 7, 12], rel=1e-9)
    assert tail(1000, 32)[-1] == pytest.approx(1)


@pytest.mark.parametrize("name", DRAWN)
def test_no_more_false_alarms_than_stated(name: str) -> None:
    """At an error of 2 %, the share of 2,000 monitors' looks at four series that find a change in any of them. Looks
    of one monitor are not independent, so the margin is three standard errors over monitors."""
    error = 0.02
    values = DRAWN[name](np.random.default_rng(19), (MONITORS, SERIES, BASELINE + LOOKS))
    alarms = np.zeros((MONITORS, LOOKS), dtype=bool)
    for monitor, of_monitor in enumerate(values.tolist()):
        for of_series in of_monitor:
            actual_departures = departures(of_series[:BASELINE], of_series[BASELINE:], [error / SERIES] * LOOKS)
            alarms[monitor] |= [actual_departure is not None for actual_departure in actual_departures]
    shares = alarms.mean(axis=1)
    assert shares.mean() <= error + 3 * shares.std() / np.sqrt(MONITORS)
    assert shares.mean() > 0.1 * error, "nothing is looked for"


def test_a_shift_by_three_deviations_is_found() -> None:
    """At one false alarm a year of hourly looks at four series: in half of the monitors after 8 looks."""
    random = np.random.default_rng(19)
    first = []
    for _ in range(500):
        baseline, later = random.normal(size=BASELINE), 3 + random.normal(size=40)
        actual_departures = departures(baseline.tolist(), later.tolist(), [1 / 8760 / SERIES] * 40)
        first.append(
            next(
                (
                    look
                    for look, actual_departure in enumerate(actual_departures, start=1)
                    if actual_departure is not None
                ),
                99,
            )
        )
        assert all(actual_departure is None or actual_departure.is_higher for actual_departure in actual_departures)
    assert np.median(first) <= 8
    assert np.mean(np.asarray(first) <= 16) > 0.9


def test_a_value_far_away_is_found_at_once() -> None:
    baseline = [1.0, 1.01, 0.99, 1.0, 1.02]
    [near, far] = departures(baseline, [1.03, 0.2], [0.01, 0.01])
    assert near is None
    assert far is not None
    assert (far.kind, far.is_higher, far.over) == ("sudden", False, 1)
    width = sudden_width(baseline, 0.01)
    assert width is not None
    assert departures(baseline, [1.004 + 0.99 * width, 1.004 + 1.01 * width], [0.01, 0.01])[0] is None
    assert departures(baseline, [1.004 + 0.99 * width, 1.004 + 1.01 * width], [0.01, 0.01])[1] is not None


def test_without_any_spread_only_lasting_changes_are_found() -> None:
    actual_departures = departures([1480.0] * 24, [1280.0] * 8, [0.05] * 8)
    assert sudden_width([1480.0] * 24, 0.05) is None
    assert [actual_departure is None for actual_departure in actual_departures] == [True] * 3 + [False] * 5
    assert actual_departures[3] is not None
    assert (actual_departures[3].kind, actual_departures[3].over) == ("lasting", 4)


def test_equal_values_are_no_change_and_nothing_is_found_without_an_error_to_spend() -> None:
    assert departures([5.0] * 10, [5.0] * 40, [0.05] * 40) == [None] * 40
    assert departures([1.0, 1.1], [900.0] * 40, [0.0] * 40) == [None] * 40
    assert departures([1.0, 1.1], [], []) == []


def test_that_nothing_arrives_is_lower_than_anything() -> None:
    [departure] = departures([1.0, 1.1, 1.2], [float("-inf")], [0.01])
    assert departure is not None
    assert not departure.is_higher


def test_one_value_is_no_baseline() -> None:
    with pytest.raises(ValueError, match="at least 2 values"):
        departures([1.0], [1.0], [0.1])
