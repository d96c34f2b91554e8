"""Inter-packet delay variation (RFC 8219 section 7.3.2): the delay of a frame less that of the frame before it.

It is read from the trials of PDV, in which every frame counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...model.trial import TrialRecord
from ..rfc_test import RfcPlace, RfcTest, Value, summary
from . import delays, pdv

_ENDS = (("forward", "server", "forward_receiver"), ("reverse", "client", "reverse_receiver"))
_NAMES = (("least IPDV", "min_ns"), ("median IPDV", "p50_ns"), ("largest IPDV", "max_ns"))


def _values(records: Sequence[TrialRecord], place: RfcPlace) -> list[Value]:
    valid = [record for record in records if record.status == "ok"]
    remark = delays.remark_of(records, place)
    results = []
    for direction, side, end in _ENDS:
        signed = [entry for record in valid if (entry := _signed(getattr(record, side), end)) is not None]
        for name, key in _NAMES:
            values = [
                float(side_values[key]) for side_values in signed if isinstance(side_values.get(key), (int, float))
            ]
            called = f"{name}, {direction}"
            results.append(summary(called, "ns", values, place=place, rate_pps=place.throughput_pps, remark=remark))
    return results


def _signed(side: Mapping[str, Any], end: str) -> Mapping[str, Any] | None:
    receiver = side.get(end)
    result = receiver.get("ipdv_signed") if isinstance(receiver, Mapping) else None
    return result if isinstance(result, Mapping) else None


TEST = RfcTest(
    name="ipdv",
    title="Inter-packet delay variation",
    doc="differences between the delays of successive frames, from the trials of pdv",
    profiles=frozenset({"8219"}),
    lasts=lambda lengths: (0, 0.0),
    shortened=pdv.TEST.shortened,
    times=lambda lengths: lengths.repetitions,
    run=None,
    reads=pdv.TEST.name,
    values=_values,
    needs=("throughput", "pdv"),
)
