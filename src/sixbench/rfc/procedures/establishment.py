"""Maximum connection establishment rate (RFC 9693; RFC 8219 section 8.2 by RFC 3511 section 5.3).

A rate succeeds if every connection is established, and every one answers afterwards: then the table had all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...model.network import Network
from ...model.parameter import Scalar
from ...model.path import Path
from ...model.reason import ReasonKind
from ...model.trial import TrialRecord
from ..lengths import Lengths
from ..rfc_test import Ask, RfcPlace, RfcTest, Value, asked, summary
from ..searching import bisect, found_again
from ..state import keeps_state
from ..throughput import spoiled_by_tester

FIRST_PER_S = 1000
MOST_PER_S = 1_000_000
LEAST_COUNT = 100
"""Fewest connections that a rate is measured with."""
TIMEOUT_NS = 900_000_000
"""Lost datagrams of UDP are sent again after 1 s. A connection that needs that is not established."""


@dataclass(frozen=True, kw_only=True)
class ConnectionRate:
    """The end of a search.

    Attributes:
        per_s: the highest rate that succeeded. 0: none did.
        count: with how many connections: as many as asked for, or fewer where the device does not keep as many.
        is_testers: whether the tester could not offer the next higher one.
    """

    per_s: int
    count: int
    is_testers: bool


def _run(ask: Ask, place: RfcPlace) -> None:
    for _ in range(place.lengths.repetitions):
        _highest(ask, place)


def _highest(ask: Ask, place: RfcPlace) -> ConnectionRate:
    refused, count = list[int](), place.lengths.connections

    def succeeds(per_s: int) -> bool:
        record = asked(
            ask,
            {**transport(place), "count": count, "rate_per_s": per_s, "timeout_ns": TIMEOUT_NS},
            says_connections,
        )
        if record is None:
            refused.append(per_s)
            return False
        return all_alive(record)

    while not succeeds(FIRST_PER_S):
        count //= 2
        if refused or count < LEAST_COUNT:
            return ConnectionRate(per_s=0, count=0, is_testers=bool(refused))
    result = bisect(succeeds, 2 * FIRST_PER_S, MOST_PER_S, place.lengths.width)
    return ConnectionRate(per_s=max(FIRST_PER_S, result.highest), count=count, is_testers=result.lowest in refused)


def transport(place: RfcPlace) -> dict[str, Scalar]:
    """Kind of the connections: of UDP by RFC 9693, of TCP by RFC 3511."""
    return {"transport": "udp" if place.profile == "9693" else "tcp"}


def says_connections(record: TrialRecord) -> bool:
    """True if a trial says which connections the device made: also where it made none."""
    made_none = any(reason.kind is ReasonKind.NOTHING_ARRIVED for reason in record.reasons)
    return record.status == "ok" or (made_none and not spoiled_by_tester(record))


def all_alive(record: TrialRecord) -> bool:
    """True if all connections of a trial were established and answered at the end."""
    return record.status == "ok" and record.metrics.get("connections_alive_count") == record.params.get("count")


def rates(records: Sequence[TrialRecord], place: RfcPlace) -> list[ConnectionRate]:
    """The results of the recorded searches."""
    return list(found_again(_highest, records, place, place.lengths.repetitions))


def safe(place: RfcPlace) -> ConnectionRate | None:
    """Half of the lowest rate that the searches found, and the fewest connections, with which other tests establish
    connections. None: there is none."""
    results = [rate for rate in rates(place.before.get(TEST.name, []), place) if rate.per_s]
    if not results:
        return None
    per_s, count = min(rate.per_s for rate in results) // 2, min(rate.count for rate in results)
    return ConnectionRate(per_s=per_s, count=count, is_testers=False)


def _values(records: Sequence[TrialRecord], place: RfcPlace) -> list[Value]:
    results = rates(records, place)
    known = [float(rate.per_s) for rate in results if rate.per_s]
    remarks = []
    if results and not known:
        remarks.append(f"none at {FIRST_PER_S}/s")
    if any(rate.is_testers for rate in results):
        remarks.append("the tester was the limit")
    fewest = min((rate.count for rate in results if rate.per_s), default=place.lengths.connections)
    if fewest < place.lengths.connections:
        remarks.append(f"with {fewest} connections: more were not all kept at {FIRST_PER_S}/s")
    established = summary("connections established", "1/s", known, place=place, remark="; ".join(remarks))
    return [replace(established, is_testers=any(rate.is_testers for rate in results))]


def unfit(path: Path, network: Network) -> str | None:
    """The reason why tests of connections say nothing of a path."""
    return None if keeps_state(network) else "nothing on the path keeps state of connections"


def _shortened(lengths: Lengths) -> str:
    return f"{lengths.repetitions} searches with {lengths.connections} connections each"


TEST = RfcTest(
    name="establishment",
    title="Connection establishment rate",
    doc="the highest rate at which every connection is established, and answers afterwards",
    profiles=frozenset({"8219", "9693"}),
    lasts=lambda lengths: (12 * lengths.repetitions, lengths.connections / 5_000),
    shortened=_shortened,
    times=lambda lengths: lengths.repetitions,
    run=_run,
    values=_values,
    workload="connections",
    by_frame_size=False,
    unfit=unfit,
)
