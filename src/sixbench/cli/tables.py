"""Tables of text."""

from __future__ import annotations

from collections.abc import Sequence

import typer


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 2, indent: int = 0) -> None:
    """Columns as wide as their widest cell: the first `left` ones aligned left, the others right."""
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    for row in [heads, *rows]:
        cells = (
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        typer.echo(" " * indent + "  ".join(cells).rstrip())
