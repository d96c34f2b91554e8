"""Reads YAML with line numbers and within limits. The line of every value is known.

Only the core schema of YAML 1.2 is read (`null`, `true`, `false`, numbers, text), so `on`, `no` and `1:30` stay text.
Refused with `file:line` are: what is not YAML, duplicate keys, keys that are not text, tags, characters that do not
print, and what is larger than `size_limits` allow: files over 1 MiB, nesting over 40 levels, and aliases that expand to
over 100,000 values or 4 MiB of text.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from ..model.errors import ExperimentError, Problem, UsageError
from ..model.files import open_regular
from ..model.quoting import printable, visible
from .size_limits import MAX_DEPTH, MAX_FILE_BYTES, MAX_VALUES, too_large

MAX_EVENTS = 3 * MAX_VALUES + 100
"""Events of the parser: a key and both ends of its list or mapping are three, and no value has more."""

KeyPath = tuple[str | int, ...]

_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, kw_only=True)
class Source:
    """A YAML file, read.

    Attributes:
        file: its name, for messages.
        text: its content.
        data: plain dicts, lists and scalars.
        lines: the line (from 1) of every value, by its path of keys.
        directory: its folder. Files that it names are looked up from there.
        overrides: what replaced a value of the file, such as `--set blocks=3`, by the path of the value.
    """

    file: str
    text: str
    data: Any
    lines: dict[KeyPath, int]
    directory: Path = Path()
    overrides: dict[KeyPath, str] = field(default_factory=dict)

    def line_of(self, path: KeyPath) -> int | None:
        """The line of the value at a path, or of the nearest value that contains it."""
        for length in range(len(path), -1, -1):
            line = self.lines.get(path[:length])
            if line is not None:
                return line
        return None

    def problem(self, path: KeyPath, message: str) -> Problem:
        """A problem with the value at a path. It names the file and line, or what replaced the value."""
        key = ".".join(visible(str(part)) for part in path)
        for length in range(len(path), -1, -1):
            if path[:length] in self.overrides:
                return Problem(file=self.overrides[path[:length]], line=None, key=key, message=message)
        return Problem(file=self.file, line=self.line_of(path), key=key, message=message)


def read_yaml(path: Path, shown_as: str | None = None) -> Source:
    """Reads a YAML file. Raises `UsageError` if it cannot be read, and `ExperimentError` if it is not YAML."""
    file = printable(shown_as or str(path))
    try:
        with open_regular(path) as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(f"reading {file}: {error.strerror}") from error
    if len(content) > MAX_FILE_BYTES:
        raise _error(file, None, f"the file is larger than {MAX_FILE_BYTES} bytes, so it is not an experiment")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        bad_line = content[: error.start].count(b"\n") + 1
        raise _error(file, bad_line, "this is not UTF-8 text, so it is not YAML; save it as UTF-8") from error
    return replace(parse_yaml(text, file), directory=path.parent)


def parse_yaml(text: str, file: str) -> Source:
    """Reads YAML text. Raises `ExperimentError`."""
    if len(text) > MAX_FILE_BYTES:
        raise _error(file, None, f"the text is longer than {MAX_FILE_BYTES} characters, so it is not an experiment")
    unprintable = _UNPRINTABLE.search(text)
    if unprintable is not None:
        line = text.count("\n", 0, unprintable.start()) + 1
        raise _error(file, line, f"not YAML: the character U+{ord(unprintable.group()):04X} is not allowed; remove it")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_events(text, loader, file)
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = " ".join(part for part in (error.context, error.problem) if part)
        near = min(mark.line + 1, text.rstrip().count("\n") + 1) if mark else None
        raise _error(file, near, f"not YAML: {words}{_hint(text, mark, words)}") from error
    except yaml.YAMLError as error:
        raise _error(file, None, f"not YAML: {' '.join(str(error).split())}") from error
    if node is None:
        raise _error(file, None, "the file is empty; an experiment has at least a topology, paths and workloads")
    builder = _Builder(file)
    data = builder.build(node, ())
    return Source(file=file, text=text, data=data, lines=builder.lines)


def _check_events(text: str, loader: type[yaml.SafeLoader], file: str) -> None:
    """Refuses deep nesting, many values and tags before composing. Composing recurses without a limit, in C, and it
    forgets tags."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=loader)):
        line = event.start_mark.line + 1 if event.start_mark else None
        if number >= MAX_EVENTS:
            raise _error(file, line, f"there are more than {MAX_VALUES} values")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _error(file, line, f"values are nested more than {MAX_DEPTH} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent)) and event.tag is not None:
            raise _error(file, line, f"the tag {visible(event.tag)} has no meaning here; leave it out")


def _hint(text: str, mark: yaml.error.Mark | None, words: str) -> str:
    """Advice about an error, for the errors that people meet."""
    following = text[mark.index : mark.index + 1] if mark else ""
    if following == "\t":
        return "; indent with spaces, not tabs"
    if following and following in "@`%":
        return f"; put text that begins with {following} in quotes"
    for symptom, hint in _HINTS.items():
        if symptom in words:
            return f"; {hint}"
    return ""


_HINTS = {
    "mapping values are not allowed": "put text that contains a colon in quotes",
    "undefined alias": "an alias (*name) needs an anchor (&name) before it",
    "a single document": "keep one of them",
    "expected": "look for a bracket, a quote or an indent that is missing here or just before",
}
"""Hints by the words of the parser, the most specific first."""


def _error(file: str, line: int | None, message: str) -> ExperimentError:
    return ExperimentError([Problem(file=file, line=line, key="", message=message)])


class _Builder:
    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[KeyPath, int] = {}
        self.values = 0
        self.characters = 0

    def build(self, node: yaml.Node, path: KeyPath) -> Any:
        line = node.start_mark.line + 1
        self.values += 1
        if isinstance(node, yaml.ScalarNode):
            self.characters += len(node.value)
        limit = too_large(self.values, self.characters)
        if limit is not None:
            raise _error(self.file, line, f"{limit} once the aliases are expanded")
        if len(path) > MAX_DEPTH:
            raise _error(
                self.file, line, f"values are nested more than {MAX_DEPTH} levels deep, or an alias contains itself"
            )
        self.lines.setdefault(path, line)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._mapping(node, path)

    def _mapping(self, node: yaml.Node, path: KeyPath) -> dict[str, Any]:
        data: dict[str, Any] = {}
        first_lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise _error(self.file, line, "a key must be plain text, neither a list nor a mapping")
            key = key_node.value
            self.characters += len(key)
            if key in data:
                raise _error(
                    self.file,
                    line,
                    f'the key "{visible(key)}" is given twice, first in line {first_lines[key]}; keep one',
                )
            first_lines[key] = line
            self.lines[(*path, key)] = line
            data[key] = self.build(value_node, (*path, key))
        return data

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text: str = node.value
        if node.style in _QUOTED:
            return text
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if _INTEGER.fullmatch(text):
            return int(text) if len(text) <= 30 else text
        if _FLOAT.fullmatch(text):
            number = float(text)
            return number if math.isfinite(number) else text
        return text


_QUOTED = ("'", '"', "|", ">")

_CONSTANTS = {"": None, "~": None} | {
    spelling: value
    for word, value in (("null", None), ("true", True), ("false", False))
    for spelling in (word, word.capitalize(), word.upper())
}
"""The core schema of YAML 1.2, section 10.3.2."""

_UNPRINTABLE = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""YAML 1.2 section 5.1."""
