"""The least time of a page is not longer than that of a client that loads it."""

from __future__ import annotations

import heapq
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sixbench.model.expectation import PageRequest, PageRequests
from sixbench.model.page_time import page_time

pytestmark = pytest.mark.computes


@st.composite
def pages(draw: st.DrawFn) -> PageRequests:
    count = draw(st.integers(1, 20))
    requests = tuple(
        PageRequest(
            host=draw(st.integers(0, 2)),
            after=draw(st.none() | st.integers(0, index - 1)) if index else None,
            sent_bytes=1,
            received_bytes=1,
        )
        for index in range(count)
    )
    return PageRequests(
        requests=requests,
        opening=draw(st.integers(0, 2)),
        connections=draw(st.integers(1, 3)),
        streams=draw(st.integers(1, 3)),
    )


def loaded(page: PageRequests, round_trip: int, carrying: list[int]) -> int:
    """The time of a client that gives each request, when it is wanted, the place that is free first."""
    places: dict[int, list[int]] = defaultdict(list)
    wanted = [(0, index) for index, request in enumerate(page.requests) if request.after is None]
    heapq.heapify(wanted)
    end = 0
    while wanted:
        time, index = heapq.heappop(wanted)
        of_host = places[page.requests[index].host]
        if len(of_host) < page.connections * page.streams:
            of_host += [time + page.opening * round_trip] * page.streams
        there = max(time, heapq.heappop(of_host)) + round_trip + carrying[index]
        heapq.heappush(of_host, there)
        end = max(end, there)
        for number, request in enumerate(page.requests):
            if request.after == index:
                heapq.heappush(wanted, (there, number))
    return end


@given(page=pages(), round_trip=st.integers(1, 50), data=st.data())
def test_no_client_is_faster(page: PageRequests, round_trip: int, data: st.DataObject) -> None:
    count = len(page.requests)
    carrying = data.draw(st.lists(st.integers(0, 100), min_size=count, max_size=count))
    least = page_time(page, round_trip=round_trip, carrying=carrying)
    assert least.end <= loaded(page, round_trip, carrying)
    assert all(asked + round_trip + time <= least.end for asked, time in zip(least.asked, carrying, strict=True))


@given(page=pages(), round_trip=st.integers(1, 50))
def test_bytes_that_take_no_time_leave_whole_round_trips(page: PageRequests, round_trip: int) -> None:
    counted = page_time(page)
    timed = page_time(page, round_trip=round_trip)
    assert timed.end == counted.end * round_trip
    assert list(timed.asked) == [asked * round_trip for asked in counted.asked]
