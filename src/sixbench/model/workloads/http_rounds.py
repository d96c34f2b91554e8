"""The least round trips of a page whose objects wait for others. Pure."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence

from ..recorded_page import PageObject


def page_round_trips(objects: Sequence[PageObject], *, opening: int, connections: int, streams: int) -> int:
    """The least round trips from the start of a page until all its objects are there.

    An object is there a round trip after it was asked for. It is asked for when the one that it waits for is there, and
    when a connection to its host is open and has room for a request. The first connection to a host is opened when the
    first of its objects is wanted, and each further one not before as many objects are. Nothing is bound to the order
    in which objects share connections, so it is the least whatever the client chooses.

    Args:
        opening: round trips until a new connection takes requests; 0: connections are open.
        connections: the most of them to a host.
        streams: requests that one of them carries at the same time.
    """
    wanted = _wanted(objects, opening)
    by_host: dict[int, list[int]] = defaultdict(list)
    for item, time in zip(objects, wanted, strict=True):
        by_host[item.host].append(time)
    return max(_of_host(sorted(times), opening, connections, streams) for times in by_host.values())


def _wanted(objects: Sequence[PageObject], opening: int) -> list[int]:
    """The earliest time at which each object is wanted, in round trips, whatever room there is on connections."""
    waiting: dict[int, list[int]] = defaultdict(list)
    for index, item in enumerate(objects):
        if item.after is not None:
            waiting[item.after].append(index)
    wanted = [0] * len(objects)
    due = [(0, index) for index, item in enumerate(objects) if item.after is None]
    open_from: dict[int, int] = {}
    while due:
        # Times come in their order, so that the first object of a host is the one for which its connection is opened.
        time, index = heapq.heappop(due)
        wanted[index] = time
        there = max(time, open_from.setdefault(objects[index].host, time + opening)) + 1
        for next_index in waiting[index]:
            heapq.heappush(due, (there, next_index))
    return wanted


def _of_host(wanted: Sequence[int], opening: int, connections: int, streams: int) -> int:
    """The least time until all objects of a host are there. `wanted`: the times at which they are, in order.

    Those that are asked for from any time on need so many places for a round trip each.
    """
    open_from = [time + opening for time in wanted[:connections]]
    asked = [max(time, open_from[0]) for time in wanted]
    end = asked[-1] + 1
    for number, time in enumerate(asked):
        if number and time == asked[number - 1]:
            continue
        while streams * sum(max(0, end - max(time, begin)) for begin in open_from) < len(asked) - number:
            end += 1
    return end
