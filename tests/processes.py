"""Processes as the kernel tells of them."""

from __future__ import annotations

from pathlib import Path


def children(pid: int) -> list[int]:
    """The processes that a process of one thread has started and not waited for. Raises `OSError` where it is gone."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
