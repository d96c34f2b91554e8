"""The least times of a page: its round trips, and its bytes at the rates of the links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ..model.expectation import PageRequests
from ..model.leg import Crossing
from ..model.network import Network
from ..model.page_time import page_time
from ..model.rate_buckets import bucket_bytes
from .exchanges import stream_packets
from .fragmentation import NotPredicted, settle

BITS_TIMES_NS = 8 * 10**9
"""Bits of a byte, by nanoseconds of a second."""


def page_times_ns(page: PageRequests, network: Network, engine: str | None, round_trip_ns: int) -> dict[str, int]:
    """The least time of a page and of each of its objects, by prefix.

    The answers to all requests from any moment on have to cross each link after it, and so have those requests. What
    the link's bucket may hold at that moment is let pass at once. The bytes of handshakes, of acknowledgements and of
    packets that are sent again are not counted.

    Args:
        round_trip_ns: by the delays of the links.
    """
    try:
        answers = _Stream(page, network.reversed, engine, [item.received_bytes for item in page.requests])
        requests = _Stream(page, network, engine, [item.sent_bytes for item in page.requests])
        carrying_ns = [answers.carrying_ns(index) for index in range(len(page.requests))]
        times = page_time(page, round_trip=round_trip_ns, carrying=carrying_ns)
        bounds_ns = [
            asked_ns + round_trip_ns + carried_ns
            for stream in (answers, requests)
            for asked_ns, carried_ns in stream.carried_from(times.asked)
        ]
    except (NotPredicted, ValueError):
        return {}
    return {"page": max(times.end, *bounds_ns), "object": round_trip_ns + min(carrying_ns)}


@dataclass(frozen=True, kw_only=True)
class _RatedLink:
    """A link with a rate.

    Attributes:
        index: among those that the path crosses.
        bucket_bytes: the most that it lets pass at once.
    """

    index: int
    rate_bps: int
    bucket_bytes: int

    def carrying_ns(self, wire_bytes: int) -> int:
        """The least time in which so many bytes pass."""
        return max(0, wire_bytes - self.bucket_bytes) * BITS_TIMES_NS // self.rate_bps


class _Stream:
    """Data of a page in one direction."""

    def __init__(self, page: PageRequests, network: Network, engine: str | None, sizes_bytes: Sequence[int]) -> None:
        self._page = page
        self._network = network
        self._engine = engine
        self._sizes_bytes = sizes_bytes
        self._links = _rated_links(network.crossings, may_be_joined=_may_be_joined(page))
        self._filled = stream_packets(network, page.datagrams)
        self._packets: dict[int, tuple[int, ...]] = {}

    def carrying_ns(self, index: int) -> int:
        """The least time in which the data of a request pass the slowest link."""
        return self._slowest_ns(self._wire_bytes(self._sizes_bytes[index]))

    def carried_from(self, asked_ns: Sequence[int]) -> list[tuple[int, int]]:
        """Every time at which there are requests, and the least time in which the data of all from then on pass."""
        by_time: dict[int, list[int]] = defaultdict(list)
        for index, time_ns in enumerate(asked_ns):
            by_time[time_ns].append(index)
        carried: list[tuple[int, int]] = []
        totals = [0] * len(self._links)
        joined_bytes: dict[int, int] = defaultdict(int)
        for time_ns in sorted(by_time, reverse=True):
            for index in by_time[time_ns]:
                # Requests at the same time on a connection may share packets.
                joined = self._page.requests[index].host if self._page.streams > 1 else index
                before = self._wire_bytes(joined_bytes[joined])
                joined_bytes[joined] += self._sizes_bytes[index]
                after = self._wire_bytes(joined_bytes[joined])
                totals = [total + more - less for total, more, less in zip(totals, after, before, strict=True)]
            carried.append((time_ns, self._slowest_ns(totals)))
        return carried

    def _wire_bytes(self, data_bytes: int) -> list[int]:
        """The least bytes on each link with a rate of so many in a connection."""
        totals = [0] * len(self._links)
        if not self._links:
            return totals
        stream_bytes = data_bytes if self._page.records is None else self._page.records.total_bytes(data_bytes)
        for payload_bytes, packets in self._filled.payloads(stream_bytes).items():
            each = self._packet_bytes(payload_bytes)
            totals = [total + packets * wire_bytes for total, wire_bytes in zip(totals, each, strict=True)]
        return totals

    def _packet_bytes(self, payload_bytes: int) -> tuple[int, ...]:
        """The bytes of a packet on each link with a rate."""
        if payload_bytes not in self._packets:
            settled = settle(self._network, payload_bytes, "set", self._engine)[-1]
            if settled.outcome != "delivered":
                raise NotPredicted(f"a packet of {payload_bytes} bytes does not arrive")
            self._packets[payload_bytes] = tuple(settled.loads[link.index].wire_bytes for link in self._links)
        return self._packets[payload_bytes]

    def _slowest_ns(self, wire_bytes: Sequence[int]) -> int:
        return max(
            (link.carrying_ns(size_bytes) for link, size_bytes in zip(self._links, wire_bytes, strict=True)), default=0
        )


def _may_be_joined(page: PageRequests) -> bool:
    return page.datagrams is None or page.datagrams.may_be_joined


def _rated_links(crossings: Sequence[Crossing], *, may_be_joined: bool) -> list[_RatedLink]:
    """The links with a rate to which packets come singly: not those behind one with segmentation offload, whose rate
    counts fewer headers."""
    offloading = [index for index, crossing in enumerate(crossings) if crossing.link.offload_on and may_be_joined]
    return [
        _RatedLink(index=index, rate_bps=rate_bps, bucket_bytes=bucket_bytes(crossing.link, crossing.direction))
        for index, crossing in enumerate(crossings[: min(offloading, default=len(crossings))])
        if (rate_bps := crossing.direction.rate_bps) is not None
    ]
