"""Hardware time stamps of frames: the delays that follow, when there are none, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError
from stored import bare_record

from sixbench.bench.workloads import performer_of
from sixbench.model.trial import TrialRecord
from sixbench.model.workload import Result
from sixbench.model.workloads import WORKLOADS
from sixbench.model.workloads.frames_results import HardwareStamps
from sixbench.model.workloads.frames_stamps import Stamped, stamps_of
from sixbench.rfc.lengths import FULL
from sixbench.rfc.procedures import TESTS
from sixbench.rfc.rfc_test import RfcPlace, Value

from sixbench.mechanisms import MECHANISMS, install  # isort: skip

from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

PARAMS = {"frame_bytes": 64, "rate_pps": 1000, "count": 10}
LATENESS = {"count": 10, "buckets": [[5000, 10]], "min": 5000, "max": 5000, "mean": 5000.0, "stdev": 0.0}
TIMES = LATENESS | {"p50": 5000, "p90": 5000, "p99": 5000, "p999": 5000}
SENT: Result = {"sent": 10, "due": 10, "measured_ns": 9_000_000, "lateness": TIMES, "inter_frame_error": TIMES}
COUNTED = {"unique": 10, "duplicates": 0, "reordered": 0, "corrupt": 0, "late": 0, "ring_drops": 0, "lost_middle": 0}
STAMPED_FRAMES: Result = COUNTED | {
    "measured_bytes": 162,
    "measured_ns": 9_000_000,
    "one_way_delay": TIMES,
    "pdv": TIMES,
}
TAI_NS = 1_800_000_037 * 10**9
"""A clock of hardware is not that of the system: mixed up, they are 37 s apart."""
LEFT = {"interface": "eth1", "clock": 0, "one_of": 3, "from_ns": TAI_NS, "after_ns": [0, 3_000_000, None, 9_000_000]}
ARRIVED = LEFT | {"interface": "eth2", "from_ns": TAI_NS + 700, "after_ns": [0, None, 6_000_000, 9_000_100]}


def stamped(sent: dict[str, Any], arrived: dict[str, Any]) -> tuple[Result, Result]:
    """The results of both ends, with what they have of stamps."""
    return {**SENT, "hardware_stamps": LEFT | sent}, {**STAMPED_FRAMES, "hardware_stamps": ARRIVED | arrived}


def test_a_delay_is_between_two_stamps_of_one_clock() -> None:
    stamps = stamps_of(*stamped({}, {}))
    assert isinstance(stamps, Stamped)
    assert (stamps.tagged, stamps.delays_ns) == (4, [700, 800])
    measured = WORKLOADS["frames"].summarise(PARAMS, *stamped({}, {}))
    assert measured.metrics["one_way_delay_mean_ns"] == 750
    assert measured.metrics["one_way_delay_p999_ns"] == 800
    assert measured.histograms["one_way_delay"]["buckets"] == [[700, 1], [800, 1]]
    # Of all frames, by the clock of the system.
    assert measured.metrics["pdv_p999_ns"] == 5000
    words = "one-way delay: 2 of 4 tagged frames have the hardware time stamps of eth1 (/dev/ptp0) and eth2 (/dev/ptp0)"
    assert words in measured.notes


@pytest.mark.parametrize(
    ("sent", "arrived", "words"),
    [
        ({}, {"clock": 1}, "eth1 (/dev/ptp0) and eth2 (/dev/ptp1) have two clocks"),
        ({}, {"one_of": 4}, "the two ends have tagged different frames"),
        ({"from_ns": None, "after_ns": [None] * 4}, {}, "eth1 (/dev/ptp0) has stamped none of the 4 tagged frames"),
    ],
)
def test_where_hardware_says_nothing_delays_are_by_the_system_and_the_trial_says_why(
    sent: dict[str, Any], arrived: dict[str, Any], words: str
) -> None:
    ends = stamped(sent, arrived)
    for end in ends:
        end["hardware_stamps"] = {k: v for k, v in end["hardware_stamps"].items() if v is not None}  # type: ignore[index]
    measured = WORKLOADS["frames"].summarise(PARAMS, *ends)
    assert measured.metrics["one_way_delay_p50_ns"] == 5000
    assert any(note.startswith(f"no hardware time stamps: {words}") for note in measured.notes), measured.notes


@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_an_interface_that_does_not_stamp_says_why(side: str) -> None:
    refused = {"hardware_stamps_refused": "veth0: it stamps no frames by hardware"}
    sent, arrived = (SENT | refused, STAMPED_FRAMES) if side == "sender" else (SENT, STAMPED_FRAMES | refused)
    measured = WORKLOADS["frames"].summarise(PARAMS, sent, arrived)
    assert measured.metrics["one_way_delay_p50_ns"] == 5000
    words = f"no hardware time stamps: veth0: it stamps no frames by hardware (at the {side})"
    assert words in measured.notes


def test_who_was_not_asked_for_stamps_says_nothing_of_them() -> None:
    assert stamps_of(SENT, STAMPED_FRAMES) is None
    assert not [note for note in WORKLOADS["frames"].summarise(PARAMS, SENT, STAMPED_FRAMES).notes if "stamp" in note]


def test_missing_stamps_are_missing_and_no_other_clock_stands_in_for_them() -> None:
    sent, arrived = stamped({}, {})
    arrived["hardware_stamps"] = {k: v for k, v in ARRIVED.items() if k != "from_ns"} | {"after_ns": [None] * 4}  # type: ignore[index]
    measured = WORKLOADS["frames"].summarise(PARAMS, sent, arrived)
    assert not [name for name in measured.metrics if name.startswith("one_way_delay")]
    assert any(note.startswith("one-way delay: 0 of 4 tagged frames") for note in measured.notes)


def test_a_clock_that_was_set_back_gives_no_delay() -> None:
    measured = WORKLOADS["frames"].summarise(PARAMS, *stamped({}, {"from_ns": TAI_NS - 1}))
    assert "one_way_delay_p50_ns" not in measured.metrics
    words = "no one-way delay: the clock of eth1 (/dev/ptp0) and eth2 (/dev/ptp0) was set during the trial"
    assert words in measured.notes


@pytest.mark.parametrize(
    "change", [{"from_ns": "0"}, {"one_of": 0}, {"clock": -1}, {"after_ns": [0] * 2001}, {"after_ns": ["0"]}]
)
def test_stamps_of_another_form_are_refused(change: dict[str, Any]) -> None:
    HardwareStamps.model_validate(LEFT)
    without = {key: value for key, value in LEFT.items() if key != "from_ns"}
    HardwareStamps.model_validate(without | {"after_ns": [None]})
    with pytest.raises(ValidationError, match="from no time on"):
        HardwareStamps.model_validate(without)
    with pytest.raises(ValidationError):
        HardwareStamps.model_validate(LEFT | change)


def test_agents_are_told_to_stamp_frames_at_equipment_alone() -> None:
    text = "dut: {ports: [eth1, eth2], description: x}\nworkloads: [ping]\n"
    other = "dut: forwarding\nworkloads: [ping]\n"
    for given, output in ((text, {"hardware_stamps": True}), (other, {})):
        experiment = read_experiment(parse_yaml(given, "x.yaml"), MECHANISMS)
        path = experiment.paths[0]
        network = install(path, experiment.topologies[0], experiment.between)
        assert performer_of(WORKLOADS["frames"]).prepare(path, network, {}).params == output
        assert performer_of(WORKLOADS["ping"]).prepare(path, network, {}).params == {}


def latencies(*records: TrialRecord) -> dict[str, Value]:
    place = RfcPlace(profile="8219", frame_bytes=64, line_pps=None, tester_pps=None, throughput=None, lengths=FULL)
    return {value.name: value for value in TESTS["latency"].values(records, place)}


def test_a_latency_names_its_stamps_and_is_never_of_both_kinds() -> None:
    by_system = bare_record("frames", metrics={"one_way_delay_p50_ns": 5000.0}, client=SENT, server=STAMPED_FRAMES)
    sent, arrived = stamped({}, {})
    by_hardware = replace(by_system, metrics={"one_way_delay_p50_ns": 700.0}, client=sent, server=arrived)
    latency = latencies(by_system, by_hardware)["typical latency, forward"]
    assert (latency.value, latency.trials, latency.stamped) == (700.0, 1, 2)
    words = "hardware time stamps of eth1 (/dev/ptp0) and eth2 (/dev/ptp0), of at least 2 frames a trial"
    assert words in latency.remark
    latency = latencies(by_system)["typical latency, forward"]
    assert (latency.value, latency.stamped) == (5000.0, None)
    assert "stamp" not in latency.remark
