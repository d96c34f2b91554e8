import random

import pytest

from sixbench.stats import held_out
from sixbench.stats.prediction import half_width

pytestmark = pytest.mark.computes


def test_a_value_is_held_against_the_others_only():
    assert held_out([1.0, 1.1, 0.9, 1.0, 50.0]) == [True, True, True, True, False]


def test_two_values_say_nothing_of_each_other():
    assert held_out([1.0, 2.0]) == []
    assert half_width([1.0]) is None


def test_equal_values_are_where_the_others_are():
    assert held_out([3.0, 3.0, 3.0]) == [True, True, True]


def test_a_value_beside_equal_ones_is_outside():
    assert held_out([1.0, 1.0, 1.001]) == [True, True, False]


def test_it_covers_what_it_says():
    rng = random.Random(6)
    inside = [flag for _ in range(400) for flag in held_out([rng.gauss(0, 1) for _ in range(10)])]
    assert 0.935 <= sum(inside) / len(inside) <= 0.965
