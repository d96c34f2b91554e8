"""Files and directories that appear whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..model.errors import WriteError

PARTIAL_SUFFIX = ".partial"


def _failed(doing: str, path: Path, error: OSError) -> WriteError:
    return WriteError(f"{doing} {path}: {error.strerror or error}")


def dumps(data: Any) -> str:
    """JSON without NaN or infinity, which would not be JSON. Raises `ValueError` on those."""
    return json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)


def write_file(path: Path, content: str | bytes) -> None:
    """Writes beside, flushes to the disk, renames into place. Raises `WriteError`, leaving nothing behind."""
    partial = path.with_name(path.name + PARTIAL_SUFFIX)
    try:
        with open(partial, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise _failed("writing", path, error) from error


def write_directory(path: Path, fill: Callable[[Path], None]) -> None:
    """Lets `fill` write into a directory beside, flushes it, renames it into place. Raises `WriteError`, leaving
    nothing behind.

    `path` must not exist: what is written is immutable.
    """
    partial = path.with_name(path.name + PARTIAL_SUFFIX)
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        fill(partial)
        for file in partial.iterdir():
            _sync(file)
        _sync(partial)
        os.rename(partial, path)
        _sync(path.parent)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise _failed("writing", path, error) from error
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
