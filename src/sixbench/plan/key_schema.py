"""The JSON Schema of the mappings and lists that `keys` declares."""

from __future__ import annotations

from typing import Any

from ..model.parameter import Parameter, Scalar
from .keys import (
    Key,
    KnownKeys,
    NamedValues,
    NoValue,
    SharedValue,
    SweptParameter,
    Value,
    ValueForms,
    ValueList,
    ValuePair,
)
from .path_levels import UNSWEPT
from .schema_terms import Schema, bounds_of, named, object_of, pair, parameter_schema, ref, value_schema, whole

_UNQUOTED = ("flag", "count", "number", "mtu")
"""The kinds whose values YAML has as they are; those of others are text."""


class KeySchemas:
    """Schemas of declared values.

    Attributes:
        definitions: those that the schemas refer to, by name.
    """

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}

    def properties(self, entries: tuple[Key, ...]) -> dict[str, Schema]:
        """The schema of each key, with its meaning."""
        return {entry.name: self._entry(entry) for entry in entries}

    def value(self, value: Value) -> Schema:
        """The schema of a value."""
        match value:
            case Parameter():
                return value_schema(value)
            case SweptParameter():
                return self._swept(value)
            case KnownKeys():
                return self._keys(value)
            case NamedValues():
                return self._names(value)
            case ValueList():
                return self._items(value)
            case ValuePair():
                return pair(self.value(value.item))
            case ValueForms():
                return {"anyOf": [self.value(form) for form in value.values]}
            case NoValue():
                return {"type": "null"}
            case SharedValue():
                return self._defined(value)

    def _entry(self, entry: Key) -> Schema:
        if isinstance(entry, SweptParameter):
            return self._swept(entry)
        if isinstance(entry, Parameter):
            return _plain(entry)
        return {**self.value(entry.value), **_notes(entry.doc, entry.default, entry.unless_given)}

    def _swept(self, swept: SweptParameter) -> Schema:
        schema = parameter_schema(swept.parameter)
        if not swept.definition:
            return schema
        self.definitions.setdefault(swept.definition, schema)
        return ref(swept.definition)

    def _keys(self, keys: KnownKeys) -> Schema:
        schema = object_of(self.properties(keys.entries), required=tuple(keys.missing))
        return schema | ({"minProperties": keys.least} if keys.least else {})

    def _names(self, names: NamedValues) -> Schema:
        schema: Schema = {"type": "object"} if names.item is None else named(self.value(names.item))
        if names.names is not None:
            schema["propertyNames"] = {"pattern": whole(names.names.pattern.pattern)}
        if names.empty:
            schema["minProperties"] = 1
        return schema | ({} if names.most is None else {"maxProperties": names.most})

    def _items(self, items: ValueList) -> Schema:
        schema: Schema = {"type": "array", "items": self.value(items.item)}
        if items.empty:
            schema["minItems"] = 1
        return schema | ({} if items.most is None else {"maxItems": items.most})

    def _defined(self, defined: SharedValue) -> Schema:
        if defined.value is not None and defined.name not in self.definitions:
            self.definitions[defined.name] = self.value(defined.value)
        return ref(defined.name)


def _plain(parameter: Parameter) -> Schema:
    """A key with a single value, which takes no levels."""
    doc = parameter.doc + bounds_of(parameter)
    if parameter.default is None or parameter.kind in UNSWEPT:
        return {**value_schema(parameter), **_notes(doc, None, parameter.default_text)}
    return {**value_schema(parameter), **_notes(doc, _written(parameter, parameter.default), parameter.unless_given)}


def _notes(doc: str, default: Any, unless_given: str) -> Schema:
    """The keywords that explain a key."""
    words = f"{doc}; unless given: {unless_given}" if unless_given else doc
    return ({} if default is None else {"default": default}) | ({"description": words} if words else {})


def _written(parameter: Parameter, value: Scalar) -> Scalar:
    """A value as a file would write it."""
    if parameter.kind in _UNQUOTED or (value == 0 and not isinstance(value, str)):
        return value
    return parameter.format(value)
