"""Connection tracking table capacity (RFC 9693), and concurrent connections (RFC 8219 section 8.1 by RFC 3511 section
5.2): number of connections that a device keeps at once.

They are established at half of the highest rate. A number succeeds if all of them answer at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.trial import TrialRecord
from ..rfc_test import Ask, RfcPlace, RfcTest, Value, asked, summary
from ..searching import Bisected, bisect, found_again
from . import establishment

FIRST = 500
LONGEST_S = 25
"""Time that establishing may take: Linux forgets a connection of UDP after 30 s without a packet."""


class _NotOffered(Exception):
    """The tester could not open so many connections at that rate."""


def _run(ask: Ask, place: RfcPlace) -> None:
    for _ in range(place.lengths.repetitions if establishment.safe(place) is not None else 0):
        _most(ask, place)


def _most(ask: Ask, place: RfcPlace) -> Bisected | None:
    """None: the tester could not do it."""
    safe = establishment.safe(place)
    assert safe is not None, "without a rate nothing is asked"

    def succeeds(count: int) -> bool:
        params = {**establishment.transport(place), "count": count, "rate_per_s": safe.per_s}
        record = asked(ask, {**params, "timeout_ns": establishment.TIMEOUT_NS}, establishment.says_connections)
        if record is None:
            raise _NotOffered
        return establishment.all_alive(record)

    try:
        return bisect(succeeds, FIRST, _limit(place, safe.per_s), place.lengths.width)
    except _NotOffered:
        return None


def _limit(place: RfcPlace, per_s: int) -> int:
    is_udp = establishment.transport(place)["transport"] == "udp"
    return min(place.lengths.most_connections, LONGEST_S * per_s) if is_udp else place.lengths.most_connections


def _values(records: Sequence[TrialRecord], place: RfcPlace) -> list[Value]:
    name, unit = "connections kept", "connections"
    safe = establishment.safe(place)
    if safe is None:
        why_not = "no establishment rate is known"
        return [Value(name=name, unit=unit, value=None, trials=0, remark=why_not)]
    results = [item for item in found_again(_most, records, place, place.lengths.repetitions) if item is not None]
    remark = _without_limit(results)
    if records and not results:
        remark = "the tester could not offer them"
    elif not remark and any(result.lowest is None for result in results):
        remark = f"at least: no more than {_limit(place, safe.per_s)} were tried"
    return [summary(name, unit, [float(result.highest) for result in results], place=place, remark=remark)]


def _without_limit(results: Sequence[Bisected]) -> str:
    """Checks whether so few connections failed in one search, and so many were kept in another one, that no table was
    the limit. A device that loses packets by chance, such as an emulated one on a busy machine, is like that."""
    failed = min((result.lowest for result in results if result.lowest is not None), default=None)
    kept = max((result.highest for result in results), default=0)
    if failed is None or failed > kept / 2:
        return ""
    return f"no limit of a table was found: one search lost some of {failed} connections, another kept all of {kept}"


TEST = RfcTest(
    name="capacity",
    title="Connection capacity",
    doc="number of connections that a device keeps at once",
    profiles=frozenset({"8219", "9693"}),
    lasts=lambda lengths: (12 * lengths.repetitions, lengths.most_connections / 20_000),
    shortened=lambda lengths: f"{lengths.repetitions} searches with up to {lengths.most_connections} connections",
    times=lambda lengths: lengths.repetitions,
    run=_run,
    values=_values,
    needs=("establishment",),
    workload="connections",
    by_frame_size=False,
    unfit=establishment.unfit,
)
