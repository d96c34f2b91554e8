"""The JSON in run directories, which a stranger may have written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ..model.errors import StoreError
from ..model.nesting import json_depth
from ..model.quoting import printable
from .folder import Folder

MAX_JSON_BYTES = 2**28
"""The largest manifest or record. With 100,000 combinations a manifest has some 50 MB."""

MAX_DEPTH = 40
"""Largest depth of objects and lists in one another. Those of a manifest are some ten levels deep."""


def read_json(folder: Folder, name: str) -> dict[str, Any]:
    """An object of JSON in a file of a run. Raises `StoreError`."""
    return json_object(folder.read(name, MAX_JSON_BYTES), folder.path, name)


def json_object(content: bytes, path: Path, *names: str) -> dict[str, Any]:
    """An object of JSON, whose texts show what they are: control characters stand escaped in them. Raises
    `StoreError`.

    Args:
        path: where it is, for messages.
        names: likewise, of directories and the file below that path.
    """
    try:
        data = _parsed(content)
    except (ValueError, RecursionError) as error:
        reason = printable(str(error).partition(";")[0])
        raise StoreError(f"{_shown(path, *names)}: not JSON: {reason}") from error
    if not isinstance(data, dict):
        raise StoreError(f"{_shown(path, *names)}: not a JSON object")
    if json_depth(content, MAX_DEPTH) > MAX_DEPTH:
        raise StoreError(f"{_shown(path, *names)}: more than {MAX_DEPTH} levels deep, which nothing of a run is")
    return {**_escaped(data)} if _may_control(content) else data


def _parsed(content: bytes) -> Any:
    """The value. Raises `ValueError`, whose words are those of Python's own parser, or `RecursionError`."""
    from pydantic_core import from_json  # few commands read a record

    try:
        return from_json(content, allow_inf_nan=False)  # it takes half as long
    except ValueError:
        data = json.loads(content.decode(), parse_constant=_no_number)
    if b"\\u" in content:
        json.dumps(data, ensure_ascii=False).encode()  # half a surrogate pair is no character
    return data


def _shown(path: Path, *names: str) -> str:
    return printable(str(path.joinpath(*names)))


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Characters with which a text could steer a terminal or reverse what stands beside it (Unicode UAX 9). Line feeds and
tabs are none of them."""

_MAY_CONTROL = re.compile(r"\\u(00|20)|\\[bfr]")
"""JSON's words for them."""


def _may_control(content: bytes) -> bool:
    """True if valid JSON has any of them in a text. Looked for apart, because most records are ASCII without a
    backslash, in which a text has no control character but DEL (RFC 8259 section 7)."""
    if content.isascii() and b"\\" not in content:
        return b"\x7f" in content
    text = content.decode()
    return _MAY_CONTROL.search(text) is not None or _CONTROLS.search(text) is not None


def _escaped(data: Any) -> Any:
    if isinstance(data, str):
        return _CONTROLS.sub(lambda match: printable(match.group()), data)
    if isinstance(data, list):
        return [_escaped(item) for item in data]
    return {_escaped(key): _escaped(item) for key, item in data.items()} if isinstance(data, dict) else data


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number")
