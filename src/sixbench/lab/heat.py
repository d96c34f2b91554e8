"""Causes of slow processors: heat, and the governor of their frequency
(Documentation/ABI/testing/sysfs-devices-system-cpu of Linux)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .kernel_files import Read, read_here

SYSFS = Path("/sys/devices/system/cpu")

_COUNTS = ("core_throttle_count", "package_throttle_count")


def throttle_counters(processors: Iterable[int], sysfs: Path = SYSFS) -> tuple[Path, ...]:
    """The files in which the kernel counts how often these processors, and the packages that they are in, were slowed
    down for heat. Empty where it does not count that, as on most virtual machines."""
    places = (sysfs / f"cpu{processor}" / "thermal_throttle" / name for processor in processors for name in _COUNTS)
    return tuple(place for place in places if place.exists())


def throttle_count(counters: Iterable[Path]) -> int | None:
    """The sum of these counters since the machine started. A package counts once for each of its processors. None
    where the kernel does not count it."""
    counts = [int(text) for text in map(read_here, counters) if text is not None and text.isdecimal()]
    return sum(counts) if counts else None


def governors(processors: Iterable[int], sysfs: Path = SYSFS, read: Read = read_here) -> tuple[str, ...]:
    """The governors of these processors' frequency, each once, such as `("performance",)`. Empty where there are
    none, as on most virtual machines."""
    names = {read(sysfs / f"cpu{processor}" / "cpufreq" / "scaling_governor") for processor in processors}
    return tuple(sorted(name for name in names if name is not None))
