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
    return json_object(folder.read(name, MAX_JSON_BYTES), folder.path / name)


def json_object(content: bytes, path: Path) -> dict[str, Any]:
    """An object of JSON, whose texts show what they are: control characters stand escaped in them. Raises
    `StoreError`."""
    try:
        text = content.decode()
        data = json.loads(text, parse_constant=_no_number)
        if "\\u" in text and "\\ud" in text.lower():
            json.dumps(data, ensure_ascii=False).encode()  # half a surrogate pair is no character
    except (ValueError, RecursionError) as error:
        reason = printable(str(error).partition(";")[0])
        raise StoreError(f"{_shown(path)}: not JSON: {reason}") from error
    if not isinstance(data, dict):
        raise StoreError(f"{_shown(path)}: not a JSON object")
    if json_depth(content, MAX_DEPTH) > MAX_DEPTH:
        raise StoreError(f"{_shown(path)}: more than {MAX_DEPTH} levels deep, which nothing of a run is")
    return {**_escaped(data)} if _may_control(text) else data


def _shown(path: Path) -> str:
    return printable(str(path))


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Characters with which a text could steer a terminal or reverse what stands beside it (Unicode UAX 9). Line feeds and
tabs are none of them."""

_MAY_CONTROL = re.compile(r"\\u(00|20)|\\[bfr]")
"""JSON's words for them."""


def _may_control(text: str) -> bool:
    """True if JSON has any of them. Looked for apart, because most records have not even a backslash."""
    return ("\\" in text and _MAY_CONTROL.search(text) is not None) or _CONTROLS.search(text) is not None


def _escaped(data: Any) -> Any:
    if isinstance(data, str):
        return _CONTROLS.sub(lambda match: printable(match.group()), data)
    if isinstance(data, list):
        return [_escaped(item) for item in data]
    return {_escaped(key): _escaped(item) for key, item in data.items()} if isinstance(data, dict) else data


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number")
