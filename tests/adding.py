"""Steps of `docs/adding.md` for its reader: files to make, changes of files that there are, commands to run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/adding.md"


@dataclass(frozen=True, kw_only=True)
class Section:
    """The section on one kind of thing.

    Attributes:
        files: those of the package and of crates that are made, by their paths.
        changes: what is changed, by path: each a text that stands in the file once, and what stands there afterwards.
        experiments: files of the reader's own.
        commands: to run in the end.
    """

    files: dict[str, str] = field(default_factory=dict)
    changes: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    experiments: dict[str, str] = field(default_factory=dict)
    commands: list[list[str]] = field(default_factory=list)


def sections() -> dict[str, Section]:
    """The sections that have steps, by their headings, in their order."""
    _, *parts = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    sections = {part.partition("\n")[0]: _section(part) for part in parts}
    return {heading: section for heading, section in sections.items() if section.commands}


def _section(text: str) -> Section:
    section = Section()
    for language, name, block in re.findall(r"^```(\w+) ?([^\n]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if language in ("python", "rust"):
            section.files[name] = block
        elif language == "diff":
            section.changes[name] = [_change(hunk) for hunk in block.split("@@\n")]
        elif language == "yaml":
            section.experiments[name] = block
        else:
            section.commands.extend(line.split() for line in block.splitlines())
    return section


def _change(hunk: str) -> tuple[str, str]:
    lines = hunk.splitlines(keepends=True)
    return tuple("".join(line[1:] for line in lines if line[0] in (" ", sign)) for sign in "-+")  # type: ignore[return-value]


def follow(section: Section, tree: Path) -> None:
    """Makes the files and changes of a section in a copy of the tree. Raises `AssertionError` where a change does not
    fit."""
    for name, text in section.files.items():
        assert not (tree / name).exists(), f"{name} is there already"
        (tree / name).write_text(text)
    for name, changes in section.changes.items():
        text = (tree / name).read_text()
        for before, after in changes:
            assert text.count(before) == 1, f"{name} does not have once:\n{before}"
            text = text.replace(before, after)
        (tree / name).write_text(text)
