"""Commands of sixbench in processes of their own.

So nothing of the calling process changes: no namespace is entered, no signal handler is set, and where a user without
privileges needs a user namespace, it is the other process that enters it.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Sequence

from ..model.errors import Interrupted
from ..model.quoting import printable_lines
from .own_program import own_command

_MESSAGE = "sixbench: "
_OF_FILE = re.compile(r".+?:\d+: ")
"""The beginning of a problem in an experiment file."""

_END_TIMEOUT_S = 60
"""Longest time that an interrupted run may take to remove its network and write what it has."""


def call(arguments: list[str], quiet: bool) -> tuple[int, str]:
    """Runs a command of sixbench. Returns its exit code, and the error that it ended with, if it has one. Its standard
    output goes nowhere.

    Args:
        arguments: the words after `sixbench`.
        quiet: whether its progress is left out, which otherwise goes to standard error.

    Raises `Interrupted` on Ctrl-C, when the command has removed its network and recorded what it had.
    """
    command = own_command(*arguments)
    error_lines: list[str] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # an interrupt of this process reaches the command once, through `_stop`
    ) as process:
        assert process.stderr is not None
        try:
            for line in process.stderr:
                error_lines.append(line.rstrip())
                if not quiet and not line.startswith(_MESSAGE):
                    sys.stderr.write(printable_lines(line))
            code = process.wait()
        except BaseException as error:
            last = _stop(process)
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted(_message([*error_lines, *last]) or "the run was interrupted") from None
            raise
    if code < 0:
        return code, f"signal {-code} ended it ({signal.strsignal(-code)})"  # the lines before do not have the reason
    return code, _message(error_lines)


def _stop(process: subprocess.Popen[str]) -> list[str]:
    """Ends it as Ctrl-C does, and if that does not help, at once. Returns what it still said.

    By SIGTERM: the process inherits that SIGINT is ignored, where it is.
    """
    process.send_signal(signal.SIGTERM)
    try:
        _, rest = process.communicate(timeout=_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        _, rest = process.communicate()
    return (rest or "").splitlines()


def _message(lines: Sequence[str]) -> str:
    """The error that a command ended with, which is the last that it prints: the problems of its experiment file, a
    line each, or else from the last line that is a message of sixbench on. All of it where there is neither."""
    start = len(lines)
    while start and _OF_FILE.match(lines[start - 1]) and not lines[start - 1].startswith(_MESSAGE):
        start -= 1
    if start == len(lines):
        start = max((index for index, line in enumerate(lines) if line.startswith(_MESSAGE)), default=0)
    return "\n".join(lines[start:]).removeprefix(_MESSAGE).strip()
