"""The longest time of a trial."""

from __future__ import annotations

import pytest

from sixbench.bench.session import GRACE_NS, UNTIMED_LIMIT_NS, longest_ns
from sixbench.model.parameter import Scalar

SECOND_NS = 10**9


@pytest.mark.parametrize(
    ("params", "longest"),
    [
        ({"duration_ns": SECOND_NS}, SECOND_NS + GRACE_NS),
        ({"duration_ns": SECOND_NS, "warmup_ns": SECOND_NS}, 2 * SECOND_NS + GRACE_NS),
        ({"duration_ns": SECOND_NS, "timeout_ns": 60 * SECOND_NS}, 61 * SECOND_NS + GRACE_NS),
        ({"count": 5, "timeout_ns": SECOND_NS}, UNTIMED_LIMIT_NS),
        ({"count": 5, "timeout_ns": 600 * SECOND_NS}, 600 * SECOND_NS + GRACE_NS),
    ],
)
def test_a_trial_may_wait_for_the_answer_to_its_last_attempt(params: dict[str, Scalar], longest: int) -> None:
    assert longest_ns(params) == longest
