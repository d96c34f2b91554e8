"""Wait of a trial until nothing of the one before it is under way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from observed import counted

from sixbench.bench.settling import (
    FIRST_REPORTS_NS,
    MARGIN_NS,
    STILL_NS,
    Left,
    is_still,
    is_waiting,
    left_by_building,
    settle,
)
from sixbench.model.observation import CountersAnswer

pytestmark = pytest.mark.computes

MS = 1_000_000


def counters(passed: int, queued: int = 0, **others: int) -> CountersAnswer:
    queues = {"e0": [{"kind": "tbf", "handle": "1:", "dropped": 0, "waiting": queued}]}
    return counted({"interfaces": {"e0": {"rx_packets": passed, "tx_packets": 7}}, "queues": queues, **others})


class Clock:
    """Time that passes only by sleeping, and by a look, which takes a tenth of a millisecond."""

    def __init__(self, looks: Iterator[dict[str, CountersAnswer]]) -> None:
        self.now_ns = 0
        self.looks = looks

    def sleep(self, duration_ns: int) -> None:
        self.now_ns += duration_ns

    def look(self) -> dict[str, CountersAnswer]:
        self.now_ns += MS // 10
        return next(self.looks)


def settled_after_ns(
    looks: list[dict[str, CountersAnswer]], seen: dict[str, CountersAnswer], least_ns: int = 0, most_ns: int = 100 * MS
) -> int:
    """Time that it waits; the last look, and no other, is what it returns."""
    left = Left(ended_ns=0, counters=seen, least_ns=least_ns, most_ns=most_ns, still_ns=STILL_NS)
    clock = Clock(iter(looks))
    assert settle(left, clock.look, lambda: clock.now_ns, clock.sleep) is looks[-1]
    assert next(clock.looks, None) is None
    return clock.now_ns


def test_a_network_in_which_nothing_is_under_way_is_waited_for_no_longer_than_two_looks_take() -> None:
    assert settled_after_ns([{"a": counters(5)}], {"a": counters(5)}) == STILL_NS + MS // 10


def test_full_queues_are_waited_for_until_they_are_empty_and_what_answers_their_packets_has_passed() -> None:
    looks = [{"a": counters(5, 20)}, {"a": counters(25)}, {"a": counters(26)}, {"a": counters(26)}]
    assert settled_after_ns(looks, {"a": counters(5, 20)}) < 5 * MS


def test_packets_that_wait_for_a_processor_or_in_an_emulated_link_are_under_way() -> None:
    for item in ("softirq_waiting", "emulated_waiting"):
        looks = [{"a": counters(5, **{item: 1})}, {"a": counters(5, **{item: 0})}]
        assert settled_after_ns(looks, {"a": counters(5)}) > 2 * STILL_NS
        assert is_waiting(counters(5, **{item: 1}))
    assert not is_waiting(counted({}))


def test_what_no_queue_shows_is_waited_for_in_full() -> None:
    assert settled_after_ns([{"a": counters(5)}], {"a": counters(5)}, least_ns=40 * MS) >= 40 * MS


def test_what_never_stands_still_is_waited_for_as_long_as_theory_says() -> None:
    looks = [{"a": counters(number)} for number in range(200)]
    clock = Clock(iter(looks))
    left = Left(ended_ns=0, counters={}, least_ns=0, most_ns=50 * MS, still_ns=STILL_NS)
    settle(left, clock.look, lambda: clock.now_ns, clock.sleep)
    assert 50 * MS + MARGIN_NS <= clock.now_ns < 52 * MS + MARGIN_NS


def test_a_new_network_has_said_its_groups_before_it_is_looked_at() -> None:
    looks = iter([{"a": counters(5)}, {"a": counters(5)}])
    clock = Clock(looks)
    settle(left_by_building(0, has_user_space=False), clock.look, lambda: clock.now_ns, clock.sleep)
    assert FIRST_REPORTS_NS < clock.now_ns < FIRST_REPORTS_NS + 2 * MS
    assert next(looks, None) is None


@pytest.mark.parametrize(
    ("earlier", "still"),
    [({"a": counters(5)}, True), ({"a": counters(4)}, False), ({}, False), ({"b": counters(5)}, False)],
)
def test_a_node_is_still_only_if_it_was_looked_at_before(earlier: dict[str, CountersAnswer], still: bool) -> None:
    assert is_still(earlier, {"a": counters(5)}) is still
    assert not is_still(earlier, {"a": counters(5, 1)})
