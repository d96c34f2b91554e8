"""An agent on a host as a process: pipes, whose other ends its connection has (`ssh`)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from asyncssh import SSHClientProcess


class RemoteProcess:
    """An agent on a host: our ends of its pipes.

    Attributes:
        theirs: the other ends by stream, until somebody else closes them.
    """

    pid = None
    stop_timeout_s = 15.0

    def __init__(self, host: str, loop: asyncio.AbstractEventLoop, helps: str) -> None:
        self.host: str | None = host
        self.where = f"on {host}"
        self.helps = helps
        self._loop = loop
        self._process: SSHClientProcess[bytes] | None = None
        self._over = threading.Event()
        self._code: int | None = None
        self._words = ""
        self.theirs: dict[str, IO[bytes]] = {}
        with contextlib.ExitStack() as opened:
            self.theirs["stdin"], self.stdin = _pipe(opened)
            self.stdout, self.theirs["stdout"] = _pipe(opened)
            self.stderr, self.theirs["stderr"] = _pipe(opened)
            opened.pop_all()

    @property
    def exit_code(self) -> int | None:
        """Its exit code; None where nobody knows."""
        return self._code

    @property
    def how_it_ended(self) -> str:
        return self._words

    def wait(self, timeout_s: float) -> bool:
        """Waits until its host has told its end, or cannot any more."""
        return self._over.wait(timeout_s)

    def kill(self) -> None:
        """Has its host end it. It loses its input in any case."""

        def end() -> None:
            if self._process is not None:
                self._process.kill()
                self._process.close()

        self._loop.call_soon_threadsafe(end)

    def begun(self, process: SSHClientProcess[bytes]) -> None:
        """It runs."""
        self._process = process

    def ended(self, code: int | None, without_code: str) -> None:
        """It has ended, with this code if anybody knows."""
        self._code = code
        self._words = without_code
        if code is not None:
            self._words = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"

    def release(self) -> None:
        """Closes the ends that nobody else does: who waits for its answers sees that there are none."""
        self._over.set()
        while self.theirs:
            self.theirs.popitem()[1].close()


def _pipe(opened: contextlib.ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    """The ends of a pipe to read from and to write to, which `opened` closes too."""
    reading, writing = os.pipe()
    return (
        opened.enter_context(os.fdopen(reading, "rb", buffering=0)),
        opened.enter_context(os.fdopen(writing, "wb", buffering=0)),
    )
