"""Pages of docs that have measured figures between two marks: the rows of their tables, and putting them there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

END = "<!-- end of figures -->\n"


def put(page: Path, begin: str, figures: str) -> None:
    """Writes the figures into the page, between that mark and `END`."""
    before, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(before + begin + figures + END + rest.split(END)[1], encoding="utf-8")


def head(*names: str) -> str:
    """The first two lines of a table."""
    return f"{row(*names)}\n{'|---' * len(names)}|"


def row(*cells: object) -> str:
    """A line of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def measured_at(result: dict[str, Any]) -> str:
    """The date and the commit of a result."""
    run = result["run"]
    return f"{run['date']}, {(run['commit'] or 'unknown').removesuffix('-dirty')}"
