"""Lists of levels and `$name` at the options of paths: each level becomes a path of its own.

`tunnel: {gre: {nodes: [r1, r3], mtu: [1280, 1480]}}` is read as if the paths `tunnel-mtu-1280` and `tunnel-mtu-1480`
were written. The origin of each value is kept, so that messages name the line in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from ..mechanisms import Mechanism
from ..model.identifiers import NAME
from ..model.parameter import Parameter, ParameterKind, Scalar
from ..model.quoting import shown
from .factors import Factors
from .paths_file import engine_of
from .reader import Reader
from .yaml_source import KeyPath

MAX_PATHS_OF_LEVELS = 100
"""The largest number of paths that levels of options may make in one experiment. Each is compared with the baseline,
and installed in every form of the network."""

UNSWEPT: frozenset[ParameterKind] = frozenset({"command", "commands", "eam", "families", "files"})
"""The kinds of options that are no single value: a list or a mapping is all of such an option."""

_NO_NAME = re.compile(r"[^A-Za-z0-9._]+")


@dataclass(frozen=True, kw_only=True)
class _Axis:
    """Options of a path that change together, and their levels.

    Attributes:
        option: the first of them, which gives the levels their names.
        keys: the options, by the keys that lead to them below the path.
        values: the levels, in base units.
        written: the same as they are written.
        places: where each level is in the file.
    """

    option: Parameter
    keys: tuple[KeyPath, ...]
    values: tuple[Scalar, ...]
    written: tuple[Any, ...]
    places: tuple[KeyPath, ...]

    def name_of(self, level: int) -> str:
        """Such as `mtu-1280`: the option and a level, in characters that the name of a path may have."""
        return f"{self.option.name}-{_NO_NAME.sub('-', self.option.format(self.values[level])).strip('-')}"


def write_levels(
    reader: Reader, factors: Factors, value: Any, mechanisms: Mapping[str, Mechanism]
) -> tuple[Any, dict[str, tuple[str, ...]]]:
    """The mapping of paths with a path for each level, and the paths that each name stands for: all levels of a path as
    it is written, and each by itself. What is wrong with levels is noted."""
    if not isinstance(value, dict):
        return value, {}
    items: dict[str, Any] = {}
    texts: dict[str, tuple[str, ...]] = {}
    for name, written in value.items():
        item, axes = _axes(reader, factors, ("paths", name), written, mechanisms)
        number = prod(len(axis.values) for axis in axes)
        before = sum(map(len, texts.values()))
        if axes and before + number > MAX_PATHS_OF_LEVELS:
            message = f"the levels of options would make {before + number} paths, more than {MAX_PATHS_OF_LEVELS}"
            reader.problem(("paths", name), f"{message}; give fewer levels")
            number = 1
        if number == 1 or not NAME.fullmatch(name):
            # The reader of the paths reports a wrong name; with the first level the rest can be checked.
            items[name] = _at(reader, name, name, item, axes, (0,) * len(axes))
        else:
            paths = dict(_paths_of(reader, name, item, axes, value.keys() | items.keys()))
            texts[name] = tuple(paths)
            items |= paths
    return items, {name: (name,) for name in items} | texts


def _paths_of(
    reader: Reader, name: str, item: Any, axes: list[_Axis], taken: set[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The paths of all levels, the last option varying fastest."""
    seen = set(taken)
    for levels in product(*(range(len(axis.values)) for axis in axes)):
        words = (axis.name_of(level) for axis, level in zip(axes, levels, strict=True) if len(axis.values) > 1)
        path = "-".join((name, *words))
        wrong = "it has more than 40 characters" if not NAME.fullmatch(path) else "another path has that name"
        if not NAME.fullmatch(path) or path in seen:
            message = f"the path of this level would be called {shown(path)}, and {wrong}"
            reader.problem(
                ("paths", name), f"{message}; give {shown(name)} another name, or write a path for each level"
            )
            return
        seen.add(path)
        yield path, _at(reader, name, path, item, axes, levels)


def _at(reader: Reader, name: str, path: str, item: Any, axes: list[_Axis], levels: tuple[int, ...]) -> Any:
    """The item of a path with these levels put in, and the places of its values."""
    origin = reader.in_file(("paths", name))
    if path != name:
        reader.moved["paths", path] = origin
    for axis, level in zip(axes, levels, strict=True):
        for keys in axis.keys:
            item = _with(item, keys, axis.written[level])
            reader.moved["paths", path, *keys] = axis.places[level]
    return item


def _with(item: Any, keys: KeyPath, value: Any) -> Any:
    """A copy of nested mappings with a value at these keys."""
    first, *others = keys
    return item | {first: _with(item[first], tuple(others), value) if others else value}


def _without(item: Any, keys: KeyPath) -> Any:
    """A copy of nested mappings without the value at these keys."""
    first, *others = keys
    if others:
        return item | {first: _without(item[first], tuple(others))}
    return {key: value for key, value in item.items() if key != first}


def _axes(
    reader: Reader, factors: Factors, place: KeyPath, item: Any, mechanisms: Mapping[str, Mechanism]
) -> tuple[Any, list[_Axis]]:
    """A path without options whose levels are wrong, which are noted; and what varies in it."""
    above, options = _options_of(item)
    name = item.get("mechanism", *above) if options else None
    kind = mechanisms.get(name) if isinstance(name, str) else None
    axes: dict[KeyPath, _Axis] = {}
    for key, value in options.items():
        option = None if kind is None else _swept_option(kind, key)
        is_shared = isinstance(value, str) and value.startswith("$")
        if option is None or not (is_shared or isinstance(value, list)):
            continue
        keys = (*above, key)
        values = factors.of_option((*place, *keys), value, option.parse)
        if values is None:
            item = _without(item, keys)
            continue
        origin: KeyPath = ("factors", value[1:]) if is_shared else reader.in_file((*place, *keys))
        written = factors.levels_of(value)
        same = axes.get(origin)
        axes[origin] = _Axis(
            option=option if same is None else same.option,
            keys=(keys,) if same is None else (*same.keys, keys),
            values=values if same is None else same.values,
            written=tuple(written),
            places=tuple(_place_of(reader, origin, index) for index in range(len(written))),
        )
    return item, list(axes.values())


def _place_of(reader: Reader, origin: KeyPath, level: int) -> KeyPath:
    """The place of a level in its list; that of the list where its levels have no lines of their own."""
    return (*origin, level) if (*origin, level) in reader.source.lines else origin


def _options_of(item: Any) -> tuple[KeyPath, dict[str, Any]]:
    """The options of a path as it is written, and the keys that lead to them; none where its form has none."""
    if not isinstance(item, dict):
        return (), {}
    if "mechanism" in item:
        return (), item
    above = tuple(item)
    within = item[above[0]] if len(above) == 1 else None
    return above, within if isinstance(within, dict) else {}


def _swept_option(kind: Mechanism, key: object) -> Parameter | None:
    """The option of that name, or the engine, if one value of it is a single one."""
    if key == "engine":
        return engine_of(kind)
    option = kind.option(str(key))
    return None if option is None or option.kind in UNSWEPT else option
