"""Reading what tools print."""

from __future__ import annotations

import re

from ..contender import Unreadable


def find_match(pattern: str, text: str, what: str) -> re.Match[str]:
    """The last place where the text has it. Raises `Unreadable`, with the end of the text."""
    matches = list(re.finditer(pattern, text))
    if not matches:
        end = " ".join(text.split())[-200:]
        raise Unreadable(
            f"no {what} in the output, which ends with: {end!r}" if end else f"no {what}: it printed nothing"
        )
    return matches[-1]


def number(pattern: str, text: str, what: str) -> float:
    """The number in the pattern's first group."""
    return float(find_match(pattern, text, what)[1])
