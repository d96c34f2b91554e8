"""The cache directory, and directories in it that appear whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..model.errors import CapabilityError

HALF_MADE = ".making-"
"""The beginning of the names of directories that are not whole yet."""


KEPT = 2
"""Largest number of images of one kind in the cache: for instance images of an installed sixbench and of a source
tree."""

IN_USE_S = 600
"""Least age of an image to be removed: a younger one may belong to a guest that is being started."""


def cache_directory() -> Path:
    """Directory of kernels and images: `$XDG_CACHE_HOME/sixbench`, or below `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sixbench"


def make_whole(directory: Path, fill: Callable[[Path], None]) -> Path:
    """Lets `fill` write into a directory beside it and renames that into place; one that is there already is replaced.

    Raises:
        CapabilityError: it cannot be written; nothing of it is left behind.
    """
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent, prefix=HALF_MADE) as scratch:
            path = Path(scratch) / "made"
            path.mkdir()
            fill(path)
            shutil.rmtree(directory, ignore_errors=True)
            os.rename(path, directory)
    except OSError as error:
        raise unwritable(directory, error) from error
    return directory


@contextmanager
def one_at_a_time(directory: Path) -> Iterator[None]:
    """Lets one process at a time make something in a directory; others wait. What a killed process left there half made
    is removed. Raises `CapabilityError`."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise unwritable(directory, error) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in directory.glob(f"{HALF_MADE}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
    finally:
        os.close(lock)


def forget_old(newest: Path) -> None:
    """Removes the oldest directories beside one that was just made, down to `KEPT`."""
    paths = sorted(newest.parent.glob("[!.]*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in [path for path in paths if path != newest][KEPT - 1 :]:
        if time.time() - old.stat().st_mtime > IN_USE_S:
            shutil.rmtree(old, ignore_errors=True)


def unwritable(path: Path, error: OSError) -> CapabilityError:
    """The error of something that could not be kept, with what would help."""
    words = _words(error)
    if any(os.strerror(number) in words for number in (errno.ENOSPC, errno.EDQUOT)):
        return no_space(path)
    return CapabilityError(f"writing {path}: {words}; name a writable place with XDG_CACHE_HOME")


def _words(error: OSError) -> str:
    """The first error. Copying a tree reports every file that could not be copied."""
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
        return str(error.args[0][0][-1])
    return error.strerror or str(error)


def no_space(path: Path) -> CapabilityError:
    """The error that the file system of the cache is full."""
    return CapabilityError(
        f"writing {path}: no space left there; make some, with `sixbench kernels remove` for example, "
        "or name another place with XDG_CACHE_HOME"
    )
