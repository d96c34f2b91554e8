"""Parts of the schema of experiment files: types of JSON, definitions, and values of parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..mechanisms.program_options import MAX_SETUP
from ..model.identifiers import DEVICE, LINK_NAME, SSH_DESTINATION
from ..model.parameter import MAX_FILE_NAME, Parameter, ParameterKind
from .factors import MAX_LEVELS

Schema = dict[str, Any]

_BOUNDED = ("count", "number", "mtu")
"""The kinds whose schema has their bounds."""
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


def parameter_schema(parameter: Parameter) -> Schema:
    """The schema of a parameter's value: a value, or levels of it."""
    described = parameter.doc + bounds_of(parameter)
    return {**swept(value_schema(parameter)), "description": description_of(parameter, described)}


def bounds_of(parameter: Parameter) -> str:
    """The bounds of a parameter in words; empty: it has none, or its schema has them."""
    if parameter.kind in _BOUNDED or parameter.minimum is None or parameter.maximum is None:
        return ""
    return f"; from {parameter.format(parameter.minimum)} to {parameter.format(parameter.maximum)}"


def description_of(parameter: Parameter, doc: str) -> str:
    """The description of a parameter, and its default."""
    return f"{doc}; unless given: {parameter.default_text}" if parameter.default_text else doc


def value_schema(parameter: Parameter) -> Schema:
    """One value of a parameter."""
    kind: ParameterKind = parameter.kind
    if kind == "count":
        return integer(*parameter.whole_bounds)
    if kind == "choice":
        return {"enum": [*parameter.choices, *_as_numbers(parameter.choices)]}
    if kind == "number":
        return {"type": "number", "minimum": parameter.minimum, "maximum": parameter.maximum}
    return _FORMS[kind] if kind in _FORMS else ref(kind)


def _as_numbers(choices: Sequence[str]) -> list[int | float]:
    """Those of the choices that are numbers in YAML unless they are in quotes, such as versions."""
    return [float(choice) if "." in choice else int(choice) for choice in choices if _NUMBER.fullmatch(choice)]


def swept(value: Schema) -> Schema:
    """A value, a list of levels, or a shared factor."""
    return {"anyOf": [value, ref("factor"), levels(value)]}


def levels(value: Schema) -> Schema:
    """A list of levels."""
    return {"type": "array", "items": value, "minItems": 1, "maxItems": MAX_LEVELS}


def object_of(properties: Mapping[str, Schema], required: Iterable[str] = ()) -> Schema:
    """An object with these keys and no others."""
    schema: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return schema | ({"required": list(required)} if required else {})


def named(item: Schema) -> Schema:
    """An object with such values, by name."""
    return {"type": "object", "additionalProperties": item}


def pair(item: Schema) -> Schema:
    """A list of two."""
    return {"type": "array", "items": item, "minItems": 2, "maxItems": 2}


def integer(minimum: int, maximum: int) -> Schema:
    """A whole number, with its bounds."""
    return {"type": "integer", "minimum": minimum, "maximum": maximum}


def ref(name: str) -> Schema:
    """One of the schema's definitions."""
    return {"$ref": f"#/$defs/{name}"}


def whole(pattern: str) -> str:
    """A pattern that all of a text matches."""
    return f"^{pattern}$"


_FORMS: Mapping[str, Schema] = {
    "file": {"type": "string", "minLength": 1, "maxLength": MAX_FILE_NAME},
    "mtu-or-size": {"anyOf": [ref("mtu"), ref("size")]},
    "ipv4-prefix": {"type": "string", "pattern": r"^[0-9.]+/[0-9]+$"},
    "ipv6-prefix": {"type": "string", "pattern": r"^[0-9A-Fa-f:.]+/[0-9]+$"},
    "eam": {"anyOf": [{"type": "object", "additionalProperties": {"type": "string"}}, {"type": "string"}]},
    "files": named({"type": "string"}),
    "program": ref("program-end"),
    "families": {"anyOf": [{"enum": [4, 6]}, pair({"enum": [4, 6]})]},
    "commands": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": MAX_SETUP},
    "cidr": {"type": "string", "pattern": r"^\S+/[0-9]+$"},
    "row-mtu": {"anyOf": [ref("mtu"), {"type": "string", "pattern": r"^\s*[0-9]+\s*[-+]\s*[0-9]+\s+per\s+link\s*$"}]},
    "sysctl": {"type": ["string", "number", "boolean"]},
    "link-name": {"type": ["string", "integer"], "pattern": whole(LINK_NAME.pattern)},
    "device": {"type": "string", "pattern": whole(DEVICE.pattern)},
    "ssh": {"type": "string", "pattern": whole(SSH_DESTINATION.pattern)},
    **{
        kind: {"type": "string", "minLength": 1}
        for kind in ("command", "kernel", "address", "interface", "text", "line")
    },
}
"""The kinds whose schema is not among the schema's definitions."""
