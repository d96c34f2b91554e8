"""`make bench`, the page: which trials count as watched and which as not, and what is paired."""

from __future__ import annotations

from dataclasses import replace

import pytest
import synthetic
from looked_at import CLOSED, OPEN, Stretch, paired_values

from sixbench.model.trial import TrialRecord
from sixbench.ui.priority import left_by_nodes

VALID = next(one for one in synthetic.small().trials if one.status == "ok")


def trial(from_ns: int, value: float, *, watched: bool | None) -> TrialRecord:
    return replace(VALID, started_realtime_ns=from_ns, elapsed_ns=10, watched=watched, metrics={"rtt_p50_ns": value})


def stretches(*states: bool) -> list[Stretch]:
    return [Stretch(is_open=one, from_ns=100 * at, to_ns=100 * at + 90) for at, one in enumerate(states)]


def test_neighbouring_stretches_are_paired_whichever_comes_first() -> None:
    trials = [
        trial(0, 2.0, watched=False),
        trial(50, 8.0, watched=False),
        trial(100, 5.0, watched=True),
        trial(200, 3.0, watched=True),
        trial(300, 6.0, watched=False),
    ]
    found = paired_values(trials, stretches(CLOSED, OPEN, OPEN, CLOSED), "rtt_p50_ns")
    assert found.path == pytest.approx([5.0, 3.0])
    assert found.baseline == pytest.approx([4.0, 6.0])


def test_trials_during_which_the_page_was_opened_or_closed_count_for_neither() -> None:
    trials = [
        trial(0, 1.0, watched=False),
        trial(85, 100.0, watched=False),  # ends in no stretch
        trial(95, 100.0, watched=True),  # begins in none
        trial(110, 100.0, watched=False),  # the run does not know of the page
        trial(130, 100.0, watched=None),
        trial(150, 1.0, watched=True),
    ]
    found = paired_values(trials, stretches(CLOSED, OPEN), "rtt_p50_ns")
    assert (found.path, found.baseline) == ([1.0], [1.0])


def test_a_pair_that_lacks_a_side_is_left_out() -> None:
    trials = [trial(0, 1.0, watched=False), trial(300, 1.0, watched=False)]
    found = paired_values(trials, stretches(CLOSED, OPEN, OPEN), "rtt_p50_ns")
    assert (found.path, found.baseline) == ([], [])


@pytest.mark.parametrize(
    ("usable", "left"), [((0,), (0,)), ((1, 0), (0,)), ((2, 0, 1), (1,)), ((3, 1, 0, 2), (0, 2)), ((), ())]
)
def test_the_page_keeps_off_the_processors_that_nodes_get(usable: tuple[int, ...], left: tuple[int, ...]) -> None:
    assert left_by_nodes(usable) == left
