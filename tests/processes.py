"""Processes as the kernel tells of them."""

from __future__ import annotations

import contextlib
from pathlib import Path


def children(pid: int) -> list[int]:
    """The processes that a process of one thread has started and not waited for. Raises `OSError` where it is gone."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def descendants(pid: int) -> set[int]:
    """The processes below a process, whichever of its threads started them. Those that end meanwhile may be missing."""
    below = set[int]()
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                below |= {int(word) for word in (thread / "children").read_text().split()}
    return below.union(*map(descendants, below))
