"""A throw-away host: namespaces in which everything that is left over can be seen and counted.

The first process of a host is this program. Orphans become its children, so nothing hides from the inventory.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from . import bpf

SETTLING_S = 10.0
"""The most time that the kernel may take to remove what a killed process had."""

_MOUNTS = (("tmpfs", "/run"), ("tmpfs", "/dev/shm"), ("bpf", "/sys/fs/bpf"))
LOCKS = Path("/run/sixbench")
"""The folder of root's locks, which stays. Files in it do not."""

_OF_THE_KERNEL = {"maps.debug", "progs.debug"}
"""Files that the kernel puts into a fresh BPF file system."""


def words_inside(arguments: list[str]) -> list[str]:
    """The command that runs this program again as the first process of a new host."""
    mounts = " && ".join(f"mount -t {kind} none {place}" for kind, place in _MOUNTS)
    script = f'{mounts} && ip link set lo up && exec "$0" "$@"'
    # A host that lost the program that asked for it would go on for hours.
    unshare = ["setpriv", "--pdeathsig", "KILL"]
    unshare += ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return [*unshare, "sh", "-c", script, sys.executable, "-m", "endurance", *arguments]


def words_beside(arguments: list[str]) -> list[str]:
    """The command that runs it again without a host of its own."""
    return ["setpriv", "--pdeathsig", "TERM", sys.executable, "-m", "endurance", *arguments]


def left_over(before: Counter[str], scratch: Path) -> list[str]:
    """Things that are there and were not there before, once nothing changes any more: processes, interfaces, named
    namespaces, files in /run, /dev/shm and the scratch folder, and BPF pins."""
    deadline = time.monotonic() + SETTLING_S
    while elements := list((inventory(scratch) - before).elements()):
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return sorted(elements)


def inventory(scratch: Path) -> Counter[str]:
    """Processes, interfaces, namespaces, files and BPF pins that this host has."""
    return Counter(
        [
            *(f"process {name}" for _, name in processes()),
            *(f"interface {name}" for _, name in socket.if_nameindex()),
            *(f"namespace {line.split()[4]}" for line in _lines("/proc/self/mountinfo") if " - nsfs " in line),
            *_files("/run", {LOCKS.name}),
            *_files("/dev/shm", ()),
            *_files(str(scratch), ()),
            *_files("/sys/fs/bpf", _OF_THE_KERNEL),
        ]
    )


def processes() -> list[tuple[int, str]]:
    """Every process but this one, with its name; those that have ended and were not waited for are none."""
    processes = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            name, _, rest = (entry / "stat").read_text(errors="replace").partition("(")[2].rpartition(")")
        except OSError:
            continue
        if not rest.startswith(" Z"):
            processes.append((int(entry.name), name))
    return processes


def namespaces() -> int:
    """The network namespaces of this host's processes, and those that are held by a name."""
    held = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                held.add(os.readlink(entry / "ns/net"))
            except OSError:
                continue
    return len(held) + sum(" - nsfs " in line for line in _lines("/proc/self/mountinfo"))


def bpf_objects() -> dict[str, int]:
    """Programs, maps and links of the whole machine: BPF knows no namespaces."""
    return {"programs": bpf.count(bpf.PROGRAMS), "maps": bpf.count(bpf.MAPS), "links": bpf.count(bpf.LINKS)}


def _files(place: str, expected: Iterable[str]) -> list[str]:
    top = Path(place)
    return [f"file {path}" for path in top.rglob("*") if path.name not in set(expected)] if top.is_dir() else []


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines()
