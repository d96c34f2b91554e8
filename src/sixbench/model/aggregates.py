"""Prefixes that stand for several that lie side by side."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network

Prefix = IPv4Network | IPv6Network


@dataclass(frozen=True, kw_only=True)
class PrefixBlock:
    """A prefix as numbers.

    Attributes:
        is_apart: no other prefix lies within it, nor it within another.
    """

    base: int
    length: int
    prefix: Prefix
    is_apart: bool


class Aggregates:
    """The fewest prefixes that cover some of the blocks in a list, and nothing else (RFC 4632 section 5.1)."""

    def __init__(self, blocks: Sequence[PrefixBlock], bits: int) -> None:
        """`blocks` by address; `bits` are those of an address."""
        self._blocks, self._bits = blocks, bits
        self._starts = [
            place
            for place, block in enumerate(blocks)
            if place == 0 or not _continues(blocks[place - 1], block, self._bits)
        ]
        self._known: dict[tuple[int, int], Prefix] = {(block.base, block.length): block.prefix for block in blocks}

    def of(self, first: int, end: int) -> Iterator[Prefix]:
        """The prefixes of the blocks from the place `first` to the one before `end`."""
        while first < end:
            at = bisect_right(self._starts, first)
            stretch_end = min(end, self._starts[at]) if at < len(self._starts) else end
            yield from self._stretch(first, stretch_end)
            first = stretch_end

    def _stretch(self, first: int, end: int) -> Iterator[Prefix]:
        """The same where no address is missing in between."""
        base, last = self._blocks[first].base, self._blocks[end - 1]
        if first + 1 == end:
            yield last.prefix
            return
        beyond = last.base + (1 << self._bits - last.length)
        while base < beyond:
            aligned = (base & -base).bit_length() - 1 if base else self._bits
            room = (beyond - base).bit_length() - 1
            size = min(aligned, room)
            yield self._network(base, self._bits - size)
            base += 1 << size

    def _network(self, base: int, length: int) -> Prefix:
        known = self._known.get((base, length))
        if known is None:
            known = IPv4Network((base, length)) if self._bits == 32 else IPv6Network((base, length))
            self._known[base, length] = known
        return known


def _continues(before: PrefixBlock, block: PrefixBlock, bits: int) -> bool:
    return before.is_apart and block.is_apart and before.base + (1 << bits - before.length) == block.base
