"""Machines on which agents run: this one, or on a host over SSH (`ssh`). Who starts them knows no more of it than
this."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from ..model.errors import CapabilityError

BORROW = "--borrow"
GIVING_BACK_S = 15.0
"""Longest time that an agent may take to give interfaces back. If it is killed then, it goes on without it."""

LONGEST_SILENCE_S = 30
ENDS_IN_SILENCE = ("--end-after-silence", str(LONGEST_SILENCE_S))
"""An agent on a host ends when nothing has come for so long: where the connection was cut, nobody tells it so."""


@dataclass(frozen=True, kw_only=True)
class Seat:
    """The place of a node.

    Attributes:
        on: the name of its host; None: this machine.
        borrows: the interfaces of the machine that it has.
        even_in_use: whether also those that have a default route or a program's socket.
    """

    on: str | None = None
    borrows: tuple[str, ...] = ()
    even_in_use: bool = False

    @property
    def arguments(self) -> list[str]:
        """The arguments of the agent that say so."""
        borrowing = [word for interface in self.borrows for word in (BORROW, interface)]
        borrowing += ["--even-in-use"] if self.even_in_use else []
        return borrowing if self.on is None else [*borrowing, *ENDS_IN_SILENCE]


class AgentProcess(Protocol):
    """An agent that was started: its streams, and its end.

    Attributes:
        where: its number on this machine, or its host, for messages.
        host: the name of its host; None: this machine.
        helps: what people can do where it ends before it has greeted; empty where nothing is known to help.
        stop_timeout_s: how long it has to end on its own when its input has ended, until it is killed.
    """

    where: str
    host: str | None
    helps: str
    stop_timeout_s: float
    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    @property
    def pid(self) -> int | None:
        """Its number on this machine; None where it is on another one."""

    @property
    def exit_code(self) -> int | None:
        """Its exit code, -signal where that killed it; None where it runs, or nobody knows."""

    @property
    def how_it_ended(self) -> str:
        """In words, once `wait` has returned True."""

    def wait(self, timeout_s: float) -> bool:
        """Waits for its end. Returns whether it has ended."""

    def kill(self) -> None:
        """Ends it without its help."""


class Machine(Protocol):
    """A machine on which agents can be started."""

    def start(self, name: str, arguments: Sequence[str]) -> AgentProcess:
        """Starts an agent with these arguments. Raises `CapabilityError`.

        Args:
            name: of the node, for messages.
        """

    def close(self) -> None:
        """No more are started."""


class ThisMachine:
    """This machine."""

    def __init__(self, binary: Path) -> None:
        self._binary = binary

    def start(self, name: str, arguments: Sequence[str]) -> AgentProcess:
        """Starts the agent as a child of this thread."""
        try:
            process = subprocess.Popen(
                [self._binary, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
            )
        except OSError as error:
            raise CapabilityError(f"starting {self._binary} for {name}: {error.strerror}") from error
        return LocalProcess(process, GIVING_BACK_S if BORROW in arguments else LocalProcess.stop_timeout_s)

    def close(self) -> None:
        """Nothing is held."""


class LocalProcess:
    """An agent on this machine."""

    host: str | None = None
    helps = ""
    stop_timeout_s = 2.0

    def __init__(self, process: subprocess.Popen[bytes], stop_timeout_s: float = stop_timeout_s) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.where = f"process {process.pid}"
        self.stdin: IO[bytes] = process.stdin
        self.stdout: IO[bytes] = process.stdout
        self.stderr: IO[bytes] = process.stderr
        self.stop_timeout_s = stop_timeout_s
        self._process = process

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode

    @property
    def how_it_ended(self) -> str:
        code = self._process.returncode
        return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"

    def wait(self, timeout_s: float) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=timeout_s)
        return self._process.returncode is not None

    def kill(self) -> None:
        """Kills it."""
        self._process.kill()
