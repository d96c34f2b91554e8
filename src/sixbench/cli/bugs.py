"""The message to users about a bug of sixbench: one sentence, and the traceback in a file."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import typer

from .. import __version__
from ..model.errors import TRACEBACK_FILE, Bug, SixbenchError, WriteError
from ..model.exit_codes import Exit
from ..model.quoting import printable
from .common import note


@contextlib.contextmanager
def keeping_trials(directory: Path | None, resume: str | None = None) -> Iterator[None]:
    """Makes a `Bug` of whatever in the context is no error that a user is told of.

    Args:
        directory: of the run whose trials are kept, where the traceback goes too; None: none are.
        resume: the command that goes on with the run; None: it cannot be resumed.
    """
    try:
        yield
    except (Bug, SixbenchError, BrokenPipeError, typer.Exit, typer.Abort, typer.TyperException):
        raise
    except Exception as error:
        raise Bug(directory=directory, resume=resume) from error


def tell(error: Exception) -> int:
    """Writes the traceback, says so on standard error, and returns the exit code."""
    bug = error if isinstance(error, Bug) else Bug()
    cause = (bug.__cause__ or bug) if bug is error else error
    text = bug.traceback or "".join(traceback.format_exception(cause))
    kept = _keep(text, bug.directory)
    where = "" if kept is None else f" The traceback is in {kept}; please report it."
    goes_on = ""
    if bug.directory is not None:
        goes_on = f" All trials recorded so far are intact in {bug.directory}"
        goes_on += "." if bug.resume is None else f"; once the mistake is mended, `{bug.resume}` goes on."
    note(f"sixbench: a mistake in sixbench itself stopped it: {_summary(text)}.{where}{goes_on}")
    return Exit.BUG


def _summary(text: str) -> str:
    """The last line of a traceback, such as `KeyError: 'sent'`."""
    lines = [line for line in text.splitlines() if line.strip()]
    return printable(lines[-1].strip())[:200] if lines else "the cause is not known"


def _keep(text: str, directory: Path | None) -> Path | None:
    """The file to which the traceback was written: in the run's directory, else a temporary file; None where neither
    could be."""
    when = time.strftime("%Y-%m-%d %H:%M:%S")
    heading = f"sixbench {__version__}, {when}: {' '.join(sys.argv)}\n"
    content = f"{heading}{text}\n".encode(errors="backslashreplace")
    if directory is not None:
        from ..store.folder import Folder

        with contextlib.suppress(OSError, WriteError):
            with os.fdopen(Folder.open(directory, follow_links=False).open_to_append(TRACEBACK_FILE), "ab") as file:
                file.write(content)
            return directory / TRACEBACK_FILE
    with contextlib.suppress(OSError):
        number, name = tempfile.mkstemp(prefix="sixbench-traceback-", suffix=".txt")
        with os.fdopen(number, "wb") as file:
            file.write(content)
        return Path(name)
    return None
