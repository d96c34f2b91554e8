"""A parameter: what an experiment may say of a workload, a mechanism, a link or a node.

Readers of experiments, the JSON Schema and the documents are derived from parameters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from math import isfinite
from typing import Literal, NamedTuple

from . import units
from .quoting import shown, visible

ParameterKind = Literal[
    "size",
    "rate",
    "packet-rate",
    "duration",
    "count",
    "number",
    "flag",
    "choice",
    "word",
    "name",
    "file",
    "ipv4-prefix",
    "ipv6-prefix",
    "eam",
    "command",
    "commands",
    "kernel",
    "files",
    "program",
    "families",
    "address",
    "interface",
    "mtu",
    "mtu-or-size",
    "ratio",
    "queue",
    "overhead",
    "packets",
    "states",
    "profile",
    "text",
    "line",
    "cidr",
    "link-name",
    "row-mtu",
    "sysctl",
    "device",
    "ssh",
]
"""Kinds of values: the way they are written, and their form in the JSON Schema. For `queue`, `overhead`, `packets`,
`states`, `profile`, and for those from `eam` to `interface`, each parameter has a parser of its own."""


MAX_FILE_NAME = 1024
Scalar = int | float | str | bool
Params = Mapping[str, Scalar]
"""Parameters by their protocol names, with units: `{"message_bytes": 64, "duration_ns": 5000000000}`."""


class Wrong(NamedTuple):
    """The problem with parameters that are each right on their own.

    Attributes:
        name: the parameter that it is about; None: no single one.
        text: a sentence, which says what would be right.
    """

    name: str | None
    text: str


def _mtu(value: object) -> int:
    """A number of bytes without a unit, as ip(8) writes an MTU."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{shown(value)} is not an MTU: give a whole number of bytes without a unit, such as 1500")
    return value


def _mtu_or_size(value: object) -> int:
    return _mtu(value) if isinstance(value, int) and value > 0 else units.parse_size(value)


_QUANTITIES: dict[ParameterKind, tuple[Callable[[object], float], Callable[[float], str]]] = {
    "size": (units.parse_size, units.format_size),
    "rate": (units.parse_rate, units.format_rate),
    "packet-rate": (units.parse_packet_rate, units.format_packet_rate),
    "duration": (units.parse_duration, units.format_duration),
    "ratio": (units.parse_ratio, lambda value: f"{100 * value:.12g}%"),
    "mtu": (_mtu, units.plain),
    "mtu-or-size": (_mtu_or_size, units.plain),
}

_WORD = re.compile(r"[A-Za-z0-9_-]{1,15}")
"""A word, such as a congestion control, whose name Linux keeps in 16 bytes (TCP_CA_NAME_MAX)."""

