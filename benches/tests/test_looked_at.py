"""`make bench`, the page: which trials count as watched and which as not, and what is paired."""

from __future__ import annotations

from dataclasses import replace

import pytest
import synthetic
from looked_at import CLOSED, COMPARED, OPEN, Equivalence, Stretch, ValidTrials, paired_values

from sixbench.model.trial import TrialRecord
from sixbench.ui.priority import left_by_nodes

pytestmark = pytest.mark.computes

VALID = next(trial for trial in synthetic.small().trials if trial.status == "ok")


def trial(from_ns: int, value: float, *, watched: bool | None) -> TrialRecord:
    return replace(VALID, started_realtime_ns=from_ns, elapsed_ns=10, watched=watched, metrics={"rtt_p50_ns": value})


def stretches(*states: bool) -> list[Stretch]:
    return [Stretch(is_open=state, from_ns=100 * at, to_ns=100 * at + 90) for at, state in enumerate(states)]


def test_neighbouring_stretches_are_paired_whichever_comes_first() -> None:
    trials = [
        trial(0, 2.0, watched=False),
        trial(50, 8.0, watched=False),
        trial(100, 5.0, watched=True),
        trial(200, 3.0, watched=True),
        trial(300, 6.0, watched=False),
    ]
    actual_paired_values = paired_values(trials, stretches(CLOSED, OPEN, OPEN, CLOSED), "rtt_p50_ns")
    assert actual_paired_values.path == pytest.approx([5.0, 3.0])
    assert actual_paired_values.baseline == pytest.approx([4.0, 6.0])


def test_trials_during_which_the_page_was_opened_or_closed_count_for_neither() -> None:
    trials = [
        trial(0, 1.0, watched=False),
        trial(85, 100.0, watched=False),  # ends in no stretch
        trial(95, 100.0, watched=True),  # begins in none
        trial(110, 100.0, watched=False),  # the run does not know of the page
        trial(130, 100.0, watched=None),
        trial(150, 1.0, watched=True),
    ]
    actual_paired_values = paired_values(trials, stretches(CLOSED, OPEN), "rtt_p50_ns")
    assert (actual_paired_values.path, actual_paired_values.baseline) == ([1.0], [1.0])


def test_a_pair_that_lacks_a_side_is_left_out() -> None:
    trials = [trial(0, 1.0, watched=False), trial(300, 1.0, watched=False)]
    actual_paired_values = paired_values(trials, stretches(CLOSED, OPEN, OPEN), "rtt_p50_ns")
    assert (actual_paired_values.path, actual_paired_values.baseline) == ([], [])


def run_of(ratios: list[float]) -> tuple[list[TrialRecord], list[Stretch]]:
    """A run with a pair of stretches for each of these ratios, of round trips with the page open over closed."""
    there = stretches(*[CLOSED, OPEN] * len(ratios))
    values = [value for ratio in ratios for value in (2.0, 2.0 * ratio)]
    trials = [trial(100 * at, value, watched=at % 2 == 1) for at, value in enumerate(values)]
    return [replace(trial, workload="tcp-rr") for trial in trials], there


def test_the_page_is_looked_at_in_one_more_run_while_the_same_is_neither_shown_nor_refuted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    [round_trip] = [comparison for comparison in COMPARED if comparison.workload == "tcp-rr"]
    line, valid = Equivalence(round_trip, "Live read / closed"), ValidTrials()
    for number, ratios in enumerate(([0.95, 1.02, 1.06, 0.97, 1.0], [1.01, 0.99, 1.0, 1.01, 0.99, 1.0] * 2)):
        trials, there = run_of(ratios)
        line.add(trials, there)
        valid.add(trials, there)
        assert line.look() is (number == 1)
        line.show(is_over=False)
    valid.show(is_over=False)
    before, after, stderr = capsys.readouterr().out.splitlines()
    assert before.split()[-3:] == ["5", "±5%", "undecided"]
    assert after.split()[-3:] == ["17", "±5%", "equivalent"]
    assert stderr == "... valid trials: 17 of 17 with the page open, 17 of 17 closed"


@pytest.mark.parametrize(
    ("usable", "left"), [((0,), (0,)), ((1, 0), (0,)), ((2, 0, 1), (1,)), ((3, 1, 0, 2), (0, 2)), ((), ())]
)
def test_the_page_keeps_off_the_processors_that_nodes_get(usable: tuple[int, ...], left: tuple[int, ...]) -> None:
    assert left_by_nodes(usable) == left
