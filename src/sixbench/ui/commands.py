"""Commands that the runner starts, and their output."""

from __future__ import annotations

import os
import selectors
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from typing import IO, Literal

Ended = Callable[[int, IO[bytes]], None]
"""Gets the exit code of a command, and the file with its output."""


class Commands:
    """Commands in sessions of their own, so that they outlive the page.

    Args:
        selector: its user calls the data of each descriptor that is ready.
    """

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector

    def begin(
        self, command: Sequence[str], ended: Ended, *, heard: Literal["stdout", "stderr"]
    ) -> subprocess.Popen[bytes]:
        """Starts a command. `ended` is called when it has ended.

        Args:
            heard: the output that is kept until then; the other is discarded.
        """
        output = tempfile.TemporaryFile()  # noqa: SIM115, `over` closes it
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output if heard == "stdout" else subprocess.DEVNULL,
            stderr=output if heard == "stderr" else subprocess.DEVNULL,
            start_new_session=True,
        )
        descriptor = os.pidfd_open(process.pid)  # Linux 5.3

        def over() -> None:
            self._selector.unregister(descriptor)
            os.close(descriptor)
            with output:
                ended(process.wait(), output)

        self._selector.register(descriptor, selectors.EVENT_READ, over)
        return process
