"""Tables that commands print."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.aligned import aligned_lines, left_first
from .common import say


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 2, indent: int = 0) -> None:
    """Prints a table. The first `left` columns are aligned left, the others right."""
    for line in aligned_lines([heads, *rows], left_first(left, len(heads))):
        say(" " * indent + line)
