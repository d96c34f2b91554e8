"""Limits on the size of an experiment, whatever its values come from: a file, its aliases, `--set`, `quick` or the
page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MAX_FILE_BYTES = 2**20
MAX_DEPTH = 40
"""The largest depth of nested values. The deepest of an experiment are 8 levels deep."""

MAX_VALUES = 100_000
MAX_CHARACTERS = 4 * MAX_FILE_BYTES
"""Text in all values together, aliases expanded: a few times what a file without aliases has."""

MAX_STEPS = 20
"""Steps of a dotted path: more than twice those to the deepest value of an experiment."""

MAX_DOTTED_CHARACTERS = 500
"""Length of a dotted path: twice that of the longest names which it may go through."""

MAX_TRIALS = 200_000
"""Trials of one experiment, up to the maximum of blocks."""

MAX_LOOKS = 500_000
"""Values that all dotted paths of one experiment may come by, `*` and positions in lists counted: some seconds."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size of a value: how many values it has with itself, how deep they are nested and how long their text is."""

    values: int
    depth: int
    characters: int


def size_of(value: Any) -> Size:
    """The size of a value that is not too deep."""
    if isinstance(value, dict):
        within = [size_of(item) for item in value.values()]
        characters = sum(map(len, value))
    elif isinstance(value, list):
        within, characters = [size_of(item) for item in value], 0
    else:
        return Size(values=1, depth=0, characters=len(value) if isinstance(value, str) else 0)
    return Size(
        values=1 + sum(size.values for size in within),
        depth=1 + max((size.depth for size in within), default=0),
        characters=characters + sum(size.characters for size in within),
    )


def too_large(values: int, characters: int) -> str | None:
    """The limit that an experiment of this size breaks, in words; None: it breaks none."""
    if values > MAX_VALUES:
        return f"there are more than {MAX_VALUES} values"
    if characters > MAX_CHARACTERS:
        return f"the values have more than {MAX_CHARACTERS} characters of text"
    return None
