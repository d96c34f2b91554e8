"""One-way delays of trials between two hosts: metrics with their uncertainty, and what is left out."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from sixbench.bench.clock_sources.link import flow_of
from sixbench.bench.one_way import corrected, leave_out_what_is_too_short, summarise_with
from sixbench.model.errors import CapabilityError
from sixbench.model.evidence import Evidence, evidence_from_json, evidence_to_json
from sixbench.model.evidence.clocks import ClockLook, TwoClocks
from sixbench.model.workload import TrialMeasurements
from sixbench.model.workloads import WORKLOADS
from sixbench.report.host_clocks import by_exchange
from sixbench.stats.two_clocks import Line, Offset

pytestmark = pytest.mark.computes

US, MS, SECOND_NS = 1000, 10**6, 10**9
AHEAD_NS = 5 * SECOND_NS
START_NS = 1_764_000_000 * SECOND_NS


def log(**columns: Any) -> dict[str, Any]:
    forms = {"sequence": "<u4", "payload_bytes": "<u2"}
    packed = {
        name: base64.b64encode(np.asarray(values, dtype=forms.get(name, "<u8")).tobytes()).decode()
        for name, values in columns.items()
    }
    return {**packed, "omitted": 0}


def results(delays_ns: list[int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Results of a flow whose receiver has a clock that is 5 s ahead."""
    count = len(delays_ns)
    sent = [START_NS + index * 20 * MS for index in range(count)]
    arrived = [at_ns + delay_ns + AHEAD_NS for at_ns, delay_ns in zip(sent, delays_ns, strict=True)]
    client = {
        "sent": count,
        "measured_ns": (count - 1) * 20 * MS,
        "packet_log": log(sent_realtime_ns=sent, payload_bytes=[172] * count),
    }
    server = {
        "unique": count,
        "lost_middle": 0,
        "lost_tail": 0,
        "duplicates": 0,
        "reordered": 0,
        "measured_bytes": (count - 1) * 172,
        "measured_ns": (count - 1) * 20 * MS,
        "one_way_delay_negative": 3,
        "one_way_delay": {"count": count, "min": AHEAD_NS, "buckets": [[AHEAD_NS, count]]},
        "pdv": {"count": count, "p50": SECOND_NS, "buckets": [[SECOND_NS, count]]},
        "packet_log": log(sequence=range(count), received_realtime_ns=arrived),
    }
    return client, server


def clocks(either_ns: int) -> tuple[Line, TwoClocks]:
    ends = [
        Offset(at_ns=START_NS + at_ns, low_ns=AHEAD_NS - either_ns, high_ns=AHEAD_NS + either_ns)
        for at_ns in (-SECOND_NS, 10 * SECOND_NS)
    ]
    looks = [
        ClockLook(realtime_ns=end.at_ns, client_ns=end.at_ns, low_ns=end.low_ns, high_ns=end.high_ns) for end in ends
    ]
    two = TwoClocks(client="lab1", server="lab2", before=looks[0], after=looks[1], low_ppm=-1.0, high_ppm=1.0)
    return Line(first=ends[0], last=ends[1], low_ppm=-1.0, high_ppm=1.0), two


def measured_of(delays_ns: list[int], either_ns: int) -> TrialMeasurements:
    client, server = results(delays_ns)
    line, two = clocks(either_ns)
    delays = corrected({}, client, server, line, two.half_width_ns)
    return summarise_with(WORKLOADS["voip"], {"datagram_bytes": 172}, client, server, delays, two)


def test_delays_are_by_both_clocks_and_uncertain_by_half_the_interval() -> None:
    measured = measured_of([10 * MS, 11 * MS, 12 * MS, 40 * MS, 90 * MS], 30 * US)
    assert measured.metrics["one_way_delay_min_ns"] == 10 * MS
    assert measured.metrics["one_way_delay_p50_ns"] == 12 * MS
    assert measured.uncertainty["one_way_delay_p50_ns"] == pytest.approx(30 * US + 12 * MS * 500e-6)
    assert measured.metrics["pdv_p50_ns"] == 2 * MS
    assert measured.uncertainty["pdv_p50_ns"] == pytest.approx(60 * US + 2 * MS * 500e-6)
    assert measured.metrics["mouth_to_ear_ns"] == 10 * MS + 60 * MS
    assert 0 < measured.uncertainty["mos_cqe"] < 0.01
    assert measured.metrics["playout_loss_ratio"] == pytest.approx(1 / 5)
    assert "goodput_bps" not in measured.uncertainty


def test_a_delay_that_is_no_longer_than_its_uncertainty_is_none() -> None:
    measured = measured_of([20 * US, 25 * US, 30 * US, 35 * US, 900 * US], 40 * US)
    assert "one_way_delay_p50_ns" not in measured.metrics
    assert "one_way_delay_p50_ns" not in measured.uncertainty
    assert measured.metrics["one_way_delay_p99_ns"] == 900 * US
    [note] = [note for note in measured.notes if "so short" in note]
    assert "one_way_delay_p50 (30 µs, uncertain by 40 µs)" in note


def test_without_any_delay_there_is_no_histogram() -> None:
    remaining = leave_out_what_is_too_short(
        TrialMeasurements(
            metrics={"one_way_delay_p50_ns": 5.0, "pdv_p50_ns": 9.0},
            uncertainty={"one_way_delay_p50_ns": 5.0, "pdv_p50_ns": 1.0},
            histograms={"one_way_delay": {}, "pdv": {}},
        )
    )
    assert (list(remaining.metrics), list(remaining.histograms)) == (["pdv_p50_ns"], ["pdv"])


def test_an_arrival_before_it_was_sent_says_that_a_clock_was_changed() -> None:
    client, server = results([10 * MS, -1 * MS])
    with pytest.raises(CapabilityError, match="arrived before it was sent, by 1 ms"):
        corrected({}, client, server, clocks(30 * US)[0], 30 * US)


def test_a_flow_that_is_not_noted_whole_is_not_known() -> None:
    client, server = results([MS])
    server["packet_log"]["omitted"] = 1
    with pytest.raises(CapabilityError, match="more datagrams than agents note"):
        flow_of(client, server)


def test_the_record_keeps_both_looks() -> None:
    evidence = Evidence(clocks=clocks(30 * US)[1])
    assert evidence_from_json(evidence_to_json(evidence)) == evidence


def test_the_last_look_is_carried_on_by_the_drift() -> None:
    two = clocks(30 * US)[1]
    low, high = by_exchange(two, two.after.realtime_ns + 10 * SECOND_NS)
    assert (low, high) == (AHEAD_NS - 40 * US, AHEAD_NS + 40 * US)
