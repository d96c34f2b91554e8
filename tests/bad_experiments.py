"""Tables of experiments that are wrong, and of what is said of each: the files of `tests/golden/errors`.

A table has one subject. Its first part is the experiment that its cases change; each other part is a case:

    === base
    topology:
      ...
    === link-rate-bool
    -    - {endpoints: [r1, h2]}
    +    - {endpoints: [r1, h2], rate: true}
    >5: topology.links.1.rate: true is not a rate; write a number and a unit, such as 100Mbit

`-` is a line of the base that the case has not, `+` one that it has in its place, or at its end if it takes none away.
A line with a space before it stands as it is in the base; what follows it comes after it. `=b'...'` is a whole line of
a file that is written out, as Python writes bytes. `>` is a line of the text, without the file's name before it.
"""

from __future__ import annotations

import ast
import fcntl
import re
from dataclasses import dataclass
from pathlib import Path

HEADING = "=== "


@dataclass(frozen=True, kw_only=True)
class Case:
    """An experiment that is wrong: the content of its file, and what is said of it."""

    name: str
    content: bytes
    text: str

    @property
    def file_name(self) -> str:
        """The name that the text gives the file."""
        return f"{self.name}.yaml"


def read_cases(table: Path) -> list[Case]:
    """Reads a table. Raises `ValueError` for a line that is none of those above, or is not in the base."""
    (base_name, *base), *cases = _parts(table.read_text())
    if base_name != "base":
        raise ValueError(f"{table}: the first part is the base")
    return [_case(base, name, lines) for name, *lines in cases]


def update_text(table: Path, name: str, text: str) -> None:
    """Writes what is said of a case into its table."""
    with table.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        parts = _parts(file.read())
        for part in parts:
            if part[0] == name:
                part[1:] = [line for line in part[1:] if not line.startswith(">")] + _error_lines(name, text)
        file.seek(0)
        file.truncate()
        for heading, *lines in parts:
            file.writelines(f"{line}\n" for line in (HEADING + heading, *lines))


def _parts(table: str) -> list[list[str]]:
    return [part.splitlines() for part in f"\n{table}".split(f"\n{HEADING}")[1:]]


def _case(base: list[str], name: str, lines: list[str]) -> Case:
    change = [line for line in lines if not line.startswith(">")]
    actual_lines = [line[1:] for line in lines if line.startswith(">")]
    separators = [":" if _PLACE.match(line) else ": " for line in actual_lines]
    text = "".join(f"{name}.yaml{separator}{line}\n" for separator, line in zip(separators, actual_lines, strict=True))
    return Case(name=name, content=_content(base, change), text=text)


def _content(base: list[str], change: list[str]) -> bytes:
    if change and change[0].startswith("="):
        return b"".join(ast.literal_eval(line[1:]) for line in change)
    lines = list(base)
    place: int | None = None
    for line in change:
        kind, actual_line = line[:1], line[1:]
        if kind == "+":
            place = len(lines) if place is None else place
            lines.insert(place, actual_line)
            place += 1
        elif kind == "-":
            place = lines.index(actual_line, place or 0)
            del lines[place]
        elif kind == " ":
            place = lines.index(actual_line, place or 0) + 1
        else:
            raise ValueError(f"{line!r} is no line of a case")
    return "".join(f"{line}\n" for line in lines).encode()


_PLACE = re.compile(r"[1-9][0-9]*: ")


def _error_lines(name: str, text: str) -> list[str]:
    """The lines of a text without the file's name, which each begins with."""
    return [">" + re.sub(rf"\A{re.escape(name)}\.yaml(: |:(?=[1-9]))", "", line) for line in text.splitlines()]
