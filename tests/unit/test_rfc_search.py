"""The search for a throughput against devices that are computed, and the bounds that trials say."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sixbench.rfc.goal import Bounds, Goal, LoadTrial, bounds
from sixbench.rfc.search import ATTEMPTS, LEAST_PPS, MAX_REFUSED, search

pytestmark = pytest.mark.computes

STRICT = Goal(name="none", loss_ratio=0.0, exceed_ratio=0.0, width=0.01, initial_s=1.0, final_s=60.0, sum_s=60.0)
LOOSE = Goal(name="loose", loss_ratio=0.005, exceed_ratio=0.5, width=0.01, initial_s=1.0, final_s=1.0, sum_s=3.0)
LINE_PPS = 148_809.5


@dataclass
class Device:
    """Carries so many frames a second and loses the rest. The tester carries out no trial over its own limit."""

    carries_pps: float
    tester_pps: float = float("inf")
    trials: list[LoadTrial] = field(default_factory=list)
    refused: int = 0

    def measure(self, load_pps: float, duration_s: float) -> LoadTrial | None:
        if load_pps > self.tester_pps:
            self.refused += 1
            return None
        loss = max(0.0, 1 - self.carries_pps / load_pps)
        self.trials.append(LoadTrial(load_pps=load_pps, duration_s=duration_s, loss_ratio=loss))
        return self.trials[-1]


@settings(max_examples=60, deadline=None)
@given(st.floats(min_value=2 * LEAST_PPS, max_value=LINE_PPS))
def test_the_rate_of_a_device_lies_between_the_bounds_which_are_as_near_as_asked(carries_pps: float) -> None:
    device = Device(carries_pps)
    assert search(device.measure, [STRICT, LOOSE], LINE_PPS).has_found
    for goal in (STRICT, LOOSE):
        actual_bounds = bounds(device.trials, goal)
        assert actual_bounds.lower_pps is not None
        if actual_bounds.upper_pps is not None:
            assert actual_bounds.lower_pps * (1 - goal.loss_ratio) <= carries_pps * 1.000001
            assert actual_bounds.upper_pps > carries_pps
            assert actual_bounds.lower_pps >= actual_bounds.upper_pps * (1 - goal.width) * 0.999999
        else:
            assert actual_bounds.lower_pps == pytest.approx(LINE_PPS)


def test_a_device_as_fast_as_the_line_needs_one_full_trial() -> None:
    device = Device(10 * LINE_PPS)
    search(device.measure, [STRICT], LINE_PPS)
    assert bounds(device.trials, STRICT) == Bounds(lower_pps=pytest.approx(LINE_PPS), upper_pps=None)
    assert max(trial.duration_s for trial in device.trials) == 60


def test_the_final_trials_of_the_bounds_have_their_full_length() -> None:
    device = Device(50_000)
    search(device.measure, [STRICT], LINE_PPS)
    lower = bounds(device.trials, STRICT).lower_pps
    assert any(trial.load_pps == lower and trial.duration_s == 60 for trial in device.trials)


def test_what_the_tester_cannot_do_is_no_loss_and_the_search_goes_on_under_it() -> None:
    device = Device(10 * LINE_PPS, tester_pps=40_000)
    end = search(device.measure, [STRICT], LINE_PPS)
    actual_bounds = bounds(device.trials, STRICT)
    assert end.has_found
    assert end.refused_pps is not None
    assert 40_000 < end.refused_pps <= 40_000 / 0.9
    assert actual_bounds.upper_pps is None
    assert actual_bounds.lower_pps is not None
    assert 0.9 * end.refused_pps * 0.999 <= actual_bounds.lower_pps <= 40_000
    assert device.refused % ATTEMPTS == 0


def test_a_tester_that_is_late_at_any_rate_is_given_up_soon() -> None:
    device = Device(10 * LINE_PPS, tester_pps=0)
    assert not search(device.measure, [STRICT], LINE_PPS).has_found
    assert device.refused <= 10 * ATTEMPTS


def test_a_tester_that_is_late_now_and_then_at_any_rate_ends_the_search() -> None:
    """Every trial but the fourth, eighth ... is spoiled, at any rate: no rate can be told from another one."""
    device = Device(50_000)
    asked = 0

    def measure(load_pps: float, duration_s: float) -> LoadTrial | None:
        nonlocal asked
        asked += 1
        return device.measure(load_pps, duration_s) if asked % 4 == 0 else None

    assert not search(measure, [STRICT], LINE_PPS).has_found
    assert asked <= MAX_REFUSED * 4 / 3 + 1


def test_a_trial_that_the_tester_fails_once_is_tried_again() -> None:
    device = Device(50_000)
    failures = iter([True, False, True])

    def measure(load_pps: float, duration_s: float) -> LoadTrial | None:
        return None if next(failures, False) else device.measure(load_pps, duration_s)

    assert search(measure, [STRICT], LINE_PPS).refused_pps is None
    assert bounds(device.trials, STRICT).lower_pps == pytest.approx(50_000, rel=0.01)


def test_a_device_that_carries_nothing_has_no_throughput() -> None:
    device = Device(0.0)
    assert not search(device.measure, [STRICT], LINE_PPS).has_found
    assert bounds(device.trials, STRICT).lower_pps is None


def test_the_same_trials_make_the_same_search() -> None:
    first, second = Device(31_415.9), Device(31_415.9)
    search(first.measure, [STRICT, LOOSE], LINE_PPS)
    search(second.measure, [STRICT, LOOSE], LINE_PPS)
    assert first.trials == second.trials


def test_a_rate_over_an_upper_bound_is_none_even_if_it_lost_nothing() -> None:
    trials = [
        LoadTrial(load_pps=load_pps, duration_s=60.0, loss_ratio=loss)
        for load_pps, loss in ((1000, 0.0), (2000, 0.01), (3000, 0.0))
    ]
    assert bounds(trials, STRICT) == Bounds(lower_pps=1000, upper_pps=2000)


def test_a_short_trial_without_loss_is_no_lower_bound_and_one_with_loss_is_an_upper_one() -> None:
    trials = [
        LoadTrial(load_pps=1000, duration_s=1.0, loss_ratio=0.0),
        LoadTrial(load_pps=2000, duration_s=1.0, loss_ratio=0.01),
    ]
    assert bounds(trials, STRICT) == Bounds(lower_pps=None, upper_pps=2000)


def test_half_of_the_time_may_be_bad_where_the_goal_says_so() -> None:
    losses = (0.0, 0.0, 0.02, 0.02)
    trials = [LoadTrial(load_pps=1000, duration_s=1.0, loss_ratio=loss) for loss in losses]
    assert bounds(trials, LOOSE).lower_pps == 1000
    assert bounds([*trials, trials[-1]], LOOSE).upper_pps == 1000