_ENDINGS: dict[ParameterKind, str] = {
    "size": "_bytes",
    "rate": "_bps",
    "packet-rate": "_pps",
    "duration": "_ns",
    "ratio": "_ratio",
    "mtu": "_bytes",
    "mtu-or-size": "_bytes",
}
_SUFFIX = re.compile(r"(?:\A|_)(bytes|bps|pps|ns|ratio|packets)\Z")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter.

    Attributes:
        name: as an experiment writes it, such as `message`. `gaps.shape` is `shape` in a mapping, as in
            `gaps: {distribution: gamma, shape: 2}`; the parameter that is `distribution` there is named `gaps`.
        column: the protocol's and the records' name, with its unit, such as `message_bytes`; left out: it follows from
            the name and the kind.
        minimum, maximum: inclusive, in the column's unit.
        length: whether it sets how long a trial is rather than what it is (then it is no level unless swept).
        identifying: whether it says what is sent, so that it belongs to the levels wherever it is given.
        default: the value where it is not given, in the column's unit; None: no single value.
        parser: reads the value where its kind does not say how. Raises `ValueError` saying what would be right.
        unless_given: what holds where it is not given, in words, if `default` does not say it all.
        noun: its name in messages where it takes no levels; left out: the name.
    """

    name: str
    column: str = ""
    kind: ParameterKind
    doc: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    length: bool = False
    identifying: bool = False
    default: Scalar | None = None
    unless_given: str = ""
    parser: Callable[[object], Scalar] | None = None
    noun: str = ""

    def __post_init__(self) -> None:
        if not self.column:
            words = re.sub("[-.]", "_", self.name)
            object.__setattr__(self, "column", words + _ENDINGS.get(self.kind, ""))

    @property
    def suffix(self) -> str:
        """The unit at the end of the column, such as `_bytes`; empty where it has none."""
        match = None if self.kind == "packets" else _SUFFIX.search(self.column)
        return f"_{match[1]}" if match else ""

    @property
    def whole_bounds(self) -> tuple[int, int]:
        """The bounds of a count, which must have both."""
        assert self.minimum is not None, f"{self.name} has no minimum"
        assert self.maximum is not None, f"{self.name} has no maximum"
        return int(self.minimum), int(self.maximum)

    @property
    def default_text(self) -> str:
        """The default, as an experiment would write it or in words; empty: nothing."""
        if self.unless_given or self.default is None:
            return self.unless_given
        return "0" if self.default == 0 and not isinstance(self.default, bool) else self.format(self.default)

    def of(self, params: Params) -> Scalar:
        """Its value among parameters by column. Raises `KeyError` where it is not given and has no default."""
        if self.column in params:
            return params[self.column]
        if self.default is None:
            raise KeyError(self.column)
        return self.default

    def parse(self, value: object) -> Scalar:
        """The value in the column's unit. Raises `ValueError` saying what would be right."""
        parsed = self._parse(value)
        self._require_within(parsed, value)
        return parsed

    def require(self, value: object) -> None:
        """Raises `ValueError` where a value in the column's unit, which may come from anyone, is not one that this
        parameter can have."""
        if self.parser is not None or self.kind not in _QUANTITIES:
            if self.parse(value) != value:
                raise ValueError(f"{shown(value)} is not in the form in which it is kept")
            return
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise ValueError(f"{shown(value)} is not a number")
        self._require_within(value, value)

    def _require_within(self, parsed: Scalar, written: object) -> None:
        if isinstance(parsed, bool | str):
            return
        if self.minimum is not None and parsed < self.minimum:
            raise ValueError(f"{shown(written)} is too small: at least {self.format(self.minimum)}")
        if self.maximum is not None and parsed > self.maximum:
            raise ValueError(f"{shown(written)} is too large: at most {self.format(self.maximum)}")

    def _parse(self, value: object) -> Scalar:
        if self.parser is not None:
            return self.parser(value)
        if self.kind in _QUANTITIES:
            return _QUANTITIES[self.kind][0](value)
        return _FORMS.get(self.kind, _word)(self, value)

    def format(self, value: Scalar) -> str:
        """The value as an experiment would write it; of files their names, of commands each in turn, of a program its
        command."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if self.kind == "program" and isinstance(value, str) and value.startswith("{"):
            return str(json.loads(value)["program"])
        if isinstance(value, str):
            return (_JOINTS[self.kind].join(json.loads(value)) or "none") if self.kind in _JOINTS else value
        return _QUANTITIES[self.kind][1](value) if self.kind in _QUANTITIES else units.plain(value)


_JOINTS = {"files": ", ", "commands": "; "}


def _count(parameter: Parameter, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{shown(value)} is not a whole number, such as {parameter.format(parameter.minimum or 1)}")
    return value


def _number(_: Parameter, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{shown(value)} is not a number, such as 1.5")
    return float(value)


def _flag(_: Parameter, value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{shown(value)} is neither true nor false")
    return value


def _choice(parameter: Parameter, value: object) -> str:
    # A version, such as 1.1 or 2, is a number in YAML.
    written = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(written, str) or written not in parameter.choices:
        raise ValueError(f"{shown(value)} is not one of {', '.join(parameter.choices)}")
    return written


def _name(_: Parameter, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"{shown(value)} is not a name")
    return str(value)


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def require_text(noun: str, value: object) -> str:
    """Text that is not empty and has only printable characters and line breaks. Raises `ValueError`."""
    if not isinstance(value, str) or not value.strip() or _CONTROL.search(value):
        hint = "; put it in quotes" if isinstance(value, (bool, int, float)) else ""
        raise ValueError(f"{noun} must be text, not {shown(value)}{hint}")
    return value


def _text(parameter: Parameter, value: object) -> str:
    return require_text(parameter.noun or parameter.name, value)


def _line(parameter: Parameter, value: object) -> str:
    """Text on one line, wherever the file breaks it."""
    return " ".join(_text(parameter, value).split())


def _file(_: Parameter, value: object) -> str:
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= MAX_FILE_NAME:
        raise ValueError(f"{shown(value)} is not the path of a file")
    return value


def _word(_: Parameter, value: object) -> str:
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise ValueError(f"{shown(value)} is not a word: 1 to 15 letters, digits, dashes or underscores")
    return value


def _ipv6_prefix(_: Parameter, value: object) -> str:
    if not isinstance(value, str) or "/" not in value or "%" in value:
        raise ValueError(f"{shown(value)} is not an IPv6 prefix, such as 2001:db8::/32")
    try:
        return str(IPv6Network(value))
    except ValueError as error:
        raise ValueError(
            f"{shown(value)} is not an IPv6 prefix, such as 2001:db8::/32: {visible(str(error))}"
        ) from error


def _ipv4_prefix(_: Parameter, value: object) -> str:
    wrong = f"{shown(value)} is not an IPv4 prefix, such as 192.0.2.0/24"
    if not isinstance(value, str) or "/" not in value:
        raise ValueError(wrong)
    try:
        return str(IPv4Network(value))
    except ValueError as error:
        raise ValueError(f"{wrong}: {visible(str(error))}") from error


_FORMS: dict[ParameterKind, Callable[[Parameter, object], Scalar]] = {
    "count": _count,
    "number": _number,
    "flag": _flag,
    "choice": _choice,
    "name": _name,
    "file": _file,
    "text": _text,
    "line": _line,
    "ipv4-prefix": _ipv4_prefix,
    "ipv6-prefix": _ipv6_prefix,
}
