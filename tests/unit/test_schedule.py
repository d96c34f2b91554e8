"""Trials in blocks, in seeded random order."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from sixbench.model.experiment import Experiment, PlannedTrial
from sixbench.plan.schedule import all_trials, block_order, trial_counts

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]


def experiment(read: Read, small: str, more: str = "") -> Experiment:
    return read(small.replace("[tcp-rr]", "[{tcp-rr: {message: [64B, 1KiB, 8KiB]}}, tcp-crr]") + more)


def test_a_block_has_every_path_at_every_combination_once(read: Read, small: str) -> None:
    wanted = {(f"c{c:04d}", path) for c in range(1, 5) for path in ("ipv4", "ipv6")}
    for block in range(1, 6):
        order = block_order(experiment(read, small), block)
        assert len(order) == 8
        assert {(trial.combination, trial.path) for trial in order} == wanted
        assert {trial.block for trial in order} == {block}


def test_the_paths_of_a_combination_follow_one_another(read: Read, small: str) -> None:
    order = block_order(experiment(read, small), 1)
    assert all(item.combination == two.combination for item, two in zip(order[::2], order[1::2], strict=True))


def test_the_order_is_that_of_the_seed(read: Read, small: str) -> None:
    first_all_trial, again, other = (list(all_trials(experiment(read, small, f"seed: {seed}\n"))) for seed in (1, 1, 2))
    assert first_all_trial == again
    assert first_all_trial != other
    assert sorted(trial.key for trial in first_all_trial) == sorted(trial.key for trial in other)


def test_blocks_differ(read: Read, small: str) -> None:
    orders = {
        tuple((trial.combination, trial.path) for trial in block_order(experiment(read, small), block))
        for block in range(1, 9)
    }
    assert len(orders) == 8


def test_over_two_blocks_no_path_is_always_first(read: Read, small: str) -> None:
    trials = experiment(read, small)
    for combination in ("c0001", "c0004"):
        first = Counter(
            next(trial.path for trial in block_order(trials, block) if trial.combination == combination)
            for block in range(1, 101)
        )
        assert first == {"ipv4": 50, "ipv6": 50}


def test_more_blocks_only_add_trials(read: Read, small: str) -> None:
    """Trials that were run stay as they would be run, however long the run may become."""
    few = list(all_trials(experiment(read, small, "blocks: 3\n")))
    many = list(all_trials(experiment(read, small, "blocks: 9\n")))
    assert many[: len(few)] == few


def test_the_number_of_trials(read: Read, small: str) -> None:
    assert trial_counts(experiment(read, small, "blocks: {min: 2, max: 7, precision: 1%}\n")) == (16, 56)


def test_a_trial_has_a_name() -> None:
    assert PlannedTrial(block=2, combination="c0031", path="ipv6").key == "b002-c0031-ipv6"
    assert PlannedTrial(block=1234, combination="c0001", path="a").key == "b1234-c0001-a"


def test_the_work_of_a_plan_is_one_order_of_paths_for_two_blocks(
    read: Read, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So 100,000 trials are planned in under a second."""
    seeds: list[str] = []

    class Counting(random.Random):
        def __init__(self, seed: str) -> None:
            seeds.append(seed)
            super().__init__(seed)

    monkeypatch.setattr("sixbench.plan.schedule.random.Random", Counting)
    plan = experiment(read, small, "blocks: 7\n")
    assert len(list(all_trials(plan))) == 7 * 4 * 2
    assert len(seeds) == 7 + 4 * 4
