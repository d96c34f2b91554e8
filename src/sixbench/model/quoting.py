"""Values and lists of names as messages show them: short, on one line, without control characters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_MAX_VALUE_LENGTH = 60
_MAX_NAMES = 20


def shown(value: Any) -> str:
    """A value as it stands in a file, short; text in quotes, so that `"5"` and `5` differ."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return f'"{visible(value)}"'
    text = str(value)
    return text.lower() if isinstance(value, bool) else text


def visible(text: str) -> str:
    """Text as `printable` gives it, cut where it is long."""
    return printable(text if len(text) <= _MAX_VALUE_LENGTH else text[: _MAX_VALUE_LENGTH - 3] + "...")


def printable(text: str) -> str:
    """Text with everything escaped that does not print: line ends, terminal codes."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def listed(names: Iterable[str]) -> str:
    """Names with commas, the first few of many; `none` where there are none."""
    all_names = list(map(visible, names))
    if len(all_names) > _MAX_NAMES:
        return f"{', '.join(all_names[:_MAX_NAMES])} and {len(all_names) - _MAX_NAMES} more"
    return ", ".join(all_names) or "none"


def article(noun: str) -> str:
    """`an` before a vowel's letter, else `a`."""
    return "an" if noun[:1] in "aeiou" else "a"
