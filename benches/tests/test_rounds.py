"""`make bench`: rounds in pairs, intervals that cover, verdicts, and who gets more rounds."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import paired
import pytest
from intervals import ERROR, NEAR, Aim, error_of, geometric, judge
from measure import ATTEMPTS, bytes_per_s
from table import MOST_ROUNDS, Figure, Table, aim_of, show_figures

from sixbench.model.errors import LabError

pytestmark = pytest.mark.computes


def test_a_drift_that_is_even_leaves_the_ratio_as_it_is() -> None:
    clock = [0]

    def measured(worth: float) -> float:
        clock[0] += 1
        return worth * math.exp(0.05 * clock[0])

    @contextmanager
    def build() -> Iterator[paired.Pair]:
        yield lambda: measured(3.0), lambda: measured(4.0)

    assert paired.ratios(build, rounds=3) == pytest.approx([0.75] * 3)
    assert clock == [12]


def test_the_interval_holds_the_truth_as_often_as_it_says_also_with_wild_rounds() -> None:
    random = np.random.default_rng(15)
    held = 0
    for _ in range(1000):
        logs = math.log(0.9) + 0.05 * random.standard_normal(12)
        logs[random.random(12) < 0.1] += 0.5 * random.standard_normal()
        interval = geometric(list(np.exp(logs)))
        assert interval.low is not None
        assert interval.high is not None
        held += interval.low <= 0.9 <= interval.high
    assert 0.93 <= held / 1000 <= 0.985


def test_looks_share_the_error_and_the_last_one_has_what_is_left() -> None:
    assert error_of([], 30, is_over=False) == ERROR
    first, second = error_of([6], 30, is_over=False), error_of([6, 9], 30, is_over=False)
    assert first == pytest.approx(ERROR * 6 / 30)
    assert 0 < second < ERROR / 2
    assert second < error_of([6, 9], 30, is_over=True) < ERROR
    assert error_of([30], 30, is_over=False) == pytest.approx(ERROR)


@pytest.mark.parametrize(
    ("truth", "wrong"),
    [(0.9, ("met", "missed")), ((1 - NEAR) * 0.9, ("met", "near")), ((1 + NEAR) * 0.9, ("missed", "near"))],
)
def test_a_verdict_is_wrong_as_seldom_as_its_interval_says(
    truth: float, wrong: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """However often it is looked at: after each three rounds, by itself it would be wrong three times as often."""
    random = np.random.default_rng(15)
    mistaken = 0
    for _ in range(300):
        figure = Figure("6in4, packets / native", ">= 0.9")
        figure.values += list(truth * np.exp(0.03 * random.standard_normal(3)))
        while len(figure.values) < MOST_ROUNDS:
            figure.values += list(truth * np.exp(0.03 * random.standard_normal(3)))
            if figure.look():
                break
        figure.show(is_over=True)
        mistaken += capsys.readouterr().out.split()[-1] in wrong
    assert mistaken <= 26, "of 300, 5 % are 15; 26 are three standard deviations more"


class Bench:
    """A table whose rounds take a second each, and what was measured in which order."""

    def __init__(self, minutes_s: float) -> None:
        self.now_s = 0.0
        self.measured: list[str] = []
        self.prepared: list[str] = []
        self.table = Table(minutes_s, self.prepared.append, lambda: self.now_s)

    def line(self, name: str, target: str, values: Iterator[float]) -> None:
        figure = Figure(name, target)

        def measure() -> None:
            self.now_s += 1
            self.measured.append(name)
            figure.values.append(next(values))

        self.table.measure([figure], measure, first=2)

    def part(self, name: str, *lines: Callable[[], None]) -> None:
        self.table.measure_part(name, lambda: [line() for line in lines])


def steady(value: float, scatter: float) -> Iterator[float]:
    sign = 1
    while True:
        yield value * math.exp(sign * scatter)
        sign = -sign


def test_rounds_go_in_turn_to_what_is_open_until_it_is_decided_or_the_time_is_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bench = Bench(30.5)
    bench.part("help", lambda: bench.line("clear", "< 0.4", steady(0.2, 1e-9)))
    bench.part(
        "tunnels",
        lambda: bench.line("near", ">= 0.9", steady(0.93, 0.015)),
        lambda: bench.line("told", "", steady(1.0, 0.5)),
        lambda: bench.line("on it", ">= 0.9", steady(0.9, 0.2)),
    )
    out, stderr = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()] == ["clear", "told"]
    assert stderr.splitlines() == ["near: open so far", "on it: open so far"]
    first = len(bench.measured)
    bench.table.go_on()
    more = bench.measured[first:]
    assert more[:4] == ["near", "on it", "near", "on it"]
    assert set(more[2 * more.count("near") :]) == {"on it"}, "all further ones are of the open one"
    lines = capsys.readouterr().out.splitlines()
    assert [(line.split()[0], line.split()[-1]) for line in lines] == [("near", "met"), ("on", "open")]
    assert bench.now_s == 30, "a round that would end too late does not begin"
    assert bench.table.took_s == {"help": 2, "tunnels": 28}
    assert bench.table.more_s == 22
    assert bench.prepared == ["help", "tunnels", *["tunnels"] * len(more)]


def test_a_figure_has_no_more_rounds_than_it_may_have(capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(1e9)
    bench.part("tunnels", lambda: bench.line("on it", ">= 0.9", steady(0.9, 0.2)))
    bench.table.go_on()
    assert len(bench.measured) == MOST_ROUNDS
    assert capsys.readouterr().out.split()[-4:] == [str(MOST_ROUNDS), ">=", "0.9", "open"]


def test_lines_that_are_measured_together_go_on_together(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(10.5, clock=lambda: float(len(late.values)))
    rate, late, nothing = Figure("rate", ">= 200"), Figure("late", "< 60"), Figure("nothing", "")

    def measure() -> None:
        rate.values.append(300.0 + len(rate.values) % 2)
        late.values.append(next(values))

    values = steady(60, 0.1)
    table.measure([rate, late, nothing], measure, first=5)
    assert capsys.readouterr().out == ""
    table.go_on()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [(row[0], row[4], row[-1]) for row in rows] == [("rate", "10", "met"), ("late", "10", "open")]


def test_a_trial_in_which_nothing_arrives_is_tried_again_some_times() -> None:
    answers = iter([{}, {"measured_bytes": 0}, {"measured_bytes": 500, "measured_ns": 250_000_000}])
    assert bytes_per_s(lambda: next(answers), "a flood") == 2000
    tried: list[int] = []
    with pytest.raises(LabError, match=f"measuring a flood: in {ATTEMPTS} trials nothing arrived"):
        bytes_per_s(lambda: tried.append(1) or {}, "a flood")
    assert len(tried) == ATTEMPTS


def test_one_wild_round_in_five_moves_the_figure_little() -> None:
    calm = [0.99, 1.0, 1.01, 0.98, 1.02, 1.0, 0.99, 1.01]
    interval = geometric([*calm, 0.2, 0.3])
    assert interval.value == pytest.approx(0.99, abs=0.01)


def test_too_few_rounds_have_no_interval_and_decide_nothing() -> None:
    interval = geometric([0.9])
    assert (interval.low, interval.high) == (None, None)
    assert judge(Aim(bound=0.5), interval.low, interval.high) == "open"


@pytest.mark.parametrize(
    ("target", "low", "high", "verdict"),
    [
        (">= 0.9", 0.91, 0.95, "met"),
        (">= 0.9", 0.85, 0.95, "open"),
        (">= 0.9", 0.85, 0.89, "missed"),
        ("< 0.4", 0.1, 0.3, "met"),
        ("< 0.4", 0.3, 0.5, "open"),
        ("< 0.4", 0.5, 0.6, "missed"),
        ("< 0.4", 0.39, 0.41, "near"),
        ("< 0.4", 0.38, 0.41, "open"),
        (">= 0.9", 0.88, 0.92, "near"),
        (">= 0.9", 0.88, 0.93, "open"),
        (">= 0.9", 0.9, 0.91, "met"),
    ],
)
def test_a_target_is_judged_by_the_whole_interval(target: str, low: float, high: float, verdict: str) -> None:
    aim = aim_of(target)
    assert aim is not None
    assert judge(aim, low, high, NEAR) == verdict


def test_a_line_has_its_interval_and_its_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    show_figures("6in4, TCP / native", [0.96, 0.97, 0.98, 0.96, 0.97], ">= 0.94")
    show_figures("no target", [0.0, 1.0, 2.0], "")
    first, second = capsys.readouterr().out.splitlines()
    assert first.split()[4:] == ["0.968", "0.956", "0.980", "5", ">=", "0.94", "met"]
    assert second.split() == ["no", "target", "1.000"]
