"""The depth of values in one another."""

from __future__ import annotations

import re
from typing import Any

_PLAIN_TEXT = re.compile(rb'"[^"]*"')
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_AS_LISTS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_NO_BRACKETS_OR_QUOTES = bytes(set(_NO_BRACKETS) - set(b'"'))


def depth(data: Any, most: int) -> int:
    """Levels of mappings and lists in a value, counted up to one more than `most`; 0: it is neither."""
    level, levels = [data] if isinstance(data, (dict, list)) else [], 0
    while level and levels <= most:
        levels += 1
        level = [
            part
            for whole in level
            for part in (whole.values() if isinstance(whole, dict) else whole)
            if isinstance(part, (dict, list))
        ]
    return levels


def json_depth(content: bytes, most: int) -> int:
    """As `depth`, of the value in valid JSON, by its brackets: records have lists of thousands of numbers."""
    if b"\\" in content:
        brackets = _TEXT.sub(b"", content).translate(_AS_LISTS, _NO_BRACKETS)
    else:  # every quotation mark begins or ends a text, so their contents can be removed first: five times as fast
        brackets = content.translate(_AS_LISTS, _NO_BRACKETS_OR_QUOTES).replace(b'""', b"")
        brackets = _PLAIN_TEXT.sub(b"", brackets) if b'"' in brackets else brackets
    levels = 0
    while brackets and levels <= most:
        levels += 1
        brackets = brackets.replace(b"[]", b"")  # removes the innermost level
    return levels
