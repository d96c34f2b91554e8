"""Cost of late timers for the rate of a link."""

from __future__ import annotations

import pytest
from observed import timers
from synthetic import link

from sixbench.bench.proof.timers import Bucket, buckets, judge_timers, timer_evidence
from sixbench.model.evidence.timers import LateTimers
from sixbench.model.rate_buckets import MIN_BURST_FRAMES
from sixbench.model.reason import ReasonKind

pytestmark = pytest.mark.computes


def test_both_directions_of_a_link_with_a_rate_have_a_bucket() -> None:
    wires = [link("a", "b", 0, rate_bps=100_000_000), link("b", "c", 1, rate_bps=None)]
    first, second = buckets(wires)
    assert (first.link, first.node, second.node) == (wires[0].name, "a", "b")
    # 2 ms of tokens and 24 bytes, less those of the frame of 1538 bytes that waits for them, at 80 ns a byte.
    assert first.slack_ns == second.slack_ns == 2_000_000 + (24 - 1538) * 80


def test_the_smallest_bucket_has_room_for_one_more_frame() -> None:
    assert (
        buckets([link("a", "b", 0, rate_bps=1_000_000)])[0].slack_ns == ((MIN_BURST_FRAMES - 1) * 1538 + 24) * 8 * 1000
    )


def test_what_the_kernel_tells_is_known_by_link_and_node() -> None:
    watched = [Bucket(link="a-b", node="a", device="a-b", slack_ns=5)]
    seen = [
        {"netns_inode": 7, "device": "a-b", "expired": 9, "late": 1, "worst_ns": 8, "lost_ns": 3},
        {"netns_inode": 8, "device": "a-b", "expired": 9, "late": 1, "worst_ns": 8, "lost_ns": 3},
    ]
    actual_timer_evidence = timer_evidence(watched, timers(seen), {7: "a"})
    assert actual_timer_evidence == {"a-b": {"a": LateTimers(expired=9, late=1, worst_ns=8, lost_ns=3, slack_ns=5)}}
    assert timer_evidence(watched, timers([seen[0] | {"expired": 0}]), {7: "a"}) == {}


def judged(lost_ns: int) -> tuple[list[str], list[ReasonKind]]:
    timers = LateTimers(expired=6000, late=4, worst_ns=9_400_000, lost_ns=lost_ns, slack_ns=1_900_000)
    notes, reasons = judge_timers({"a-b": {"a": timers}}, measured_ns=10**9, margin=0.01)
    return notes, [reason.kind for reason in reasons]


def test_a_loss_is_told_and_one_above_the_margin_is_a_reason() -> None:
    assert judged(0) == ([], [])
    assert judged(100_000) == ([], [])
    [note], reasons = judged(4_000_000)
    assert reasons == []
    assert note.startswith("late timers kept a from sending on a-b for 4 ms, 0.4 % of the measured time: 4 of 6000 ")
    assert judged(10_000_001) == ([], [ReasonKind.LATE_TIMERS])
