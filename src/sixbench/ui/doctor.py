"""The sentence of `sixbench doctor`, by a command of its own, whose agents are not the page's children."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys

WITHIN_S = 120.0


class Doctor:
    """What this machine can do. It is tried once, when somebody asks first, since that takes some seconds."""

    def __init__(self) -> None:
        self._asking: asyncio.Task[str] | None = None
        self._process: asyncio.subprocess.Process | None = None

    async def sentence(self) -> str | None:
        """The conclusion; None while it is not known."""
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask())
        return self._asking.result() if self._asking.done() else None

    def close(self) -> None:
        """Ends the command, if it goes on."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
        if self._asking is not None:
            self._asking.cancel()

    async def _ask(self) -> str:
        command = [sys.executable, "-m", "sixbench", "doctor", "--json"]
        nowhere = asyncio.subprocess.DEVNULL
        self._process = await asyncio.create_subprocess_exec(
            *command, stdin=nowhere, stdout=asyncio.subprocess.PIPE, stderr=nowhere
        )
        try:
            said, _ = await asyncio.wait_for(self._process.communicate(), WITHIN_S)
            sentence = str(json.loads(said)["conclusion"]["sentence"])
        except (TimeoutError, ValueError, KeyError, TypeError):
            return "sixbench doctor gave no answer; try it in a terminal."
        return sentence if sentence.endswith(".") else f"{sentence.rstrip(':')}; see: sixbench doctor"
