"""Order in which contenders run: pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def mirrored(items: Sequence[Item], round_: int) -> Iterator[Item]:
    """The items of a round: every second round has the reverse order of the one before it, so that what being first or
    last does to a value cancels over two rounds."""
    return iter(items if round_ % 2 == 0 else items[::-1])
