"""Files in which a kernel tells of its machine: of this one, or as another one's were read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Read = Callable[[Path], str | None]
"""Gives what is in a file, without white space at both ends; None where there is none, or it tells nothing."""


def read_here(file: Path) -> str | None:
    """Content of a file of this machine."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:  # the processor is offline, or the machine lacks the file
        return None


def numbers(text: str) -> list[int]:
    """Those of a list such as `0-3,8`. Raises `ValueError`."""
    results: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        results.extend(range(int(first), int(last or first) + 1))
    return results
