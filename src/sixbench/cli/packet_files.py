"""The captures that `sixbench translate` reads and writes: files, or standard input and output."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from ..model.capture_file import PcapWriter
from ..model.errors import UsageError
from ..model.files import open_regular
from ..model.quoting import printable
from ..store import replacing
from ..translate.journey import CapturePackets

STANDARD = "-"
"""Standard input or output instead of a file."""


@contextlib.contextmanager
def open_packets(file: str) -> Iterator[CapturePackets]:
    """The packets of a file, or of standard input. Raises `UsageError`."""
    if file == STANDARD:
        yield CapturePackets(sys.stdin.buffer, "standard input")
        return
    name = printable(file)
    try:
        stream = open_regular(file)
    except OSError as error:
        what_helps = "; give - for standard input" if Path(file).is_fifo() else ""
        raise UsageError(f"reading {name}: {error.strerror or error}{what_helps}") from error
    with stream:
        yield CapturePackets(stream, name)


@contextlib.contextmanager
def open_output(file: str | None) -> Iterator[PcapWriter | None]:
    """Destination of packets: a file that is there whole at the end or not at all, standard output, or nowhere."""
    if file is None:
        yield None
    elif file == STANDARD:
        yield PcapWriter(sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        with replacing(Path(file)) as stream:
            yield PcapWriter(stream)
