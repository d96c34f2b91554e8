"""YAML with line numbers, bounded: every value knows where it stands.

The core schema of YAML 1.2 only (`null`, `true`, `false`, numbers, text), so that `on`, `no` and `1:30` stay text.
Refused with `file:line`: what is not YAML, duplicate keys, keys that are not text, files over 1 MiB, nesting over 40
levels, and aliases that expand to over 100,000 values.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..model.errors import ExperimentError, Problem, UsageError

MAX_FILE_BYTES = 2**20
MAX_DEPTH = 40
MAX_VALUES = 100_000

KeyPath = tuple[str | int, ...]

_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, kw_only=True)
class Source:
    """A YAML file, read.

    Attributes:
        file: its name, for messages.
        text: what it says.
        data: plain dicts, lists and scalars.
        lines: the line (from 1) of every value, by its path of keys.
    """

    file: str
    text: str
    data: Any
    lines: dict[KeyPath, int]

    def line_of(self, path: KeyPath) -> int | None:
        """The line of the value there, or of the nearest that contains it."""
        for length in range(len(path), -1, -1):
            line = self.lines.get(path[:length])
            if line is not None:
                return line
        return None

    def problem(self, path: KeyPath, message: str) -> Problem:
        """A problem with the value there."""
        key = ".".join(str(part) for part in path)
        return Problem(file=self.file, line=self.line_of(path), key=key, message=message)


def read_yaml(path: Path, shown_as: str | None = None) -> Source:
    """Reads a YAML file. Raises `UsageError` where it cannot be read, `ExperimentError` where it is no such file."""
    file = shown_as or str(path)
    try:
        with open(path, "rb") as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"reading {file}: {error.strerror}") from error
    if len(content) > MAX_FILE_BYTES:
        raise ExperimentError(
            [Problem(file=file, line=None, key="", message=f"larger than {MAX_FILE_BYTES} bytes: not an experiment")]
        )
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ExperimentError([Problem(file=file, line=line, key="", message="not UTF-8 text, so not YAML")]) from error
    return parse_yaml(text, file)


def parse_yaml(text: str, file: str) -> Source:
    """Reads YAML text. Raises `ExperimentError`."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_depth(text, loader, file)
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = " ".join(part for part in (error.context, error.problem) if part)
        raise _error(file, mark.line + 1 if mark else None, f"not YAML: {words}") from error
    except yaml.YAMLError as error:
        raise _error(file, None, f"not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise _error(file, None, f"nested more than {MAX_DEPTH} levels deep") from error
    if node is None:
        raise _error(file, None, "empty: an experiment has at least a topology, paths and workloads")
    builder = _Builder(file)
    data = builder.build(node, ())
    return Source(file=file, text=text, data=data, lines=builder.lines)


def _check_depth(text: str, loader: type[yaml.SafeLoader], file: str) -> None:
    """Composing recurses, in C without a limit: so the depth is known before."""
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _error(file, event.start_mark.line + 1, f"nested more than {MAX_DEPTH} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _error(file: str, line: int | None, message: str) -> ExperimentError:
    return ExperimentError([Problem(file=file, line=line, key="", message=message)])


class _Builder:
    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[KeyPath, int] = {}
        self.values = 0

    def build(self, node: yaml.Node, path: KeyPath) -> Any:
        line = node.start_mark.line + 1
        self.values += 1
        if self.values > MAX_VALUES:
            raise _error(self.file, line, f"more than {MAX_VALUES} values once its aliases are expanded")
        if len(path) > MAX_DEPTH:
            raise _error(
                self.file, line, f"nested more than {MAX_DEPTH} levels deep (or an alias that contains itself)"
            )
        self.lines.setdefault(path, line)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, line)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._mapping(node, path)

    def _mapping(self, node: yaml.Node, path: KeyPath) -> dict[str, Any]:
        data: dict[str, Any] = {}
        first_lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise _error(self.file, line, "a key must be plain text")
            key = key_node.value
            if key in data:
                raise _error(
                    self.file, line, f'the key "{key}" stands twice, first in line {first_lines[key]}; keep one'
                )
            first_lines[key] = line
            self.lines[(*path, key)] = line
            data[key] = self.build(value_node, (*path, key))
        return data

    def _scalar(self, node: yaml.ScalarNode, line: int) -> Any:
        text: str = node.value
        if node.tag not in _PLAIN_TAGS:
            raise _error(self.file, line, f"the tag {node.tag} has no meaning here")
        if node.style in _QUOTED:
            return text
        if text in ("", "~", "null"):
            return None
        if text in ("true", "false"):
            return text == "true"
        if _INTEGER.fullmatch(text):
            return int(text) if len(text) <= 30 else text
        if _FLOAT.fullmatch(text):
            number = float(text)
            return number if math.isfinite(number) else text
        return text


_QUOTED = ("'", '"', "|", ">")
_PLAIN_TAGS = frozenset(
    f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "timestamp", "merge", "value")
)
