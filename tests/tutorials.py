"""Steps of a tutorial for its reader: files to save and commands to run, in their order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

TUTORIALS = sorted((Path(__file__).parents[1] / "docs/tutorials").glob("*.md"))


@dataclass(frozen=True, kw_only=True)
class SavedFile:
    """A block such as ```` ```yaml NAME ````, which the reader saves under that name."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Command:
    """A line of a block ```` ```sh ````."""

    line: str


def steps(tutorial: Path) -> list[SavedFile | Command]:
    """The files and commands of a tutorial, in their order. Other blocks only show something."""
    steps: list[SavedFile | Command] = []
    for info, text in re.findall(r"^```([^\n]*)\n(.*?)^```$", tutorial.read_text(), re.DOTALL | re.MULTILINE):
        language, _, name = info.partition(" ")
        if language == "sh":
            steps += [Command(line=line) for line in text.splitlines()]
        elif name:
            steps.append(SavedFile(name=name, text=text))
    return steps
