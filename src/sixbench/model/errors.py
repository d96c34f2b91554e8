"""The error tree. Every error says what was being done, to what, what went wrong, and what would help.

::

    SixbenchError            exit code
    ├── UsageError           2   a command line that cannot be obeyed
    ├── ExperimentError      2   an experiment file with problems, each `file:line: key: ...`
    ├── StoreError           2   a run directory that cannot be read
    ├── WriteError           3   something that cannot be written (unwritable directory, full disk)
    ├── CapabilityError      3   this machine cannot do what was asked, and why
    ├── LabError             3   the network could not be built
    ├── AgentError           -   an agent refused, died or broke the protocol (fails a trial, not the run)
    └── Interrupted          130 the user pressed Ctrl-C
"""

from __future__ import annotations

from dataclasses import dataclass


class SixbenchError(Exception):
    """Base of every error that a user may see. `exit_code` is what the command ends with."""

    exit_code = 3


class UsageError(SixbenchError):
    """A command line that cannot be obeyed."""

    exit_code = 2


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

    exit_code = 2

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class StoreError(SixbenchError):
    """A run directory that is missing, damaged or of an unknown schema."""

    exit_code = 2


class WriteError(SixbenchError):
    """Something that cannot be written."""


class CapabilityError(SixbenchError):
    """This machine cannot do what was asked."""


class LabError(SixbenchError):
    """The network could not be built."""


class AgentError(SixbenchError):
    """An agent refused a request, died, or broke the protocol.

    Args:
        code: the protocol's error code, or `agent-died`, `agent-silent`.
        message: what was being done, to what, and what went wrong.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Interrupted(SixbenchError):
    """The user asked to stop; what is done is kept."""

    exit_code = 130
