"""Values of what a workload itself declares (`model.expectation`), for a path."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.expectation import Datagrams, Expectation
from ..model.headers import UDP
from ..model.network import Network
from ..model.topology import Link
from ..model.workload import WorkloadKind
from .exchanges import datagram_bytes, exchange_wire_bytes
from .fragmentation import NotPredicted, settle
from .limits import limit_bps, loses_at_random
from .pages import page_times_ns

STATISTICS = ("mean", "min", "p50", "p90", "p99")
"""The statistics of a time that are no less than the least time."""


def declared(kind: WorkloadKind, expectation: Expectation, network: Network, engine: str | None) -> dict[str, float]:
    """The bounds by column: the least of times and of bytes, and the most of goodput.

    A time is so many round trips of the path, whose time is the delays of its links in both directions. That of a page
    has the bytes besides, at the rates of the links. What the ends compute, what queues add and what congestion windows
    hold back comes on top. Nothing is given where a delay is drawn at random, where packets may overtake the delay,
    where there is none, and over a relay, whose two connections have round trips of their own.
    """
    values: dict[str, float] = {column: float(least) for column, least in expectation.payloads.items()}
    for prefix, least_ns in _least_times_ns(expectation, network, engine).items():
        columns = (f"{prefix}_{statistic}" for statistic in STATISTICS)
        values |= {f"{name}_ns": float(least_ns) for name in columns if name in kind.metrics and least_ns}
    if expectation.exchange is not None:
        values |= _wire(exchange_wire_bytes(expectation.exchange, network, engine))
    if expectation.bulk is not None:
        values |= _bulk(expectation.bulk, network, engine)
    return {column: values[column] for column in sorted(values)}


def _least_times_ns(expectation: Expectation, network: Network, engine: str | None) -> dict[str, int]:
    """The least times, by the prefix of their metrics."""
    round_trip_ns = path_round_trip_ns(network)
    if not round_trip_ns:
        return {}
    times_ns = {prefix: count * round_trip_ns for prefix, count in expectation.round_trips.items()}
    if expectation.page is not None:
        times_ns |= page_times_ns(expectation.page, network, engine, round_trip_ns)
    return times_ns


def _wire(by_link: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    """The bytes of a transaction on the link on which it has most."""
    if not by_link:
        return {}
    sent, received = zip(*by_link.values(), strict=True)
    return {"wire_sent_bytes": float(max(sent)), "wire_received_bytes": float(max(received))}


def path_round_trip_ns(network: Network) -> int | None:
    """The time of a round trip by the delays of the links. None: it is not known."""
    if len(network.parts) > 1:
        return None
    delays = [_constant_delay_ns(crossing.link) for crossing in network.crossings]
    known = [delay_ns for delay_ns in delays if delay_ns is not None]
    return sum(known) if len(known) == len(delays) else None


def _constant_delay_ns(link: Link) -> int | None:
    """The delays of both directions. None: they vary."""
    impairments = [direction.impairments for direction in link.directions]
    if any(item.jitter_ns or item.delays_ns or item.overtaking for item in impairments):
        return None
    return sum(item.delay_ns for item in impairments)


def _bulk(bulk: Datagrams, network: Network, engine: str | None) -> dict[str, float]:
    """The size of datagrams that the search for it ends with, and the most data per second in such ones."""
    size_bytes = None if len(network.parts) > 1 else datagram_bytes(bulk, network)
    if size_bytes is None:
        return {}
    values = {"datagram_size_bytes": float(size_bytes)}
    if not loses_at_random(network):
        try:
            settled = settle(network, UDP.size_bytes + size_bytes, "set", engine)[-1]
        except NotPredicted:
            return values
        goodput_bps = limit_bps(settled, size_bytes - bulk.header_bytes, may_be_joined=bulk.may_be_joined)
        values |= {} if goodput_bps is None else {"goodput_bps": goodput_bps}
    return values
