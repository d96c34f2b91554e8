"""The expectations of `http`: the round trips of a page, its requests, and its least traffic. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..expectation import Datagrams, Expectation, PageRequest, PageRequests, TransactionTraffic
from ..page_time import page_time
from ..recorded_page import PageObject
from .http_messages import (
    CONTROL_BYTES,
    FRAME_BYTES,
    PREFACE_BYTES,
    RECORDS,
    answer_bytes,
    further_name_bytes,
    request_bytes,
)
from .quic_packets import (
    FIRST_STREAM_HEADER_BYTES,
    LEAST_DATAGRAM_BYTES,
    SEARCHED_DATAGRAM_BYTES,
    handshake_datagrams,
    handshake_round_trips,
)
from .tls_messages import CHAIN_BYTES, over_tcp

_DATAGRAMS = Datagrams(
    largest_bytes=SEARCHED_DATAGRAM_BYTES,
    least_bytes=LEAST_DATAGRAM_BYTES,
    header_bytes=FIRST_STREAM_HEADER_BYTES,
    may_be_joined=True,
)


@dataclass(frozen=True, kw_only=True)
class PageLoad:
    """Parameters of a page load.

    Attributes:
        version: of HTTP.
        is_secured: whether there is TLS under it.
        is_new: whether it opens its connections.
        objects: those of the page; None: they are those of a HAR file that is not known.
        connections: the most to a host.
        streams: the requests that a connection carries at the same time at most.
    """

    version: str
    is_secured: bool
    is_new: bool
    objects: tuple[PageObject, ...] | None
    connections: int
    streams: int


def expectation_of(page: PageLoad) -> Expectation:
    """The round trips of its connections and of its requests, and the bytes that they take (RFC 9112, 9113 and 9114).

    One connection to a host at least is opened: where objects are short the first may have fetched them all before a
    second one is there. Of a HAR file that is not known, no more is foretold than that its first object takes a round
    trip.
    """
    over_quic = page.version == "3"
    connect = int(page.is_new and not over_quic)
    handshake = (handshake_round_trips(CHAIN_BYTES) if over_quic else 1) if page.is_new and page.is_secured else 0
    opening = connect + handshake
    round_trips = {
        "connect": connect,
        "handshake": handshake,
        "first_byte": opening + 1,
        "object": 1,
        "page": opening + 1,
    }
    if page.objects is None:
        return Expectation(round_trips=round_trips)
    requests = _requests(page, page.objects, opening)
    round_trips["page"] = page_time(requests).end
    exchange = _over_quic(page, page.objects) if over_quic else _over_tcp(page, page.objects)
    return Expectation(
        round_trips=round_trips,
        payloads={
            "page_sent_bytes": sum(exchange.sent) + _filled_bytes(exchange.sent_data_bytes),
            "page_received_bytes": sum(exchange.received) + _filled_bytes(exchange.received_data_bytes),
        },
        exchange=exchange,
        page=requests,
    )


def _requests(page: PageLoad, objects: Sequence[PageObject], opening: int) -> PageRequests:
    over_quic = page.version == "3"
    return PageRequests(
        requests=tuple(
            PageRequest(
                host=item.host,
                after=item.after,
                sent_bytes=request_bytes(page.version, item),
                received_bytes=answer_bytes(page.version, item),
            )
            for item in objects
        ),
        opening=opening,
        connections=page.connections,
        streams=page.streams,
        records=RECORDS if page.is_secured and not over_quic else None,
        datagrams=_DATAGRAMS if over_quic else None,
    )


def _over_tcp(page: PageLoad, objects: Sequence[PageObject]) -> TransactionTraffic:
    hosts = sorted({item.host for item in objects})
    asked, answered = ([size(page.version, item) for item in objects] for size in (request_bytes, answer_bytes))
    if page.version == "1.1":
        # A connection is asked for an object when it has brought the one before, so each begins a segment.
        sent, received = asked, answered
    else:
        preface, settings = (PREFACE_BYTES, FRAME_BYTES) if page.is_new else (0, 0)
        sent, received = _by_host(objects, asked, preface), _by_host(objects, answered, settings)
    if page.is_secured:
        sent, received = ([RECORDS.total_bytes(size) for size in sizes] for sizes in (sent, received))
        if page.is_new:
            hello, chain = over_tcp(CHAIN_BYTES)
            sent = [*(hello + further_name_bytes(host) for host in hosts), *sent]
            received = [chain] * len(hosts) + received
    return TransactionTraffic(
        transport="tcp",
        sent=tuple(sent),
        received=tuple(received),
        connections=len(hosts) if page.is_new else 0,
        answers=len(objects),
    )


def _by_host(objects: Sequence[PageObject], sizes: Sequence[int], before_bytes: int) -> list[int]:
    """The bytes on the connection to each host, which begins with so many more."""
    totals: dict[int, int] = {}
    for item, size in zip(objects, sizes, strict=True):
        totals[item.host] = totals.get(item.host, before_bytes) + size
    return list(totals.values())


def _over_quic(page: PageLoad, objects: Sequence[PageObject]) -> TransactionTraffic:
    before_bytes = CONTROL_BYTES if page.is_new else 0
    asked, answered = (
        _by_host(objects, [size("3", item) for item in objects], before_bytes) for size in (request_bytes, answer_bytes)
    )
    sent: list[int] = []
    received: list[int] = []
    if page.is_new:
        # The client's last datagram of the handshake has room for the first requests.
        room_bytes = LEAST_DATAGRAM_BYTES - handshake_datagrams(CHAIN_BYTES)[0][-1] - FIRST_STREAM_HEADER_BYTES
        for index, size in enumerate(asked):
            first_bytes = min(size, room_bytes)
            hello, chain = handshake_datagrams(CHAIN_BYTES, FIRST_STREAM_HEADER_BYTES + first_bytes)
            sent, received, asked[index] = [*sent, *hello], [*received, *chain], size - first_bytes
    return TransactionTraffic(
        transport="udp",
        sent=tuple(sent),
        received=tuple(received),
        datagrams=_DATAGRAMS,
        sent_data_bytes=sum(asked),
        received_data_bytes=sum(answered),
        answers=len(objects),
    )


def _filled_bytes(data_bytes: int) -> int:
    """The least payload of UDP with so much data of streams."""
    room_bytes = _DATAGRAMS.largest_bytes - _DATAGRAMS.header_bytes
    return data_bytes + -(-data_bytes // room_bytes) * _DATAGRAMS.header_bytes
