"""Waiting until no packet of a trial is under way any more, by looking for packets instead of by theory.

A look reads the counters of the nodes: the packets that wait in queueing disciplines, for a processor and in emulated
links, and those that have passed each interface. Nothing is under way where nothing waits and nothing has passed since
the look before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..model.observation import CountersAnswer

STILL_NS = 1_000_000
"""The time between two looks. A packet that has left a queue is at the next one, or at a socket that answers it, within
a few hundred microseconds, unless it waits for a processor, which is seen."""
USER_STILL_NS = 10_000_000
"""The same where programs in user space carry packets. They may have to wait for a processor with a packet that is in
no queue: at a load of 4 for two processors up to 8 ms (measured for timers)."""
FIRST_REPORTS_NS = 60_000_000
"""For how long the nodes of a new network report their multicast groups: twice, each time up to two ticks of the kernel
later (`mldv2_unsolicited_report_interval` is 1 ms, and a tick at most 10), with a margin for a machine that is busy."""
MARGIN_NS = 20_000_000
"""Time of the look beyond the time that theory gives. Then what still passes is no packet of the trial's."""

Counters = Mapping[str, CountersAnswer]
"""Answers to `counters`, by node."""


@dataclass(frozen=True, kw_only=True)
class Left:
    """Packets that a trial has left behind, or the building of a network.

    Attributes:
        ended_ns: when its traffic had ended and `counters` had been read, on the monotonic clock.
        counters: what the nodes that it may have reached said then. Those that are missing are not known.
        least_ns: how long packets may be under way unseen.
        most_ns: how long packets may be under way at all.
        still_ns: how long nothing must pass.
    """

    ended_ns: int
    counters: Counters
    least_ns: int
    most_ns: int
    still_ns: int


def left_by_building(ended_ns: int, *, has_user_space: bool) -> Left:
    """Packets that the building of a network leaves: reports of multicast groups."""
    return Left(
        ended_ns=ended_ns,
        counters={},
        least_ns=FIRST_REPORTS_NS,
        most_ns=FIRST_REPORTS_NS,
        still_ns=still_ns(has_user_space=has_user_space),
    )


def still_ns(*, has_user_space: bool) -> int:
    """Time for which nothing must pass, depending on whether programs in user space carry packets."""
    return USER_STILL_NS if has_user_space else STILL_NS


def settle(
    left: Left,
    look: Callable[[], Counters],
    clock_ns: Callable[[], int] = time.monotonic_ns,
    sleep_ns: Callable[[int], None] = lambda duration_ns: time.sleep(duration_ns / 1e9),
) -> Counters:
    """Waits until nothing is under way, or until nothing of the trial can be. Returns the last look. Raises what `look`
    raises."""
    earlier, earlier_ns = left.counters, left.ended_ns
    sleep_ns(max(0, left.ended_ns + left.least_ns - clock_ns()))
    while True:
        sleep_ns(max(0, earlier_ns + left.still_ns - clock_ns()))
        later = look()
        if is_still(earlier, later) or clock_ns() >= left.ended_ns + left.most_ns + MARGIN_NS:
            return later
        earlier, earlier_ns = later, clock_ns()


def is_still(earlier: Counters, later: Counters) -> bool:
    """True if nothing has passed since the earlier look, and nothing waits."""
    return not any(map(is_waiting, later.values())) and all(
        node in earlier and _passed(earlier[node]) == _passed(counters) for node, counters in later.items()
    )


def is_waiting(counters: CountersAnswer) -> bool:
    """True if packets wait in a node. What a kernel does not tell counts as none."""
    queued = any(queue.waiting for queues in (counters.queues or {}).values() for queue in queues)
    return queued or bool(counters.softirq_waiting) or bool(counters.emulated_waiting)


def _passed(counters: CountersAnswer) -> dict[str, tuple[int, int]]:
    return {
        name: (interface_counters.rx_packets, interface_counters.tx_packets)
        for name, interface_counters in counters.interfaces.items()
    }
