"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ..model.errors import WriteError
from .folder import Folder


def dumps(data: Any) -> str:
    """JSON without NaN or infinity, which would not be JSON. Raises `ValueError` on those."""
    return json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)


def write_file(path: Path, content: str | bytes) -> None:
    """Writes a file where the user says, whole or not at all. A link of that name is replaced by the file. Raises
    `WriteError`, leaving nothing behind."""
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write where the user says. It is there whole when the context ends; where an exception ends it, nothing
    is left behind. Raises `WriteError`."""
    try:
        folder = Folder.open(path.parent)
    except OSError as error:
        raise WriteError(f"writing {path}: {error.strerror or error}") from error
    with folder.replacing(path.name) as file:
        yield file


def make_parent(path: Path) -> None:
    """Makes the folder that a file is to be in, where it is not there yet. Raises `WriteError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"making the folder {path.parent}: {error.strerror or error}") from error
