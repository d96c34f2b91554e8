"""The time that a run has, and the blocks that fit into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pretended_trials import TEXT, TRIAL_NS, Machine, run_on

from sixbench.bench.remaining import rest_of_run
from sixbench.model.experiment import Blocks, Experiment
from sixbench.model.trial import TrialRecord

pytestmark = pytest.mark.computes


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[TrialRecord]]:
    def _run(experiment: Experiment, machine: Machine, done: list[TrialRecord] | None = None) -> list[TrialRecord]:
        return run_on(machine, monkeypatch, experiment, done or [])

    return _run


Read = Callable[[str], Experiment]
Runner = Callable[..., list[TrialRecord]]


def _blocks(records: list[TrialRecord]) -> dict[str, int]:
    return {
        name: len({record.block for record in records if record.combination == name}) for name in ("c0001", "c0002")
    }


def test_no_block_begins_that_would_end_too_late(read: Read, run: Runner) -> None:
    machine = Machine()
    records = run(read(TEXT + "blocks: {min: 2, max: 50, time: 21s}\n"), machine)
    assert machine.now_ns == 20 * TRIAL_NS
    assert _blocks(records) == {"c0001": 5, "c0002": 5}
    assert all(
        sum(o.block == record.block and o.combination == record.combination for o in records) == 2 for record in records
    )


def test_the_fewest_blocks_are_run_in_any_case(read: Read, run: Runner) -> None:
    assert _blocks(run(read(TEXT + "blocks: {min: 4, max: 50, time: 1s}\n"), Machine())) == {"c0001": 4, "c0002": 4}


def test_the_time_goes_to_what_is_undecided(read: Read, run: Runner) -> None:
    def ratio(combination: str, block: int) -> float:
        return 0.5 + 0.0001 * (block % 3) if combination == "c0001" else 1.0 + 0.1 * (-1) ** (block // 2)

    machine = Machine(ratio)
    records = run(read(TEXT + "blocks: {min: 5, max: 60, until: decided, time: 60s}\n"), machine)
    assert _blocks(records) == {"c0001": 5, "c0002": 25}
    assert machine.progress_calls[-1][3] == 1
    assert all(remaining_ns <= 61 * TRIAL_NS for _, _, remaining_ns, _ in machine.progress_calls)


def test_a_run_that_goes_on_counts_the_time_that_is_recorded(read: Read, run: Runner) -> None:
    experiment = read(TEXT + "blocks: {min: 2, max: 50, time: 21s}\n")
    whole = run(experiment, Machine())
    again = run(experiment, Machine(), whole[:13])
    assert {item.key for item in again} == {item.key for item in whole}


def test_what_is_expected_is_told(read: Read, run: Runner) -> None:
    machine = Machine()
    run(read(TEXT + "blocks: {min: 2, max: 50, time: 40s}\n"), machine)
    assert machine.progress_calls[0][1:] == (40, 40 * TRIAL_NS, None)


@pytest.mark.parametrize(
    ("time_s", "until", "block", "trials"),
    [
        (None, None, 2, 3 + 20),  # all that are foreseen
        (10, None, 6, 10),  # as many as the time allows
        (100, None, 2, 100),  # the run goes on until its time is over
        (100, "decided", 2, 3 + 20),  # answers are there before
        (10, "decided", 6, 10),
        (2, None, 2, 3 + 3 * 4),  # the least number of blocks
        (2, None, 6, 3),  # what is left of the block
    ],
)
def test_what_is_left_of_a_run(time_s: int | None, until: Any, block: int, trials: int) -> None:
    blocks = Blocks(minimum=5, maximum=9, until=until, time_ns=None if time_s is None else time_s * 10**9)
    rest = rest_of_run(blocks, block, in_block=3, per_block=4, further=20, each_ns=1e9, elapsed_ns=0)
    assert rest.trials == trials
