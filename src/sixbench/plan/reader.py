"""Reading values out of a YAML source and collecting every problem on the way, so that a user sees them all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, TypeVar

from ..model.errors import ExperimentError, Problem
from .yaml_source import KeyPath, Source

_T = TypeVar("_T")


class Reader:
    """Reads one source. Methods return None (or an empty value) where there is a problem, and note it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Problem] = []

    def problem(self, path: KeyPath, message: str) -> None:
        """Notes a problem with the value at `path`."""
        problem = self.source.problem(path, message)
        if problem not in self.problems:
            self.problems.append(problem)

    def finish(self) -> None:
        """Raises `ExperimentError` with all problems, in the order of lines, if there are any."""
        if self.problems:
            raise ExperimentError(sorted(self.problems, key=lambda problem: problem.line or 0))

    def mapping(self, path: KeyPath, value: Any, what: str, known: Iterable[str] | None = None) -> dict[str, Any]:
        """A mapping with known keys only (any, where `known` is None)."""
        if not isinstance(value, dict):
            self.problem(path, f"{what} must be a mapping (key: value), not {shown(value)}")
            return {}
        if known is not None:
            names = list(known)
            for key in value:
                if key not in names:
                    self.problem((*path, key), f"unknown key; {_suggest(key, names)}")
        return value

    def sequence(self, path: KeyPath, value: Any, what: str) -> list[Any]:
        """A list."""
        if not isinstance(value, list):
            self.problem(path, f"{what} must be a list, not {shown(value)}")
            return []
        return value

    def word(self, path: KeyPath, value: Any, what: str) -> str | None:
        """Plain text that is not empty."""
        if not isinstance(value, str) or not value.strip():
            self.problem(path, f"{what} must be text, not {shown(value)}")
            return None
        return value

    def one_of(self, path: KeyPath, value: Any, what: str, choices: Iterable[str]) -> str | None:
        """One of some words."""
        names = list(choices)
        if value not in names:
            self.problem(path, f"{shown(value)} is no {what}; {_suggest(str(value), names)}")
            return None
        return str(value)

    def parsed(self, path: KeyPath, value: Any, parse: Callable[[object], _T]) -> _T | None:
        """What `parse` makes of it; its `ValueError` becomes a problem."""
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


def shown(value: Any) -> str:
    """A value as a message shows it, short."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else text[:57] + '..."'


def _suggest(word: str, known: list[str]) -> str:
    close = get_close_matches(word, known, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    return f"known here: {', '.join(known)}"
