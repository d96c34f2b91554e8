"""Processors of the nodes of a path.

On a machine of few processors this decides more than anything else between round trips of 25 and of 130 us: where the
client and the server are on two processors, each message wakes one of them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..model.placement import Placement
from .kernel_files import Read, numbers, read_here

PROCESSORS = Path("/sys/devices/system/cpu")


def siblings(processor: int, folder: Path = PROCESSORS, read: Read = read_here) -> frozenset[int]:
    """The processors that share its core, itself included; itself alone where the kernel does not say."""
    text = read(folder / f"cpu{processor}/topology/thread_siblings_list")
    with contextlib.suppress(ValueError):
        return frozenset({processor} if text is None else numbers(text))
    return frozenset({processor})


def package(processor: int, folder: Path = PROCESSORS, read: Read = read_here) -> int | None:
    """The socket that it is on; None where the kernel does not say."""
    text = read(folder / f"cpu{processor}/topology/physical_package_id")
    with contextlib.suppress(ValueError):
        return None if text is None else int(text)
    return None


def processors_of(
    policy: Placement,
    nodes: Sequence[str],
    usable: Sequence[int],
    emulator: int | None = None,
    *,
    has_server: bool = True,
    folder: Path = PROCESSORS,
    read: Read = read_here,
) -> dict[str, tuple[int, ...]]:
    """The processors of each node of one machine.

    Args:
        policy: `together`: all on one. `apart`: the server on one, all others on another one, which shares the socket
            with it where there is such a one, but not the core. `free`: each on all of them.
        nodes: those of the path that are on the machine, from the client to the server.
        usable: the processors that there are, the best first.
        emulator: the processor of the emulator, which carries the packets of the links; nodes keep off it.
        has_server: whether the last of the nodes is the server, which has nothing to keep apart from where it is alone.
        read: reads the machine's files.
    """
    processors = [number for number in usable if number != emulator] or list(usable)
    if policy == "free" or len(usable) < 2 or (policy == "apart" and len(processors) < 2):
        return dict.fromkeys(nodes, tuple(sorted(usable)))
    first = processors[0]
    if policy == "together" or not has_server or len(nodes) == 1:
        return dict.fromkeys(nodes, (first,))
    threads, socket = siblings(first, folder, read), package(first, folder, read)
    second = min(
        processors[1:],
        key=lambda number: (number in threads, package(number, folder, read) != socket, processors.index(number)),
    )
    return {node: (second if node == nodes[-1] else first,) for node in nodes}


def pin(pid: int, processors: Iterable[int]) -> bool:
    """Puts every thread of a process on these processors. Threads that they start follow. Returns whether the kernel
    did it for all."""
    wanted = set(processors)
    is_done = True
    for thread in _threads(pid):
        try:
            os.sched_setaffinity(thread, wanted)
        except ProcessLookupError:
            continue  # it has ended meanwhile
        except OSError:
            is_done = False
    return is_done


def _threads(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []
