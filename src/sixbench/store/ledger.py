"""The trials that a run recorded, by the hashes of their files.

The manifest has the hashes. While a run goes on, they are in a journal beside it, so that a trial costs one line and
not a manifest. They tell which trials are missing, copied or changed. They do not protect against someone
who changes the hashes as well.
"""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Callable, Mapping
from hashlib import sha256

from ..model.errors import StoreError, WriteError
from .folder import Folder

Hashes = dict[str, str]
"""SHA-256 of the files of a trial, by their names, in hexadecimal."""

JOURNAL = "accepted.jsonl"
MAX_JOURNAL_BYTES = 2**28


def hashes_of(files: Mapping[str, bytes]) -> Hashes:
    """The hash of each file."""
    return {name: sha256(content).hexdigest() for name, content in sorted(files.items())}


class Journal:
    """The journal of a run that goes on. A line is in the file at once, and flushed with the trial after it: without
    power the last trial may be there without its line, which `read_run` accepts."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._descriptor: int | None = None
        self._end: Callable[[], object] = lambda: None

    def note(self, key: str, hashes: Hashes) -> None:
        """Adds a line. Raises `WriteError`."""
        if self._descriptor is None:
            self._descriptor = self._folder.open_to_append(JOURNAL)
            self._end = weakref.finalize(self, os.close, self._descriptor)
        rest = json.dumps({"key": key, "sha256": hashes}).encode() + b"\n"
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            raise WriteError(f"writing {self._folder.path / JOURNAL}: {error.strerror or error}") from error

    def unflushed(self) -> list[int]:
        """The descriptor of the file, if there is one."""
        return [] if self._descriptor is None else [self._descriptor]

    def remove(self) -> None:
        """Removes the journal, because a manifest has what it says. Raises `WriteError`."""
        self.close()
        self._folder.remove(JOURNAL)

    def close(self) -> None:
        """Closes the file. The end of this object closes it too."""
        self._descriptor = None
        self._end()


def read_journal(folder: Folder) -> dict[str, Hashes]:
    """The trials of the journal by key; empty where there is no journal. A last line that was cut off does not
    count."""
    if not folder.has(JOURNAL):
        return {}
    texts: dict[str, Hashes] = {}
    lines = folder.read(JOURNAL, MAX_JOURNAL_BYTES).decode(errors="replace").split("\n")[:-1]
    for number, line in enumerate(lines, start=1):
        try:
            data = json.loads(line)
            texts[_text(data["key"])] = {_text(name): _text(digest) for name, digest in data["sha256"].items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StoreError(f"{folder.path / JOURNAL}:{number}: this is not a line of a journal: {error}") from error
    return texts


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value
