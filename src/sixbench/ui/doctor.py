"""The conclusion of `sixbench doctor`, which runs as a separate command."""

from __future__ import annotations

import contextlib
import json
import subprocess
from typing import IO

from ..lab.own_program import own_command
from .commands import Commands


class Doctor:
    """The capabilities of this machine. They are checked once, at the first question, since that takes some seconds."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._process: subprocess.Popen[bytes] | None = None
        self._sentence: str | None = None

    def sentence(self) -> str | None:
        """The conclusion in one sentence; None while it is not known."""
        if self._process is None:
            command = own_command("doctor", "--json")
            self._process = self._commands.begin(command, self._conclude, heard="stdout")
        return self._sentence

    def close(self) -> None:
        """Ends the command if it still runs."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    def _conclude(self, _: int, output: IO[bytes]) -> None:
        output.seek(0)
        try:
            sentence = str(json.loads(output.read())["conclusion"]["sentence"])
        except (ValueError, KeyError, TypeError):
            self._sentence = "sixbench doctor gave no answer; run it in a terminal."
            return
        self._sentence = sentence if sentence.endswith(".") else f"{sentence.rstrip(':')}; see: sixbench doctor"
