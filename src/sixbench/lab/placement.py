"""Which processors the nodes of a path run on.

On a machine of few processors this decides more than anything else between round trips of 25 and of 130 us: where the
client and the server are on two processors, each message wakes one of them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..model.placement import Placement

PROCESSORS = Path("/sys/devices/system/cpu")


def siblings(processor: int, folder: Path = PROCESSORS) -> frozenset[int]:
    """The processors that share its core, itself included; itself alone where the kernel does not say."""
    with contextlib.suppress(OSError, ValueError):
        return frozenset(_numbers((folder / f"cpu{processor}/topology/thread_siblings_list").read_text()))
    return frozenset({processor})


def package(processor: int, folder: Path = PROCESSORS) -> int | None:
    """The socket that it is on; None where the kernel does not say."""
    with contextlib.suppress(OSError, ValueError):
        return int((folder / f"cpu{processor}/topology/physical_package_id").read_text())
    return None


def _numbers(text: str) -> Iterable[int]:
    """The numbers of a list such as `0-3,8`."""
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def processors_of(
    policy: Placement,
    nodes: Sequence[str],
    usable: Sequence[int],
    emulator: int | None = None,
    folder: Path = PROCESSORS,
) -> dict[str, tuple[int, ...]]:
    """The processors of each node.

    Args:
        policy: `together`: all on one. `apart`: the server on one, all others on another one, which shares the socket
            with it where there is such a one, but not the core. `free`: each on all of them.
        nodes: those of the path, from the client to the server.
        usable: the processors that there are, the best first.
        emulator: the processor of the emulator, which carries the packets of the links; nodes keep off it.
    """
    processors = [one for one in usable if one != emulator] or list(usable)
    if policy == "free" or len(usable) < 2 or (policy == "apart" and len(processors) < 2):
        return dict.fromkeys(nodes, tuple(sorted(usable)))
    first = processors[0]
    if policy == "together":
        return dict.fromkeys(nodes, (first,))
    own, socket = siblings(first, folder), package(first, folder)
    second = min(processors[1:], key=lambda one: (one in own, package(one, folder) != socket, processors.index(one)))
    return {node: (second if node == nodes[-1] else first,) for node in nodes}


def pin(pid: int, processors: Iterable[int], *, with_children: bool = False) -> bool:
    """Puts every thread of a process on these processors. Threads that they start follow. Returns whether the kernel
    did it for all.

    Args:
        pid: of the process.
        processors: their numbers.
        with_children: whether the processes that it has started go with it, such as tayga, which an agent starts.
    """
    wanted = set(processors)
    is_done = True
    for thread in _threads(pid, with_children):
        try:
            os.sched_setaffinity(thread, wanted)
        except ProcessLookupError:
            continue  # it has ended since
        except OSError:
            is_done = False
    return is_done


def _threads(pid: int, with_children: bool) -> Iterable[int]:
    """Those of a process, and of its descendants (proc_tid_children(5))."""
    tasks = Path(f"/proc/{pid}/task")
    try:
        threads = [int(name) for name in os.listdir(tasks)]
    except OSError:
        return
    for thread in threads:
        yield thread
        if with_children:
            with contextlib.suppress(OSError):  # it has ended since, or the kernel tells nobody's children
                for child in (tasks / str(thread) / "children").read_text().split():
                    yield from _threads(int(child), with_children)
