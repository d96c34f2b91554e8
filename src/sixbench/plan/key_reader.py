"""Reads the mappings and lists that `keys` declares. What is wrong is noted at its place, and left out."""

from __future__ import annotations

from typing import Any

from ..model.parameter import Parameter, Scalar
from ..model.quoting import shown
from .keys import A_NAME, KnownKeys, NamedValues, ValueList, ValuePair
from .reader import Reader, as_name
from .yaml_source import KeyPath


def read_keys(reader: Reader, place: KeyPath, value: Any, keys: KnownKeys) -> dict[str, Any]:
    """The mapping as it is written. Notes keys that are unknown, and those that are missing."""
    data = reader.mapping(place, value, keys.what, keys.names)
    if isinstance(value, dict):
        note_missing(reader, place, data, keys)
    return data


def note_missing(reader: Reader, place: KeyPath, data: dict[str, Any], keys: KnownKeys) -> None:
    """Notes the keys that must be given and are not."""
    missing = [key for key in keys.missing if key not in data]
    for key in (key for key in missing if keys.missing[key]):
        reader.problem(place, keys.missing[key])
    others = [key for key in missing if not keys.missing[key]]
    if others:
        reader.problem(place, f"{', '.join(others)} {'is' if len(others) == 1 else 'are'} missing")


def read_plain(reader: Reader, place: KeyPath, data: dict[str, Any], keys: KnownKeys) -> dict[str, Any]:
    """The values of those keys that have a single one, and are given and right."""
    values = {
        entry.name: read_value(reader, (*place, entry.name), data[entry.name], entry)
        for entry in keys.entries
        if isinstance(entry, Parameter) and entry.name in data
    }
    return {key: value for key, value in values.items() if value is not None}


def read_value(reader: Reader, place: KeyPath, value: Any, parameter: Parameter) -> Scalar | None:
    """A single value."""
    noun = parameter.noun or parameter.name
    if parameter.parser is not None:
        return reader.parsed(place, value, parameter.parse)
    if parameter.kind == "choice":
        return reader.one_of(place, value, noun, parameter.choices)
    if parameter.kind == "count":
        return reader.count(place, value, noun, *parameter.whole_bounds)
    if parameter.kind == "flag" and not isinstance(value, bool):
        reader.problem(place, f"{noun} must be true or false, not {shown(value)}")
        return None
    return reader.parsed(place, value, parameter.parse)


def read_names(reader: Reader, place: KeyPath, value: Any, names: NamedValues) -> dict[str, Any]:
    """The values by their names. Wrong names are kept, so that what refers to them can be read; nothing is kept where
    there are too many."""
    items = reader.mapping(place, value, names.what)
    if not items and isinstance(value, dict) and names.empty:
        reader.problem(place, names.empty)
    if _are_too_many(reader, place, len(items), names):
        return {}
    for name in items:
        if names.names is not None:
            reader.parsed((*place, name), name, names.names.parse)
    return items


def read_items(reader: Reader, place: KeyPath, value: Any, items: ValueList) -> list[Any]:
    """The elements of a list; none where there are too many."""
    elements = reader.sequence(place, value, items.what)
    if not elements and isinstance(value, list) and items.empty:
        reader.problem(place, items.empty)
    return [] if _are_too_many(reader, place, len(elements), items) else elements


def _are_too_many(reader: Reader, place: KeyPath, count: int, value: NamedValues | ValueList) -> bool:
    """True, and noted, if there are more values than there may be."""
    if value.most is None or count <= value.most:
        return False
    reader.problem(place, f"{count} {value.what} are more than {value.most}; {value.fewer}")
    return True


def read_pair(reader: Reader, place: KeyPath, value: Any, pair: ValuePair) -> tuple[Any, Any] | None:
    """The two elements; whole numbers are text where they are names."""
    if not isinstance(value, list) or len(value) != 2:
        given = f"{len(value)} of them" if isinstance(value, list) else shown(value)
        reader.problem(place, f"{pair.rule}, not {given}")
        return None
    first, second = map(as_name, value) if pair.item is A_NAME else value
    return first, second
