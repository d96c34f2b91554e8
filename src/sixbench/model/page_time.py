"""The least time of a page whose objects wait for others. Pure."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from .expectation import PageRequests


@dataclass(frozen=True, kw_only=True)
class PageTime:
    """The least times of a page, from its start on.

    Attributes:
        asked: that of each request, in the order of the page.
        end: the one at which all objects are there.
    """

    asked: tuple[int, ...]
    end: int


def page_time(page: PageRequests, *, round_trip: int = 1, carrying: Sequence[int] = ()) -> PageTime:
    """The least times of a page, in the unit of `round_trip`.

    An object is there a round trip after it was asked for, and the time that its bytes take. It is asked for when the
    one that it waits for is there, and when a connection to its host is open and has room for a request. The first
    connection to a host is opened when the first of its objects is wanted, and each further one not before as many
    objects are. Nothing is bound to the order in which objects share connections, so it is the least whatever the
    client chooses.

    Args:
        round_trip: the time of a round trip; by default times are counted in round trips.
        carrying: the time that each object's bytes take on their own; none: they take no time.
    """
    carrying = carrying or [0] * len(page.requests)
    opening = page.opening * round_trip
    lasting = [round_trip + time for time in carrying]
    wanted, open_from = _wanted(page, opening, lasting)
    by_host: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for request, time, lasts in zip(page.requests, wanted, lasting, strict=True):
        by_host[request.host].append((time, lasts))
    return PageTime(
        asked=tuple(max(time, open_from[item.host]) for item, time in zip(page.requests, wanted, strict=True)),
        end=max(_host_end(page, sorted(requests), opening) for requests in by_host.values()),
    )


def _wanted(page: PageRequests, opening: int, lasting: Sequence[int]) -> tuple[list[int], dict[int, int]]:
    """The earliest time at which each object is wanted, whatever room there is on connections; and that at which the
    first connection to each host is open."""
    waiting: dict[int, list[int]] = defaultdict(list)
    for index, item in enumerate(page.requests):
        if item.after is not None:
            waiting[item.after].append(index)
    wanted = [0] * len(page.requests)
    due = [(0, index) for index, item in enumerate(page.requests) if item.after is None]
    open_from: dict[int, int] = {}
    while due:
        # Times come in their order, so that the first object of a host is the one for which its connection is opened.
        time, index = heapq.heappop(due)
        wanted[index] = time
        there = max(time, open_from.setdefault(page.requests[index].host, time + opening)) + lasting[index]
        for next_index in waiting[index]:
            heapq.heappush(due, (there, next_index))
    return wanted, open_from


def _host_end(page: PageRequests, requests: Sequence[tuple[int, int]], opening: int) -> int:
    """The least time at which all objects of a host are there.

    Those that are asked for from any time on need places on connections for as long as they last, and each of them
    needs a place for all of its time.

    Args:
        requests: when each is wanted, in order, and how long it lasts.
    """
    open_from = [wanted + opening for wanted, _ in requests[: page.connections]]
    asked = [max(wanted, open_from[0]) for wanted, _ in requests]
    lasting = [lasts for _, lasts in requests]
    work = list(accumulate(reversed(lasting)))[::-1]
    shortest, longest = (list(accumulate(reversed(lasting), chosen))[::-1] for chosen in (min, max))
    end = max(time + lasts for time, lasts in zip(asked, lasting, strict=True))
    for number, time in enumerate(asked):
        if number and time == asked[number - 1]:
            continue
        places = _Places(
            streams=page.streams,
            free_from=[max(time, begin) for begin in open_from],
            count=len(asked) - number,
            shortest=shortest[number],
            work=work[number],
        )
        if not places.suffice(end):
            rounds = -(-places.count // page.streams)
            most = max(end, time + rounds * longest[number])
            end = bisect_left(range(end, most), True, key=places.suffice) + end
    return end


@dataclass(frozen=True, kw_only=True)
class _Places:
    """Places for requests on the connections to a host, and the requests that need them.

    Attributes:
        streams: places on each connection.
        free_from: the times from which each connection has them.
        count: number of requests.
        shortest, work: the time that the shortest of them lasts, and that of all together.
    """

    streams: int
    free_from: Sequence[int]
    count: int
    shortest: int
    work: int

    def suffice(self, end: int) -> bool:
        """True if there may be room for all of the requests until then."""
        free = [max(0, end - begin) for begin in self.free_from]
        if self.shortest and self.streams * sum(time // self.shortest for time in free) < self.count:
            return False
        return self.streams * sum(free) >= self.work
