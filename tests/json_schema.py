"""As much of JSON Schema (draft 2020-12) as the schema of experiments uses, to hold it against experiments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Schema = dict[str, Any]
Complaints = Iterator[str]


def complaints(schema: Schema, value: Any) -> list[str]:
    """Complaints about a value; empty if there are none. Raises `KeyError` on a keyword that is not known here."""
    return list(_check(schema, schema, value, "top"))


def _check(root: Schema, schema: Schema, value: Any, where: str) -> Complaints:
    for keyword, given in schema.items():
        if keyword in _NOTES:
            continue
        applies, right = _SIMPLE.get(keyword, (None, None))
        if applies is None or right is None:
            yield from _NESTED[keyword](root, schema, value, where)
        elif isinstance(value, applies) and not isinstance(value, bool) and not right(value, given):
            yield f"{where}: {keyword} {given}"


def _type(root: Schema, schema: Schema, value: Any, where: str) -> Complaints:
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, _TYPES[name]) and (name == "boolean") == isinstance(value, bool) for name in names):
        yield f"{where}: is no {' or '.join(names)}"


def _enum(root: Schema, schema: Schema, value: Any, where: str) -> Complaints:
    if not any(value == item and isinstance(value, bool) == isinstance(item, bool) for item in schema["enum"]):
        yield f"{where}: is none of {schema['enum']}"


def _any_of(root: Schema, schema: Schema, value: Any, where: str) -> Complaints:
    checks = [list(_check(root, item, value, where)) for item in schema["anyOf"]]
    if all(checks):
        yield f"{where}: {' and '.join(check[0] for check in checks)}"


def _ref(root: Schema, schema: Schema, value: Any, where: str) -> Complaints:
    yield from _check(root, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], value, where)


def _properties(root: Schema, schema: Schema, value: Any, where: str) -> Complaints:
    for name in value if isinstance(value, dict) else ():
        if name in schema["properties"]:
            yield from _check(root, schema["properties"][name], value[name], f"{where}.{name}")


def _additional(root: Schema, schema: Schema, value: Any, where: str) -> Complaints:
    for name in value if isinstance(value, dict) else ():
        if name not in schema.get("properties", {}):
            if schema["additionalProperties"] is False:
                yield f"{where}: has {name}"
            else:
                yield from _check(root, schema["additionalProperties"], value[name], f"{where}.{name}")


def _names(root: Schema, schema: Schema, value: Any, where: str) -> Complaints:
    for name in value if isinstance(value, dict) else ():
        yield from _check(root, schema["propertyNames"], name, f"{where}.{name}")


def _items(root: Schema, schema: Schema, value: Any, where: str) -> Complaints:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        yield from _check(root, schema["items"], item, f"{where}.{index}")


_NOTES = {"$schema", "$defs", "title", "description", "default", "examples"}

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "null": (type(None),),
    "integer": (int,),
    "number": (int, float),
}

_SIMPLE: dict[str, tuple[tuple[type, ...], Callable[[Any, Any], bool]]] = {
    "required": ((dict,), lambda value, given: set(given) <= value.keys()),
    "minProperties": ((dict,), lambda value, given: len(value) >= given),
    "maxProperties": ((dict,), lambda value, given: len(value) <= given),
    "minItems": ((list,), lambda value, given: len(value) >= given),
    "maxItems": ((list,), lambda value, given: len(value) <= given),
    "uniqueItems": (
        (list,),
        lambda value, given: not given or all(item not in value[:i] for i, item in enumerate(value)),
    ),
    "minLength": ((str,), lambda value, given: len(value) >= given),
    "maxLength": ((str,), lambda value, given: len(value) <= given),
    "pattern": ((str,), lambda value, given: re.search(given, value) is not None),
    "minimum": ((int, float), lambda value, given: value >= given),
    "maximum": ((int, float), lambda value, given: value <= given),
}
"""Checks by keywords that concern values of some types only: the types, and the check."""

_NESTED: dict[str, Callable[[Schema, Schema, Any, str], Complaints]] = {
    "type": _type,
    "enum": _enum,
    "anyOf": _any_of,
    "$ref": _ref,
    "properties": _properties,
    "additionalProperties": _additional,
    "propertyNames": _names,
    "items": _items,
}
