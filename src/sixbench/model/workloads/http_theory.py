"""The expectations of `http`: the round trips of a page, and its least traffic. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ..expectation import Datagrams, Expectation, TransactionTraffic
from .http_messages import CONTROL_BYTES, FRAME_BYTES, PREFACE_BYTES, answer_bytes, request_bytes, secured_bytes
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
        objects: their number; None: they are those of a HAR file.
        body_bytes: length of each.
        at_once: requests that are under way at the same time at most.
    """

    version: str
    is_secured: bool
    is_new: bool
    objects: int | None
    body_bytes: int
    at_once: int


def expectation_of(page: PageLoad) -> Expectation:
    """The round trips of its connections and of its requests, and the bytes that they take (RFC 9112, 9113 and 9114).

    One connection at least is opened: where objects are short the first may have fetched them all before a second one
    is there. Of a HAR file no more is known than that its first object takes a round trip.
    """
    over_quic = page.version == "3"
    connect = int(page.is_new and not over_quic)
    handshake = (handshake_round_trips(CHAIN_BYTES) if over_quic else 1) if page.is_new and page.is_secured else 0
    opening = connect + handshake
    requests = 1 if page.objects is None else -(-page.objects // page.at_once)
    round_trips = {
        "connect": connect,
        "handshake": handshake,
        "first_byte": opening + 1,
        "object": 1,
        "page": opening + requests,
    }
    if page.objects is None:
        return Expectation(round_trips=round_trips)
    exchange = _over_quic(page, page.objects) if over_quic else _over_tcp(page, page.objects)
    return Expectation(
        round_trips=round_trips,
        payloads={
            "page_sent_bytes": sum(exchange.sent) + _filled_bytes(exchange.sent_data_bytes),
            "page_received_bytes": sum(exchange.received) + _filled_bytes(exchange.received_data_bytes),
        },
        exchange=exchange,
    )


def _over_tcp(page: PageLoad, objects: int) -> TransactionTraffic:
    asked, answered = (size(page.version, page.body_bytes) for size in (request_bytes, answer_bytes))
    if page.version == "1.1":
        # A connection is asked for an object when it has brought the one before, so each begins a segment.
        sent, received = [asked] * objects, [answered] * objects
    else:
        sent, received = [asked * objects], [answered * objects]
        if page.is_new:
            sent, received = [PREFACE_BYTES + sent[0]], [FRAME_BYTES + received[0]]
    if page.is_secured:
        sent, received = ([secured_bytes(size) for size in sizes] for sizes in (sent, received))
        if page.is_new:
            hello, chain = over_tcp(CHAIN_BYTES)
            sent, received = [hello, *sent], [chain, *received]
    return TransactionTraffic(transport="tcp", sent=tuple(sent), received=tuple(received), connects=page.is_new)


def _over_quic(page: PageLoad, objects: int) -> TransactionTraffic:
    asked, answered = (objects * size("3", page.body_bytes) for size in (request_bytes, answer_bytes))
    if not page.is_new:
        return TransactionTraffic(
            transport="udp",
            sent=(),
            received=(),
            datagrams=_DATAGRAMS,
            sent_data_bytes=asked,
            received_data_bytes=answered,
        )
    asked, answered = asked + CONTROL_BYTES, answered + CONTROL_BYTES
    # The client's last datagram of the handshake has room for the first requests.
    room_bytes = LEAST_DATAGRAM_BYTES - handshake_datagrams(CHAIN_BYTES)[0][-1] - FIRST_STREAM_HEADER_BYTES
    first_bytes = min(asked, room_bytes)
    sent, received = handshake_datagrams(CHAIN_BYTES, FIRST_STREAM_HEADER_BYTES + first_bytes)
    return TransactionTraffic(
        transport="udp",
        sent=sent,
        received=received,
        datagrams=_DATAGRAMS,
        sent_data_bytes=asked - first_bytes,
        received_data_bytes=answered,
    )


def _filled_bytes(data_bytes: int) -> int:
    """The least payload of UDP with so much data of streams."""
    room_bytes = _DATAGRAMS.largest_bytes - _DATAGRAMS.header_bytes
    return data_bytes + -(-data_bytes // room_bytes) * _DATAGRAMS.header_bytes
