"""Helpers that several commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..model.quoting import printable, printable_coloured, printable_json, printable_lines
from .colours import has_colour

if TYPE_CHECKING:
    from ..store import Run


def note(text: str) -> None:
    """A message for people, a line on standard error. Nothing in it steers the terminal, whosever words it has, and no
    name in it begins a line of its own."""
    print(printable(text), file=sys.stderr, flush=True)


def say(text: str) -> None:
    """A line of a result for people, on standard output, likewise."""
    print(printable(text), flush=True)


def say_lines(text: str) -> None:
    """A result for people on several lines, likewise. Its renderer sees to it that names have no line ends."""
    print(printable_lines(text.removesuffix("\n")), flush=True)


def say_coloured(text: str) -> None:
    """A result for people that a renderer has coloured. Nothing else in it steers the terminal."""
    words = printable_coloured(text) if has_colour(sys.stdout) else printable_lines(text)
    print(words.removesuffix("\n"), flush=True)


def say_document(text: str) -> None:
    """A result in the form of a file: as it is where a file or a program gets it, and on a terminal as `say` has it."""
    words = printable_lines(text) if sys.stdout.isatty() else text
    print(words.removesuffix("\n"), flush=True)


def print_json(data: Any) -> None:
    """A result for programs, on standard output."""
    print(printable_json(json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)))


def option_words(given: Mapping[str, object]) -> list[str]:
    """The words of a command line for options with values, by option; those whose value is None are left out."""
    return [word for option, value in given.items() if value is not None for word in (option, str(value))]


def tell_problems(run: Run) -> int:
    """Says which trials of a run cannot be used, and why. Returns the exit code: 2 where there are any."""
    from ..model.exit_codes import Exit

    for problem in run.problems:
        note(f"sixbench: {problem}")
    if not run.problems:
        return Exit.DONE
    are = "1 trial is" if len(run.problems) == 1 else f"{len(run.problems)} trials are"
    note(f"sixbench: {are} not in this report; see: sixbench verify {run.directory}")
    return Exit.USAGE
