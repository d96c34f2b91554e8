"""Commands that an experiment brings, and the files that go with them. Pure; nothing here starts anything."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection

from .quoting import shown

MAX_COMMAND = 2000
MAX_FILES_CHARACTERS = 256_000
"""A request to an agent has at most 1 MiB."""
_FILE_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,64}")


def read_command(value: object, example: str) -> str:
    """The command, which is one line of a shell's words.

    Raises:
        ValueError: it is none. The message shows the example.
    """
    if not isinstance(value, str) or not value.isprintable() or len(value) > MAX_COMMAND:
        raise ValueError(f"{shown(value)} is not a command of one line, such as {example}")
    try:
        words = shlex.split(value)
    except ValueError as error:
        raise ValueError(f"{shown(value)} is not a command: {error}") from error
    if not words:
        raise ValueError("the command is empty")
    return value


def read_files(value: object, most: int, reserved: Collection[str] = ()) -> dict[str, str]:
    """The contents of files by their names. Their length together is left to who knows how they are written.

    Args:
        most: the largest number of files.
        reserved: names that the trial's own files have.

    Raises:
        ValueError: there are more, a name is no file's or reserved, or a content is not text.
    """
    if not isinstance(value, dict):
        raise ValueError(f"{shown(value)} is not a mapping of names of files to their content")
    if len(value) > most:
        raise ValueError(f"{len(value)} files are more than {most}")
    for name, content in value.items():
        if not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
            raise ValueError(f"{shown(name)} is not the name of a file: letters, digits, dots, dashes and underscores")
        if name in reserved:
            raise ValueError(f"{name} is the file of the trial's own; give another name")
        if not isinstance(content, str) or "\0" in content:
            raise ValueError(f"the content of {name} must be text, not {shown(content)}")
    return dict(value)


def require_room(characters: int) -> None:
    """Raises `ValueError` where files have more characters than a request has room for."""
    if characters > MAX_FILES_CHARACTERS:
        raise ValueError(f"the files have more than {MAX_FILES_CHARACTERS} characters together")
