"""Hardware time stamps of frames through a real kernel: a driver of ours stamps them by a clock that is 37 s ahead.

No machine of ours has such hardware. The driver has what one has: a PTP clock, `ethtool -T`, SIOCSHWTSTAMP, stamps on
frames that come and on those that go. It is no hardware, so this says nothing of how exact any is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from guest.stamping_machine import kernel_with_driver, run_inside

from sixbench.guest import remove_kernel

AHEAD_NS = 37_000_123_456
WIRE_NS = 1000
ALL = [0, 1, 1]


@pytest.fixture(scope="module")
def stamping_results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    kernel = kernel_with_driver(tmp_path_factory.mktemp("kernel"))
    try:
        yield json.loads(run_inside(kernel)["told.json"])
    finally:
        remove_kernel(kernel.name)


def ends(record: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any], str]]:
    """Sender, receiver and the metrics' prefix of both directions."""
    yield record["client"]["forward_sender"], record["server"]["forward_receiver"], "one_way_delay"
    yield record["server"]["reverse_sender"], record["client"]["reverse_receiver"], "one_way_delay_reverse"


def test_what_the_machine_has_is_told(stamping_results: dict[str, Any]) -> None:
    by_interface = {item["interface"]: item for item in stamping_results["lendable"]}
    for name in ("eth1", "eth2"):
        assert by_interface[name]["hardware_clock"] == "/dev/ptp0"
        assert by_interface[name]["hardware_stamps"] == {"sends": True, "receives": True}
    assert by_interface["lo"]["hardware_stamps"] == {"sends": False, "receives": False}


def test_a_clock_that_is_ahead_is_found_to_be_so(stamping_results: dict[str, Any]) -> None:
    readings = stamping_results["clock"]["readings"]
    assert len(readings) == 25
    for before_ns, clock_ns, after_ns in readings:
        assert before_ns <= clock_ns - AHEAD_NS <= after_ns


def test_ptp_by_stamps_of_hardware_finds_how_far_the_clocks_are_apart(stamping_results: dict[str, Any]) -> None:
    """ptp4l at eth2 follows that at eth1, whose clock is ahead of the system's."""
    ptp = stamping_results["ptp"]
    assert ptp["reference"].endswith("(hardware timestamps)"), ptp
    assert ptp["low_ns"] <= -AHEAD_NS <= ptp["high_ns"]
    assert ptp["high_ns"] - ptp["low_ns"] < 10**6


def test_delays_are_between_stamps_of_one_clock(stamping_results: dict[str, Any]) -> None:
    run = stamping_results["one clock"]
    assert run["exit"] == 0, run["said"]
    assert [record["path"] for record in run["records"]] == ["ipv4", "ipv6"]
    for record in run["records"]:
        assert record["status"] == "ok", record["reasons"]
        assert record["params"]["hardware_stamps"] is True
        for sender, receiver, prefix in ends(record):
            sent, hardware_stamps = sender["hardware_stamps"], receiver["hardware_stamps"]
            assert (sent["clock"], hardware_stamps["clock"], sent["one_of"], hardware_stamps["one_of"]) == (0, 0, 1, 1)
            assert len(sent["after_ns"]) == sender["sent"] == 200
            assert None not in sent["after_ns"]
            assert None not in hardware_stamps["after_ns"]
            delays_ns = [
                hardware_stamps["from_ns"] + late - sent["from_ns"] - early
                for early, late in zip(sent["after_ns"], hardware_stamps["after_ns"], strict=True)
            ]
            # By two clocks they would be off by 37 s.
            assert WIRE_NS < min(delays_ns) <= max(delays_ns) < 10**8
            assert record["metrics"][f"{prefix}_mean_ns"] == pytest.approx(sum(delays_ns) / len(delays_ns))
            # By the system's clock the frames left 37 s before.
            assert sent["from_ns"] > record["started_realtime_ns"] + AHEAD_NS
        words = "one-way delay: 200 of 200 tagged frames have the hardware time stamps of"
        assert sum(note.startswith(words) for note in record["notes"]) == 2, record["notes"]


@pytest.mark.parametrize("name", ["one clock", "two clocks", "no stamps"])
def test_the_stamps_are_set_as_they_were_after_a_run(stamping_results: dict[str, Any], name: str) -> None:
    assert stamping_results[name]["before"] == stamping_results[name]["after"] == stamping_results["own"]


def test_the_stamps_are_set_as_they_were_after_a_run_that_is_killed(stamping_results: dict[str, Any]) -> None:
    assert stamping_results["killed"]["during"] == {"eth1": ALL, "eth2": ALL}
    assert stamping_results["killed"]["after"] == stamping_results["own"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("two clocks", "(/dev/ptp0) and eth2 (/dev/ptp1) have two clocks"),
        ("no stamps", "eth1 (/dev/ptp0) has stamped none of the 200 tagged frames that it sent"),
    ],
)
def test_where_hardware_says_nothing_the_kernel_does_and_the_trial_says_why(
    stamping_results: dict[str, Any], name: str, words: str
) -> None:
    run = stamping_results[name]
    assert run["exit"] == 0, run["said"]
    assert len(run["records"]) == 2
    for record in run["records"]:
        assert record["metrics"]["one_way_delay_p50_ns"] > 0
        assert any(words in note for note in record["notes"]), record["notes"]
