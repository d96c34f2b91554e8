"""Tables of plain text, for reports and for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Align = Literal["left", "right"]

_BETWEEN = "  "


def aligned_lines(rows: Sequence[Sequence[str]], columns: Sequence[Align]) -> list[str]:
    """Lines in which each column is as wide as its widest cell. The first row may be the headings."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(columns))]
    lines = []
    for row in rows:
        cells = (
            cell.rjust(width) if align == "right" else cell.ljust(width)
            for cell, width, align in zip(row, widths, columns, strict=True)
        )
        lines.append(_BETWEEN.join(cells).rstrip())
    return lines


def aligned(rows: Sequence[Sequence[str]], columns: Sequence[Align]) -> str:
    """The same lines as a text, indented."""
    return "".join(f"  {line}\n" for line in aligned_lines(rows, columns))


def left_first(left: int, columns: int) -> list[Align]:
    """Alignments of a table whose first `left` columns are words, and whose others are numbers."""
    return ["left" if at < left else "right" for at in range(columns)]
