"""The error tree. Every error says what was being done, to what, what went wrong, and what would help.

::

    SixbenchError            exit code
    ├── UsageError           2   a command line that cannot be obeyed
    ├── ExperimentError      2   an experiment file with problems, each `file:line: key: ...`
    ├── StoreError           2   a run directory that cannot be read
    ├── WriteError           3   something that cannot be written (unwritable directory, full disk)
    ├── CapabilityError      3   this machine cannot do what was asked, and why
    │   └── HostsError       3   other machines that cannot be used, each `file:line: key: ...`
    ├── LabError             3   the network could not be built
    ├── AgentError           -   an agent refused, died or broke the protocol (fails a trial, not the run)
    └── Interrupted          130 the user pressed Ctrl-C

    Bug                      70  a mistake of sixbench's own, as is every other exception that reaches the command line
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .exit_codes import Exit
from .quoting import sentence


class SixbenchError(Exception):
    """Base of every error that a user may see. `exit_code` is what the command ends with.

    Args:
        message: one sentence. Its words may come from other machines and programs, so that it becomes a
            `quoting.sentence`: no part of it moves a terminal's cursor or begins another line.
    """

    exit_code: int = Exit.CANNOT

    def __init__(self, message: str = "") -> None:
        super().__init__(sentence(message))


class UsageError(SixbenchError):
    """A command line that cannot be obeyed."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing wrong in a file. `line` counts from 1; None where the file as a whole is meant."""

    file: str
    line: int | None
    key: str
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class ExperimentError(SixbenchError):
    """An experiment file with problems; prints one line a problem."""

    exit_code = Exit.USAGE

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__()
        self.args = ("\n".join(sentence(str(problem)) for problem in problems),)
        self.problems = problems


class StoreError(SixbenchError):
    """A run directory that is missing, damaged or of an unknown schema."""

    exit_code = Exit.USAGE


class WriteError(SixbenchError):
    """Something that cannot be written."""


class CapabilityError(SixbenchError):
    """This machine cannot do what was asked."""


class HostsError(CapabilityError):
    """Other machines that cannot be used; prints one line a machine."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__()
        self.args = ("\n".join(sentence(str(problem)) for problem in problems),)


class LabError(SixbenchError):
    """The network could not be built."""


class MissingRouteError(LabError):
    """The kernel has not added the route of an address that it accepted: building once more may help."""


class AgentError(SixbenchError):
    """An agent refused a request, died, or broke the protocol.

    Args:
        code: the protocol's error code, or `agent-died`, `agent-silent`.
        message: what was being done, to what, and what went wrong.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


TRACEBACK_FILE = "traceback.txt"
"""In the directory of a run that a bug stopped."""


class Bug(Exception):
    """A mistake of sixbench's own, which stopped a run. `__cause__` says what happened. It is no `SixbenchError`: only
    the command line catches it.

    Args:
        directory: of the run, whose recorded trials are kept; None: nothing was recorded.
        resume: the command that goes on with the run; None: it cannot be resumed.
        traceback: of another machine, where that is where it happened.
    """

    def __init__(
        self, *, directory: Path | None = None, resume: str | None = None, traceback: str | None = None
    ) -> None:
        super().__init__("a mistake in sixbench itself")
        self.directory = directory
        self.resume = resume
        self.traceback = traceback


class Interrupted(SixbenchError):
    """The user asked to stop; what is done is kept."""

    exit_code = Exit.INTERRUPTED
