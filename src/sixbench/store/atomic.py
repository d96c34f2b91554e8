"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ..model.errors import WriteError
from ..model.quoting import shown_path
from .folder import Folder, encoded


def dumps(data: Any) -> str:
    """JSON without NaN or infinity, which would not be JSON. Raises `ValueError` on those."""
    return json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)


def write_file(path: Path, content: str | bytes) -> None:
    """Writes a file that the user names, as `replacing` does. Raises `WriteError`, leaving nothing behind."""
    with replacing(path) as file:
        file.write(encoded(content))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write where the user says. This is the one way in which commands write what their user names.

    A regular file, or one that is not there yet, is there whole when the context ends. Where an exception ends it,
    nothing is left behind, and what was there stays. To a FIFO, a character device, or an open descriptor of this
    process (`/dev/fd/3`), the bytes are written as they come. Anything else is refused: a symbolic link, a directory, a
    socket, a block device. Raises `WriteError`.
    """
    try:
        folder = Folder.open(path.parent)
        what = folder.kind(path.name)
        stream = _own_descriptor(path) if what == "a symbolic link" else None
        if stream is None and what in _WRITTEN_TO:
            stream = folder.open_to_write_through(path.name)
    except OSError as error:
        raise WriteError(f"writing {shown_path(path)}: {error.strerror or error}") from error
    if stream is not None:
        with _telling(path), open(stream, "wb") as file:
            yield file
    elif what in (None, "a file"):
        with folder.replacing(path.name) as file:
            yield file
    else:
        raise WriteError(f"writing {shown_path(path)}: it is {what}; name a file, a FIFO or a character device")


_WRITTEN_TO = ("a FIFO", "a character device")


def _own_descriptor(path: Path) -> int | None:
    """A copy of the descriptor of this process that a path such as `/dev/fd/3` names, as shells make them for `>(...)`;
    None for any other path. Raises `OSError`."""
    is_one = os.path.realpath(path.parent) == f"/proc/{os.getpid()}/fd" and path.name.isdecimal()
    return os.dup(int(path.name)) if is_one else None


@contextlib.contextmanager
def _telling(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise WriteError(f"writing {shown_path(path)}: {error.strerror or error}") from error


def create_file(path: Path, content: str, mode: int = 0o666) -> None:
    """Writes a file that must not be there yet, whole or not at all. Raises `FileExistsError` where there is anything
    of that name, and `WriteError`.

    Args:
        mode: its permissions, less the umask.
    """
    try:
        folder = Folder.open(path.parent)
    except OSError as error:
        raise WriteError(f"writing {shown_path(path)}: {error.strerror or error}") from error
    folder.create(path.name, content, mode)


def write_into(directory: Path, files: Mapping[str, str | bytes]) -> list[Path]:
    """Writes files into a folder that the user names, which may not be a link, under names that sixbench gives them,
    each whole or not at all. A link or a FIFO of such a name is replaced and never opened. Returns their paths. Raises
    `WriteError`."""
    try:
        folder = Folder.open(directory, follow_links=False)
    except OSError as error:
        raise WriteError(f"writing into {shown_path(directory)}: {error.strerror or error}") from error
    for name, content in files.items():
        folder.write(name, content)
    return [directory / name for name in files]


def make_parent(path: Path) -> None:
    """Makes the folder that a file is to be in, where it is not there yet. Raises `WriteError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"making the folder {shown_path(path.parent)}: {error.strerror or error}") from error
