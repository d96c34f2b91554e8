"""Lines of text for a terminal: how they are folded, and what they are written to."""

from __future__ import annotations

import io
import textwrap

from rich.console import Console
from rich.table import Table
from rich.text import Text

from . import words


def console_of(text: io.StringIO, width: int, colour: bool) -> Console:
    """A console that writes into a text. Below 60 columns lines are folded as if there were 60."""
    return Console(
        file=text,
        width=max(60, width),
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )


def trimmed(text: io.StringIO) -> str:
    """Written text, without spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def paragraph(console: Console, text: str, style: str, indent: str = "") -> None:
    """Text that never ends a line between a number and its unit."""
    console.print(Text("\n".join(folded(text, console.width, indent, f"{indent}  ")), style=style), soft_wrap=True)


def folded(text: str, width: int, indent: str, further: str | None = None) -> list[str]:
    """Lines of a text; `further`: the indent from the second line on."""
    lines = textwrap.wrap(
        words.keep_together(words.one_line(text)),
        width,
        initial_indent=indent,
        subsequent_indent=indent if further is None else further,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace("\u00a0", " ") for line in lines or [""]]


def two_columns(first: int) -> Table:
    """A table without headings. `first`: the width of its first column."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("", width=first, no_wrap=True)
    table.add_column("", overflow="fold")
    return table
