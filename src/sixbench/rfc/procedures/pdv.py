"""Packet delay variation (RFC 8219 section 7.3.1): the 99.9th percentile of the delays less the least one."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.trial import TrialRecord
from ..rfc_test import Ask, RfcPlace, RfcTest, Value
from . import delays


def _run(ask: Ask, place: RfcPlace) -> None:
    delays.repeat(ask, place, {"duration_ns": round(place.lengths.variation_s * 1e9)})


def _values(records: Sequence[TrialRecord], place: RfcPlace) -> list[Value]:
    return delays.of_both_directions(records, place, (("PDV", "pdv_p999_ns", "pdv_reverse_p999_ns"),))


TEST = RfcTest(
    name="pdv",
    title="Packet delay variation",
    doc="spread of delays: the 99.9th percentile less the least one",
    profiles=frozenset({"8219"}),
    lasts=lambda lengths: delays.lasts(lengths, lengths.variation_s),
    shortened=lambda lengths: delays.in_words(lengths.repetitions, lengths.variation_s),
    times=lambda lengths: lengths.repetitions,
    run=_run,
    values=_values,
    needs=("throughput",),
)
