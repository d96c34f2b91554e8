"""Commands that the runner starts, and what they say."""

from __future__ import annotations

import os
import selectors
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from typing import IO, Literal

Ended = Callable[[int, IO[bytes]], None]
"""Gets the exit code of a command, and the file with what it said."""


class Commands:
    """Each goes on in a session of its own, and ends by itself.

    Args:
        selector: calls the data of what is ready.
    """

    def __init__(self, selector: selectors.BaseSelector) -> None:
        self._selector = selector

    def begin(
        self, command: Sequence[str], ended: Ended, *, heard: Literal["stdout", "stderr"]
    ) -> subprocess.Popen[bytes]:
        """Begins one. `ended` is called when it has ended.

        Args:
            heard: which of its outputs is kept until then; the other goes nowhere.
        """
        said = tempfile.TemporaryFile()  # noqa: SIM115, it is closed when the command has ended
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said if heard == "stdout" else subprocess.DEVNULL,
            stderr=said if heard == "stderr" else subprocess.DEVNULL,
            start_new_session=True,
        )
        descriptor = os.pidfd_open(process.pid)  # Linux 5.3

        def over() -> None:
            self._selector.unregister(descriptor)
            os.close(descriptor)
            with said:
                ended(process.wait(), said)

        self._selector.register(descriptor, selectors.EVENT_READ, over)
        return process
