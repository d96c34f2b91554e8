"""JSON of requests, and of the server's questions to the runner. A stranger may have written both."""

from __future__ import annotations

import json
import math
from typing import Any

from ..model.errors import UsageError
from ..model.nesting import depth
from ..model.quoting import visible

MOST_DEPTH = 16
"""Levels of objects and lists in one another. A question to the runner has four."""


def read_json(content: bytes) -> Any:
    """A value of JSON that can be written as JSON again: its numbers are finite, its texts are Unicode, each key occurs
    once in its object, and it has at most `MOST_DEPTH` levels. Raises `UsageError`.

    The caller bounds the length.
    """
    try:
        text = content.decode()
        data = json.loads(text, parse_constant=_number, parse_float=_number, object_pairs_hook=_once)
        if "\\u" in text and "\\ud" in text.lower():
            json.dumps(data, ensure_ascii=False).encode()  # half a surrogate pair is no character
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise UsageError(f"the request is not JSON: {visible(str(error).partition(';')[0])}") from None
    if depth(data, MOST_DEPTH) > MOST_DEPTH:
        raise _too_deep()
    return data


def _too_deep() -> UsageError:
    return UsageError(f"the request is more than {MOST_DEPTH} levels deep; no valid request is")


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is not a number that JSON can hold")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return entries
