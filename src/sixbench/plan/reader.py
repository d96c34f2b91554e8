"""Reads values from a YAML source and collects every problem, so that a user sees them all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeVar

from ..model.errors import ExperimentError, Problem
from ..model.parameter import require_text
from ..model.quoting import article, listed, shown, visible
from .yaml_source import KeyPath, Source

_T = TypeVar("_T")

MAX_PROBLEMS = 100
"""Number of shown problems of one file. A file with more has one mistake many times."""


class Reader:
    """Reads one source. Methods return None (or an empty value) where there is a problem, and note it.

    `moved` says where values stand in the source that were written out from a short form.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.moved: dict[KeyPath, KeyPath] = {}

    def problem(self, path: KeyPath, message: str) -> None:
        """Notes a problem with the value at `path`."""
        problem = self.source.problem(self.in_file(path), message)
        if problem not in self.problems:
            self.problems.append(problem)
        if len(self.problems) >= MAX_PROBLEMS:
            last = Problem(file=problem.file, line=None, key="", message="there are more problems than are listed here")
            raise ExperimentError([*self._in_order(), last])

    def in_file(self, path: KeyPath) -> KeyPath:
        """The place in the file of the value that is now at `path`: by the longest prefix of the path in `moved`."""
        for length in range(len(path), 0, -1):
            origin = self.moved.get(path[:length])
            if origin is not None:
                within = (*origin, *path[length:])
                return within if within in self.source.lines else origin
        return path

    def is_in_file(self, path: KeyPath) -> bool:
        """True if the file, or what changes it, has a place of its own for the value that is now at `path`."""
        place = path
        for length in range(len(path), 0, -1):
            origin = self.moved.get(path[:length])
            if origin is not None:
                place = (*origin, *path[length:])
                break
        return place in self.source.lines or place in self.source.overrides

    def finish(self) -> None:
        """Raises `ExperimentError` with all problems, in the order of lines, if there are any."""
        if self.problems:
            raise self.error()

    def error(self) -> ExperimentError:
        """All problems, in the order of lines."""
        return ExperimentError(self._in_order())

    def _in_order(self) -> list[Problem]:
        return sorted(self.problems, key=lambda problem: problem.line or 0)

    def mapping(self, path: KeyPath, value: Any, what: str, known: Iterable[str] | None = None) -> dict[str, Any]:
        """A mapping with known keys only (with any, if `known` is None)."""
        if not isinstance(value, dict):
            self.problem(path, f"{what} must be a mapping (key: value), not {shown(value)}")
            return {}
        if known is not None:
            names = list(known)
            for key in value:
                if key not in names:
                    self.problem((*path, key), f"unknown key; {suggest(key, names)}")
        return value

    def sequence(self, path: KeyPath, value: Any, what: str) -> list[Any]:
        if not isinstance(value, list):
            self.problem(path, f"{what} must be a list, not {shown(value)}")
            return []
        return value

    def word(self, path: KeyPath, value: Any, what: str) -> str | None:
        """Text that is not empty and has only printable characters."""
        return self.parsed(path, value, partial(require_text, what))

    def one_of(self, path: KeyPath, value: Any, what: str, choices: Iterable[str]) -> str | None:
        """One of the words in a list."""
        names = list(choices)
        if value not in names:
            word = value if isinstance(value, str) else ""
            self.problem(path, f"{shown(value)} is not {article(what)} {what}; {suggest(word, names)}")
            return None
        return str(value)

    def parsed(self, path: KeyPath, value: Any, parse: Callable[[object], _T]) -> _T | None:
        """The value as `parse` reads it. Its `ValueError` becomes a problem."""
        try:
            return parse(value)
        except ValueError as error:
            self.problem(path, str(error))
            return None

    def count(self, path: KeyPath, value: Any, what: str, minimum: int, maximum: int) -> int | None:
        """A whole number in a range."""
        if isinstance(value, bool) or not isinstance(value, int):
            self.problem(path, f"{what} must be a whole number, not {shown(value)}")
            return None
        if not minimum <= value <= maximum:
            self.problem(path, f"{what} must be from {minimum} to {maximum}, not {value}")
            return None
        return value


def as_name(value: Any) -> Any:
    """A whole number as text, where it names something; anything else as it is."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def suggest(word: str, known: Iterable[str]) -> str:
    """A hint with the name that was probably meant, or with all names."""
    names = list(known)
    close = get_close_matches(word[:100], names, n=1)
    return f'did you mean "{visible(close[0])}"?' if close else f"known here: {listed(names)}"
