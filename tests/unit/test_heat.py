"""Reasons for slow processors, out of a copy of sysfs."""

from __future__ import annotations

from pathlib import Path

import pytest

from sixbench.lab.heat import governors, throttle_count, throttle_counters

pytestmark = pytest.mark.computes


def write(sysfs: Path, name: str, text: str) -> None:
    file = sysfs / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_counts_of_the_processors_that_are_asked_for_are_added_up(tmp_path: Path) -> None:
    write(tmp_path, "cpu0/thermal_throttle/core_throttle_count", "3\n")
    write(tmp_path, "cpu0/thermal_throttle/package_throttle_count", "4\n")
    write(tmp_path, "cpu1/thermal_throttle/core_throttle_count", "50\n")
    write(tmp_path, "cpu2/thermal_throttle/core_throttle_count", "600\n")
    assert throttle_count(throttle_counters((0, 1), tmp_path)) == 57
    assert throttle_count(throttle_counters((0, 7), tmp_path)) == 7


def test_a_machine_that_counts_nothing_is_not_told_as_cool(tmp_path: Path) -> None:
    assert throttle_count(throttle_counters((0, 1), tmp_path)) is None
    write(tmp_path, "cpu0/thermal_throttle/core_throttle_count", "0\n")
    assert throttle_count(throttle_counters((0, 1), tmp_path)) == 0


def test_each_governor_is_named_once(tmp_path: Path) -> None:
    assert governors((0, 1), tmp_path) == ()
    for processor, governor in enumerate(("powersave", "performance", "powersave", "userspace")):
        write(tmp_path, f"cpu{processor}/cpufreq/scaling_governor", f"{governor}\n")
    assert governors((0, 1, 2), tmp_path) == ("performance", "powersave")
