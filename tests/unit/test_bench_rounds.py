"""`make bench`: rounds in pairs, intervals that cover, verdicts."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import paired
import pytest
from intervals import Aim, geometric, judge
from measure import aim_of, show_figures


def test_a_drift_that_is_even_leaves_the_ratio_as_it_is() -> None:
    clock = [0]

    def measured(worth: float) -> float:
        clock[0] += 1
        return worth * math.exp(0.05 * clock[0])

    @contextmanager
    def build() -> Iterator[paired.Pair]:
        yield lambda: measured(3.0), lambda: measured(4.0)

    found = paired.ratios(build, builds=2, rounds=3)
    assert found == pytest.approx([0.75] * 6)
    assert clock == [24]


def test_the_interval_holds_the_truth_as_often_as_it_says_also_with_wild_rounds() -> None:
    random = np.random.default_rng(15)
    held = 0
    for _ in range(1000):
        logs = math.log(0.9) + 0.05 * random.standard_normal(12)
        logs[random.random(12) < 0.1] += 0.5 * random.standard_normal()
        found = geometric(list(np.exp(logs)))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.9 <= found.high
    assert 0.93 <= held / 1000 <= 0.985


def test_one_wild_round_in_five_moves_the_figure_little() -> None:
    calm = [0.99, 1.0, 1.01, 0.98, 1.02, 1.0, 0.99, 1.01]
    found = geometric([*calm, 0.2, 0.3])
    assert found.value == pytest.approx(0.99, abs=0.01)


def test_too_few_rounds_have_no_interval_and_decide_nothing() -> None:
    found = geometric([0.9])
    assert (found.low, found.high) == (None, None)
    assert judge(Aim(bound=0.5), found.low, found.high) == "open"


@pytest.mark.parametrize(
    ("target", "low", "high", "verdict"),
    [
        (">= 0.9", 0.91, 0.95, "met"),
        (">= 0.9", 0.85, 0.95, "open"),
        (">= 0.9", 0.85, 0.89, "missed"),
        ("< 0.4", 0.1, 0.3, "met"),
        ("< 0.4", 0.3, 0.5, "open"),
        ("< 0.4", 0.5, 0.6, "missed"),
    ],
)
def test_a_target_is_judged_by_the_whole_interval(target: str, low: float, high: float, verdict: str) -> None:
    aim = aim_of(target)
    assert aim is not None
    assert judge(aim, low, high) == verdict


def test_a_line_has_its_interval_and_its_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    show_figures("6in4, TCP / native", [0.96, 0.97, 0.98, 0.96, 0.97], ">= 0.94")
    show_figures("no target", [0.0, 1.0, 2.0], "")
    first, second = capsys.readouterr().out.splitlines()
    assert first.split()[4:] == ["0.967", "0.949", "0.984", "5", ">=", "0.94", "met"]
    assert second.split() == ["no", "target", "1.000"]
