"""A run directory that is changed, and made what it was."""

from __future__ import annotations

import contextlib
import hashlib
import json
import marshal
import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"
MONITOR = "monitor.json"
JOURNAL = "accepted.jsonl"


class Tampered:
    """The directory.

    Attributes:
        directory: where it is.
        done: the changes so far, in words.
    """

    def __init__(self, directory: Path, outside: Path) -> None:
        self.directory = directory
        self.outside = outside
        self.done: list[str] = []
        self._top = f"{directory}/"
        self._first = {
            str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()
        }
        self._folders = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_dir()}
        self._now = dict(self._first)
        self._seen = {name: _identity(os.lstat(self._top + name)) for name in self._first}
        self._digests = {content: hashlib.sha256(content).hexdigest() for content in self._first.values()}
        # As marshal keeps them, from which a copy is made in a fraction of the time that JSON takes.
        self._documents = {
            content: marshal.dumps(json.loads(content))
            for name, content in self._first.items()
            if name.endswith(".json")
        }

    @property
    def files(self) -> Mapping[str, bytes]:
        """The regular files, by their names below the directory."""
        return self._now

    @property
    def trials(self) -> list[str]:
        """The directories of trials."""
        return self._below("trials")

    @property
    def parts(self) -> str:
        """Folder that holds the directories of its parts: trials of a run, runs of a monitor."""
        return "runs" if self.is_monitor else "trials"

    @property
    def is_monitor(self) -> bool:
        """True if it was the directory of a monitor."""
        return MONITOR in self._first

    def _below(self, top: str) -> list[str]:
        return sorted({name.split("/")[1] for name in self._now if name.startswith(f"{top}/") and name.count("/") > 1})

    @property
    def folders(self) -> list[str]:
        """Where its parts are, and their directories."""
        parents = ["occurrences", "runs", "trials"] if self.is_monitor else ["trials"]
        return [*parents, *(f"{self.parts}/{name}" for name in self._below(self.parts))]

    def document(self, name: str) -> Any:
        """Content of a JSON file, to be changed at will; None where the file is no JSON."""
        content = self._now[name]
        kept = self._documents.get(content)
        if kept is not None:
            return marshal.loads(kept)
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            return None

    def write(self, name: str, content: bytes) -> None:
        """Gives a file another content."""
        self._now[name] = content
        parts = name.split("/")
        for depth in range(1, len(parts)):
            folder = self._top + "/".join(parts[:depth])
            if not _is_folder(folder):  # or this program would write outside itself
                _remove(folder)
                os.mkdir(folder)
        if not _is_folder(self._top + name):
            _remove(self._top + name)
            _write(self._top + name, content)

    def vacate(self, name: str) -> Path:
        """Removes a file or a directory. Returns where it was."""
        _remove(self._top + name)
        for item in [item for item in self._now if item == name or item.startswith(f"{name}/")]:
            del self._now[item]
        return self.directory / name

    def restore(self) -> None:
        """Makes the directory what it was. What is as it was stays: a file of which the kernel says the same as when it
        was written."""
        whole = self._whole("")
        for folder in sorted(self._folders - whole):
            os.mkdir(self._top + folder)
        for name, content in self._first.items():
            if name not in whole:
                _write(self._top + name, content)
                self._seen[name] = _identity(os.lstat(self._top + name))
        self._now = dict(self._first)
        self.done = []

    def differs(self) -> str | None:
        """A name in the directory that is not what it was at first, by all of its bytes; None: everything is."""
        result = {
            str(path.relative_to(self.directory)): path.read_bytes() if path.is_file() else None
            for path in self.directory.rglob("*")
        }
        first = {**self._first, **dict.fromkeys(self._folders)}
        return next(
            (
                name
                for name in sorted({*result, *first})
                if (name in result, result.get(name)) != (name in first, first.get(name))
            ),
            None,
        )

    def _whole(self, folder: str) -> set[str]:
        """Files and folders within a folder that are as they were at first; whatever else is there is removed."""
        whole = set[str]()
        with os.scandir(self._top + folder) as entries:
            for entry in list(entries):
                name = f"{folder}/{entry.name}" if folder else entry.name
                if name in self._folders and entry.is_dir(follow_symlinks=False):
                    whole |= {name, *self._whole(name)}
                elif name in self._first and _identity(entry.stat(follow_symlinks=False)) == self._seen[name]:
                    whole.add(name)
                else:
                    _remove(entry.path)
        return whole

    def rehash(self) -> None:
        """Makes the hashes of the manifest and of the journal those of the files, as a forger would."""
        hashes: dict[str, dict[str, str]] = {}
        for name, content in self._now.items():
            parts = name.split("/")
            if parts[0] == "trials" and len(parts) == 3:
                digest = self._digests.get(content) or hashlib.sha256(content).hexdigest()
                hashes.setdefault(parts[1], {})[parts[2]] = digest
        data = self.document(MANIFEST) if MANIFEST in self._now else None
        if isinstance(data, dict) and data.get("accepted") and data["accepted"] != hashes:
            data["accepted"] = hashes
            self.write(MANIFEST, text_of(data))
        if JOURNAL in self._now:
            lines = [json.dumps({"key": key, "sha256": of_key}) + "\n" for key, of_key in hashes.items()]
            self.write(JOURNAL, "".join(lines).encode())


def text_of(data: Any) -> bytes:
    """As JSON, also what is none: NaN, and texts that are no UTF-8."""
    return json.dumps(data).encode()


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _identity(result: os.stat_result) -> tuple[int, ...]:
    """Numbers that change where a file is written, or another one is put in its place."""
    return result.st_mode, result.st_ino, result.st_size, result.st_mtime_ns, result.st_ctime_ns, result.st_nlink


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def _remove(path: str) -> None:
    if _is_folder(path):
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
