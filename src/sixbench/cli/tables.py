"""Tables of text."""

from __future__ import annotations

from collections.abc import Sequence

from .common import say


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 2, indent: int = 0) -> None:
    """Prints a table as `table_lines` makes it."""
    for line in table_lines(heads, rows, left):
        say(" " * indent + line)


def table_lines(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 2) -> list[str]:
    """Columns as wide as their widest cell. The first `left` columns are aligned left, the others right."""
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    lines = []
    for row in [heads, *rows]:
        cells = (
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return lines
