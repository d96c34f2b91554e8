"""Latency (RFC 2544 section 26.2, RFC 8219 section 7.2), at the throughput rate.

Every frame has a time stamp, so that those after the first 60 s are all tagged ones. The times are those of a packet
socket that sends a frame and of the kernel that receives it, as RFC 1242 section 3.8 has them for devices that store
and forward. Where the interfaces of both hosts stamp frames by one hardware clock, they are those of the interfaces, of
the frames that have both stamps.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.trial import TrialRecord
from ..rfc_test import MEAN_PROFILES, Ask, RfcPlace, RfcTest, Value
from . import delays

LEAST_TAGGED = 500
"""RFC 8219 section 7.2."""

_OF_2544 = (("latency", "one_way_delay_mean_ns", "one_way_delay_reverse_mean_ns"),)
_OF_8219 = (
    ("typical latency", "one_way_delay_p50_ns", "one_way_delay_reverse_p50_ns"),
    ("worst case latency", "one_way_delay_p999_ns", "one_way_delay_reverse_p999_ns"),
)


def _run(ask: Ask, place: RfcPlace) -> None:
    lengths = place.lengths
    delays.repeat(
        ask,
        place,
        {"warmup_ns": round(lengths.latency_before_s * 1e9), "duration_ns": round(lengths.latency_s * 1e9)},
    )


def _values(records: Sequence[TrialRecord], place: RfcPlace) -> list[Value]:
    quantities = _OF_2544 if place.profile in MEAN_PROFILES else _OF_8219
    return delays.of_both_directions(records, place, quantities, may_be_stamped=True)


TEST = RfcTest(
    name="latency",
    title="Latency",
    doc="delay of frames at the throughput rate: typical and worst case",
    profiles=frozenset({"2544", "5180", "8219"}),
    lasts=lambda lengths: delays.lasts(lengths, lengths.latency_before_s + lengths.latency_s),
    shortened=lambda lengths: delays.in_words(lengths.repetitions, lengths.latency_before_s + lengths.latency_s),
    times=lambda lengths: lengths.repetitions,
    run=_run,
    values=_values,
    needs=("throughput",),
)
