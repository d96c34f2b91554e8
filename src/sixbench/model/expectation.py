"""The expectations that a workload itself declares, from the documents of its protocol. Pure.

`theory` makes values of them for a path: times out of round trips and out of the bytes of pages, bytes on each link out
of messages, and the goodput out of the size of datagrams.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Datagrams:
    """Data in datagrams that a protocol over UDP fills.

    Attributes:
        largest_bytes: the longest payload of UDP that the sender looks for; the path may take less.
        least_bytes: the shortest with which the protocol works.
        header_bytes: those of the protocol in each datagram, with authentication tags.
        may_be_joined: whether several go to the sender's kernel in one piece (UDP_SEGMENT).
    """

    largest_bytes: int
    least_bytes: int
    header_bytes: int
    may_be_joined: bool


@dataclass(frozen=True, kw_only=True)
class TransactionTraffic:
    """The least that one transaction puts on the wire: the payloads of UDP or TCP.

    Attributes:
        transport: what carries them.
        sent, received: the payload of each datagram, or the bytes that are written to a stream at a time, to the server
            and from it.
        connections: number of connections of TCP that it opens for itself, at least.
        datagrams: those that further data fill, as many as the path needs; None: there are none.
        sent_data_bytes, received_data_bytes: these data, without the headers of the protocol.
        answers: number of the server's answers in it.
    """

    transport: Literal["tcp", "udp"]
    sent: tuple[int, ...]
    received: tuple[int, ...]
    connections: int = 0
    datagrams: Datagrams | None = None
    sent_data_bytes: int = 0
    received_data_bytes: int = 0
    answers: int = 1


@dataclass(frozen=True, kw_only=True)
class Records:
    """Records in which a protocol carries the data of a stream.

    Attributes:
        data_bytes: the most data of one of them.
        header_bytes: those of each beside its data.
    """

    data_bytes: int
    header_bytes: int

    def total_bytes(self, data_bytes: int) -> int:
        """The least records with so much data."""
        return data_bytes + -(-data_bytes // self.data_bytes) * self.header_bytes


@dataclass(frozen=True, kw_only=True)
class PageRequest:
    """A request of a page, and its answer.

    Attributes:
        host: number of the host, which has connections of its own.
        after: index of the earlier request without whose answer it is not made; None: it waits for nothing.
        sent_bytes, received_bytes: the least bytes of the request and of the answer in a stream.
    """

    host: int
    after: int | None
    sent_bytes: int
    received_bytes: int


@dataclass(frozen=True, kw_only=True)
class PageRequests:
    """The requests of a page. They share connections, and some wait for the answers to others.

    Attributes:
        opening: round trips until a new connection takes requests; 0: connections are open.
        connections: the most of them to a host.
        streams: requests that one of them carries at the same time. Where that is one, each answer begins a packet.
        records: those in which the data of a connection are; None: there are none.
        datagrams: those that the data fill; None: TCP carries them.
    """

    requests: tuple[PageRequest, ...]
    opening: int
    connections: int
    streams: int
    records: Records | None = None
    datagrams: Datagrams | None = None


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """Declarations of a workload at one set of parameters. What is absent is not foretold.

    Attributes:
        round_trips: the least number of round trips that a time takes, by the prefix of its metrics.
        payloads: the least that a metric of bytes can be, by column.
        exchange: the traffic of a transaction.
        bulk: the datagrams of a bulk transfer.
        page: the requests of a page. Its time has the prefix `page` and that of its objects `object`; both have
            `round_trips` too.
    """

    round_trips: Mapping[str, int] = field(default_factory=dict)
    payloads: Mapping[str, int] = field(default_factory=dict)
    exchange: TransactionTraffic | None = None
    bulk: Datagrams | None = None
    page: PageRequests | None = None


NOTHING_FORETOLD = Expectation()
"""The expectation of a workload that declares none."""
