"""Results of commands, and commands in the namespace of a process."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass


class PeerError(Exception):
    """A peer did not do what it was told: it says what was asked, of whom, and what came of it."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """Result of a command."""

    command: str
    exit: int
    stdout: str
    stderr: str

    def checked(self, where: str) -> Result:
        """Itself; raises `PeerError` where the command failed."""
        if self.exit != 0:
            text = " ".join(f"{self.stderr} {self.stdout}".split())
            raise PeerError(f"{where}: {self.command!r} ended with {self.exit}: {text}")
        return self


def in_namespace_of(pid: int, *argv: str) -> list[str]:
    """The command line that executes `argv` in the network namespace of a process."""
    return ["nsenter", f"--net=/proc/{pid}/ns/net", *argv]


def execute(pid: int, *argv: str, timeout_s: float = 10) -> str:
    """Runs a command in the network namespace of a process; its output. Raises `PeerError`."""
    line = in_namespace_of(pid, *argv)
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=timeout_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerError(f"namespace of {pid}: {' '.join(argv)}: {error}") from error
    result = Result(command=" ".join(argv), exit=done.returncode, stdout=done.stdout, stderr=done.stderr)
    return result.checked(f"namespace of {pid}").stdout
