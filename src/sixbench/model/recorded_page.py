"""A page as a HAR file has it: hosts, sizes, order and dependencies, and no contents."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from .leb128 import encode

MAX_OBJECTS = 2000
MAX_HOSTS = 200
MAX_OBJECT_BYTES = 2**30
"""The agent's limits."""


@dataclass(frozen=True, kw_only=True)
class PageObject:
    """An object of a page.

    Attributes:
        host: number of its host, from 0 in the order of their first objects.
        body_bytes: length of its body.
        after: index of the earlier object without which it is not asked for; None: it waits for nothing.
    """

    host: int
    body_bytes: int
    after: int | None


@dataclass(frozen=True, kw_only=True)
class RecordedPage:
    """The part of a HAR file that the agent gets.

    Attributes:
        objects: in the order in which they were asked for.
        skipped: entries of the file that have no answer, or did not come by HTTP.
        sha256: of the file.
    """

    objects: tuple[PageObject, ...]
    skipped: int
    sha256: str

    @property
    def encoded(self) -> str:
        """The text for the agent: three numbers for each object (docs/protocol.md)."""
        return encode(number for index, item in enumerate(self.objects) for number in _numbers(index, item))

    def connections(self, at_once: int) -> int:
        """Number of connections where a host has so many at most, and no more than objects."""
        return sum(min(at_once, objects) for objects in Counter(item.host for item in self.objects).values())


def _numbers(index: int, item: PageObject) -> tuple[int, int, int]:
    return item.host, item.body_bytes, 0 if item.after is None else index - item.after
