"""Sentences of `plan` about blocks that answers or the time end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sixbench.bench.estimate import estimate
from sixbench.cli.plan_summary import time_reason
from sixbench.cli.plan_text import blocks_words, time_words, trials_words
from sixbench.model.experiment import Experiment

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]


def test_a_run_until_answers_are_decided_or_the_time_is_over(read: Read, small: str) -> None:
    experiment = read(small + "blocks: {min: 5, until: decided, time: 2min}\n")
    assert trials_words(experiment) == "at least 10 trials"
    assert blocks_words(experiment) == (
        "1 combination x 2 paths x 5 to 60 blocks, until answers are decided, for at most 2min"
    )
    actual_time_reason = time_reason(experiment, estimate(experiment))
    assert "After 5 blocks a combination goes on only while an answer is undecided" in actual_time_reason
    assert time_words(experiment, estimate(experiment)).endswith("to 2 min")


@pytest.mark.parametrize("rule", ["time: 1s", "until: decided, time: 1s"])
def test_the_fewest_blocks_may_take_longer_than_the_time(read: Read, small: str, rule: str) -> None:
    experiment = read(small + f"blocks: {{min: 5, {rule}}}\n")
    actual_time_reason = time_reason(experiment, estimate(experiment))
    assert "The fewest blocks take longer than 1s, and are run all the same." in actual_time_reason
    assert estimate(experiment).most_ns == estimate(experiment).least_ns
