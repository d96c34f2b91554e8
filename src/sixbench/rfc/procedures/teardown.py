"""Connection tear-down rate (RFC 9693): rate at which a device forgets all of its connections on command."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.network import Network
from ...model.path import Path
from ...model.trial import TrialRecord
from ..rfc_test import Ask, RfcPlace, RfcTest, Value, asked, summary
from . import establishment


def _run(ask: Ask, place: RfcPlace) -> None:
    safe = establishment.safe(place)
    if safe is None:
        return
    params = {**establishment.transport(place), "count": safe.count, "rate_per_s": safe.per_s}
    for _ in range(place.lengths.repetitions):
        if asked(ask, params) is None:
            return


def _values(records: Sequence[TrialRecord], place: RfcPlace) -> list[Value]:
    name = "teardown_rate_per_s"
    rates = [record.metrics[name] for record in records if record.status == "ok" and name in record.metrics]
    remark = "" if rates else "no establishment rate is known" if not records else "the kernel does not report the time"
    return [summary("connections torn down", "1/s", rates, place=place, remark=remark)]


def _unfit(path: Path, network: Network) -> str | None:
    return None if network.tracking else "Linux tracks no connections on the path"


TEST = RfcTest(
    name="teardown",
    title="Connection tear-down rate",
    doc="rate at which a device forgets all of its connections on command",
    profiles=frozenset({"9693"}),
    lasts=lambda lengths: (lengths.repetitions, lengths.connections / 5_000),
    shortened=lambda lengths: f"{lengths.repetitions} times {lengths.connections} connections",
    times=lambda lengths: lengths.repetitions,
    run=_run,
    values=_values,
    needs=("establishment",),
    workload="connections",
    by_frame_size=False,
    unfit=_unfit,
)
