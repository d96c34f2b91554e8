"""Standard output that cannot be written, such as of a full disk: an error like any other that a user is told."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, TextIO

from ..model.errors import WriteError


def guard_standard_streams() -> None:
    """From now on, writing to standard output raises `WriteError` where that fails, and messages that cannot be written
    to standard error are lost.

    A descriptor that is not open becomes `/dev/null`, so that no file gets its number.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)  # it gets this number, the lowest free
    sys.stdout = _guarded(sys.stdout, _Output(1, "w", closefd=False))
    sys.stderr = _guarded(sys.stderr, _Messages(2, "w", closefd=False))


def _guarded(stream: TextIO | None, raw: io.FileIO) -> TextIO:
    """The stream as Python made it, on that raw one. A terminal without some character still shows the others."""
    if stream is not None:
        stream.flush()
    is_terminal = raw.isatty()
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=None if stream is None else stream.encoding,
        errors="backslashreplace",
        line_buffering=is_terminal or raw.fileno() == 2,
    )


class _Output(io.FileIO):
    def write(self, content: Any, /) -> int:
        """Writes to it. Raises `WriteError`, and from then on what is written goes nowhere: Python writes once more
        when it ends."""
        try:
            return super().write(content)
        except BrokenPipeError:
            raise
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            raise WriteError(f"writing to standard output: {error.strerror}") from error


class _Messages(io.FileIO):
    def write(self, content: Any, /) -> int:
        """Writes to it where it can."""
        try:
            return super().write(content)
        except BrokenPipeError:
            raise
        except OSError:
            return memoryview(content).nbytes
