"""Tables of plain text."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], left: int, *, words_last: bool = False) -> str:
    """Columns as wide as their widest cell: the first `left` ones aligned left, and the last one if it has words."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    right = range(left, len(widths) - words_last)
    lines = (
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "".join(f"  {line.rstrip()}\n" for line in lines)
