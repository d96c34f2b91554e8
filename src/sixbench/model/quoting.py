"""Values and lists of names as messages show them: short, on one line, without control characters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

MAX_SENTENCE = 5000
"""The longest message, in characters: the 4 KiB that an agent said last, and the words about them."""

_MAX_VALUE_LENGTH = 60
_MAX_NAMES = 20
_CUT = " [...] "
_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")


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
    text = visible(str(value))
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


def sentence(text: str) -> str:
    """Text as a message has it: on one line, as `printable` gives it, and without its middle where it is too long.

    All that other machines and programs say passes through here before a terminal gets it: the errors of `errors`,
    `reason.Reason`, and the lines that the command line writes.
    """
    return _without_middle(printable(_without_middle(text)))


def printable_lines(text: str) -> str:
    """Text of several lines, each as `printable` gives it."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def printable_coloured(text: str) -> str:
    """Text of several lines as `printable_lines` gives it, but for its colours and weights (SGR, ECMA-48 section
    8.3.117)."""
    parts = _COLOUR.split(text)
    return "".join(part if number % 2 else printable_lines(part) for number, part in enumerate(parts))


def printable_json(text: str) -> str:
    """JSON on any number of lines, with everything in it escaped that does not print (RFC 8259 section 7)."""
    return "".join(
        character if character.isprintable() or character == "\n" else json.dumps(character)[1:-1] for character in text
    )


def one_line(output: str | bytes) -> str:
    """The words that a program or a machine wrote, as a `sentence` without its line breaks."""
    text = output if isinstance(output, str) else output.decode(errors="replace")
    return sentence(" ".join(_without_middle(text).split()))


def _without_middle(text: str) -> str:
    if len(text) <= MAX_SENTENCE:
        return text
    kept = MAX_SENTENCE - len(_CUT)
    return text[: kept // 4] + _CUT + text[-(kept - kept // 4) :]


def text_of(word: str) -> str:
    """A path, or a word of a command line, as text. Its bytes that are no UTF-8 are escaped: `runs/\\xff`."""
    try:
        return word.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half a surrogate pair, which no file name contains
        return word.encode("utf-8", "backslashreplace").decode()


def shown_path(path: Path) -> str:
    """A path as messages show it."""
    return printable(text_of(str(path)))


def listed(names: Iterable[str]) -> str:
    """Names with commas, the first few of many; `none` where there are none."""
    all_names = list(map(visible, names))
    if len(all_names) > _MAX_NAMES:
        return f"{', '.join(all_names[:_MAX_NAMES])} and {len(all_names) - _MAX_NAMES} more"
    return ", ".join(all_names) or "none"


def article(noun: str) -> str:
    """`an` before a vowel's letter, else `a`."""
    return "an" if noun[:1] in "aeiou" else "a"
