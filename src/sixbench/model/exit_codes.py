"""Exit codes of commands, for scripts: the one place that defines each code.

`sixbench --help`, the man pages and `docs/exit-codes.md` are held to it by tests.
"""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """An exit code. `meaning` says it in a few words, `details` what to do."""

    meaning: str
    details: str

    def __new__(cls, code: int, meaning: str, details: str) -> Exit:
        """The code, with its words."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        member.details = details
        return member

    DONE = 0, "done", "Everything was done as asked."
    CHECK_FAILED = (
        1,
        "a check failed",
        "The command finished, and its check failed: `compare --fail-over` found a metric that got worse, "
        "`monitor --fail-on-change` found a change, or `calibrate --null` found more false differences than chance "
        "explains.",
    )
    USAGE = (
        2,
        "usage, or a bad experiment",
        "The command line, the experiment file or the run directory cannot be used as it is. The message names the "
        "option, or the file with its line. Nothing was measured.",
    )
    CANNOT = (
        3,
        "this machine cannot",
        "The command needs something that is missing: a privilege, a program, a kernel feature, room on the disk. "
        "`sixbench doctor` lists what this machine can do and how to mend the rest.",
    )
    PARTLY = (
        4,
        "done in part",
        "The run ended, and some of its trials failed. The others are kept and reported; the report names those that "
        "failed, with their reasons.",
    )
    BUG = (
        70,
        "a bug in sixbench",
        "sixbench failed because of a bug. The records until then are intact. The message names a file with the "
        "details; please report it. The number is EX_SOFTWARE of sysexits.h.",
    )
    INTERRUPTED = (
        130,
        "interrupted",
        "Ctrl-C or SIGTERM stopped the command. Finished trials are kept; `sixbench resume DIR` continues.",
    )


def exit_codes_line() -> str:
    """All of them in one sentence: `0 done; 1 a check failed; ...`."""
    return "; ".join(f"{code.value} {code.meaning}" for code in Exit)
