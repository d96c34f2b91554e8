"""Options of the mechanisms of `sixbench translate`: those that experiments have, and those that only packets need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..model.parameter import Parameter, ParameterKind
from .readers import TextReader, choice, ipv4_net, ipv6_prefix, number

Given = Mapping[str, Any]
"""The values of the options that were given, by option without its dashes."""

_FLAG_DOC = "whether to "
"""Beginning of the text of a flag of experiments; the rest is a sentence in the imperative."""
_READERS: Mapping[ParameterKind, Callable[[Parameter], TextReader]] = {
    "ipv4-prefix": lambda parameter: ipv4_net,
    "ipv6-prefix": lambda parameter: ipv6_prefix,
    "choice": lambda parameter: choice(*parameter.choices),
    "count": lambda parameter: number(*_bounds(parameter)),
    "mtu": lambda parameter: number(*_bounds(parameter), "BYTES"),
    "mtu-or-size": lambda parameter: number(*_bounds(parameter), "BYTES"),
}


@dataclass(frozen=True, kw_only=True)
class PacketOption:
    """An option of a mechanism.

    Attributes:
        name: such as `local`, given as `--local`.
        read: None: the option is a flag and has no value.
        metavar: placeholder of its value in the help, if it is not the reader's.
        turns_off: whether the flag is given as `--no-NAME`, because the opposite is the default.
        parameter: the parameter of experiments that it is; None: only packets need it.
    """

    name: str
    help: str
    metavar: str = ""
    read: Callable[[str], Any] | None = None
    is_required: bool = False
    is_repeated: bool = False
    turns_off: bool = False
    parameter: Parameter | None = None

    @property
    def placeholder(self) -> str:
        """The placeholder of its value in the help."""
        return self.metavar or (self.read.metavar if isinstance(self.read, TextReader) else "")


def option_of(
    parameter: Parameter,
    *,
    metavar: str = "",
    is_required: bool = False,
    is_repeated: bool = False,
    has_default: bool = True,
    note: str = "",
) -> PacketOption:
    """The option for a parameter of experiments: its name, kind, bounds, text and default.

    Args:
        parameter: of a kind that has a reader, or a flag whose text begins with `whether to`.
        is_required: whether it must be given, because a packet has no topology from which a default could come.
        has_default: whether the parameter's default holds here too.
        note: sentences that only packets need.
    """
    is_flag = parameter.kind == "flag"
    has_default = has_default and not is_required and not is_repeated
    text = _flag_help(parameter) if is_flag else _value_help(parameter, has_default, is_repeated)
    return PacketOption(
        name=parameter.name,
        help=f"{text} {note}".rstrip(),
        metavar=metavar,
        read=None if is_flag else reader_of(parameter),
        is_required=is_required,
        is_repeated=is_repeated,
        turns_off=is_flag and parameter.default is True,
        parameter=parameter,
    )


def reader_of(parameter: Parameter) -> TextReader:
    """The reader of a parameter's value, by its kind, choices and bounds."""
    return _READERS[parameter.kind](parameter)


def value_of(given: Given, parameter: Parameter) -> Any:
    """The value that was given for a parameter, or its default; None: it has none."""
    return given.get(parameter.name, parameter.default)


def _flag_help(parameter: Parameter) -> str:
    assert parameter.doc.startswith(_FLAG_DOC), f"the text of the flag {parameter.name} begins with {_FLAG_DOC!r}"
    order = parameter.doc.removeprefix(_FLAG_DOC)
    return f"Do not {order}." if parameter.default is True else f"{order[0].upper()}{order[1:]}."


def _value_help(parameter: Parameter, has_default: bool, is_repeated: bool) -> str:
    text = parameter.doc
    if not text.startswith(parameter.choices):
        text = text[0].upper() + text[1:]
    repeated = "; may be repeated" if is_repeated else ""
    default = f"; default: {parameter.default_text}" if has_default and parameter.default_text else ""
    return f"{text}{repeated}{default}."


def _bounds(parameter: Parameter) -> tuple[int, int]:
    assert parameter.minimum is not None
    assert parameter.maximum is not None
    return int(parameter.minimum), int(parameter.maximum)
