"""Factors and their levels. A value can be a constant, a list, or the `$name` of a shared factor."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from ..model.parameter import Scalar
from ..model.quoting import shown
from .key_reader import read_names
from .keys import NamedValues, NameRule, SharedValue
from .reader import Reader, suggest
from .yaml_source import KeyPath

MAX_LEVELS = 1000

FACTOR_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
FACTORS = NamedValues(
    what="factors",
    item=SharedValue(name="factor-levels"),
    names=NameRule(
        noun="a factor",
        pattern=FACTOR_NAME,
        rule="a name is 1 to 40 of A-Z, a-z, 0-9, dash and underscore, and starts with a letter",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A parameter that is swept. `column` is its name in records, with the unit; `values` its levels in that unit."""

    column: str
    values: tuple[Scalar, ...]


@dataclass(frozen=True, kw_only=True)
class Constant:
    """A value that does not vary."""

    value: Any


@dataclass(frozen=True, kw_only=True)
class Varying:
    """A value that follows a factor. The factor is named by its key. `derive` computes the value from the level; if it
    is None, the value is the level."""

    factor: Hashable
    derive: Callable[[Scalar], Any] | None = None


Setting = Constant | Varying

Assignment = Mapping[Hashable, Scalar]
"""One level for each of some factors, by their keys."""


class Factors:
    """All factors of an experiment, filled while it is read."""

    def __init__(self, reader: Reader, data: Mapping[str, Any]) -> None:
        """Takes the `factors` of an experiment, if it has any."""
        self.reader = reader
        self.declared: dict[str, list[Any]] = {}
        self.by_key: dict[Hashable, Factor] = {}
        self.used: set[str] = set()
        self.of_paths: set[str] = set()
        for name, value in read_names(reader, ("factors",), data.get("factors", {}), FACTORS).items():
            self.declared[name] = self._levels(("factors", name), value)

    def setting(
        self,
        path: KeyPath,
        value: Any,
        parse: Callable[[object], Scalar],
        suffix: str,
        factor_key: tuple[Hashable, str],
    ) -> Setting | None:
        """A constant, or a factor.

        Args:
            parse: raises `ValueError` saying what would be right.
            suffix: the end of the column of a shared factor, such as `_bytes`.
            factor_key: key and column of the factor that a list at this place makes.
        """
        if isinstance(value, str) and value.startswith("$"):
            return self._shared(path, value[1:], parse, suffix)
        if isinstance(value, list):
            values = self._parse_all(path, self._levels(path, value), parse)
            if values is None:
                return None
            if len(values) == 1:
                return Constant(value=values[0])
            key = (factor_key[0], values)
            self.by_key[key] = Factor(column=factor_key[1], values=values)
            return Varying(factor=key)
        parsed = self.reader.parsed(path, value, parse)
        return None if parsed is None else Constant(value=parsed)

    def of_option(self, path: KeyPath, value: Any, parse: Callable[[object], Scalar]) -> tuple[Scalar, ...] | None:
        """The levels of an option of a path, from a list or a shared factor. Each makes a path of its own, so that they
        are not among the levels of combinations."""
        if isinstance(value, list):
            return self._parse_all(path, self._levels(path, value), parse)
        name = value.removeprefix("$")
        if not self._is_declared(path, name):
            return None
        self.of_paths.add(name)
        return self._parse_all(("factors", name), self.declared[name], parse)

    def levels_of(self, value: Any) -> list[Any]:
        """The levels of a list or a shared factor, or the value alone, as they are written and not yet parsed."""
        if isinstance(value, str) and value.startswith("$"):
            value = self.declared.get(value[1:])
        return value if isinstance(value, list) else [value]

    def first_level(self, value: Any) -> Any:
        """The first level of a list or a shared factor, or the value itself, as it is written and not yet parsed."""
        if isinstance(value, str) and value.startswith("$"):
            value = self.declared.get(value[1:])
        return (value[0] if value else None) if isinstance(value, list) else value

    def name_of(self, column: str) -> str:
        """The name of the shared factor of that column; the column itself if there is none."""
        named = ((name, self.by_key.get(("$", name))) for name in self.declared)
        return next((name for name, factor in named if factor is not None and factor.column == column), column)

    def unused(self) -> list[str]:
        """The declared factors that nothing refers to."""
        return [name for name in self.declared if name not in self.used]

    def assignments(self, keys: list[Hashable], most: int | None = None) -> Iterator[Assignment]:
        """Every combination of the levels of these factors, the last factor varying fastest. At most the first
        `most`."""
        levels = (self.by_key[key].values for key in keys)
        return (dict(zip(keys, values, strict=True)) for values in islice(product(*levels), most))

    def _shared(self, path: KeyPath, name: str, parse: Callable[[object], Scalar], suffix: str) -> Setting | None:
        if not self._is_declared(path, name):
            return None
        if name in self.of_paths:
            words = f"each level of ${name} makes a path of its own, since an option of a path refers to it"
            self.reader.problem(path, f"{words}; declare another factor for this")
            return None
        values = self._parse_all(("factors", name), self.declared[name], parse)
        if values is None:
            return None
        column = name.replace("-", "_")
        if not column.endswith(suffix):
            column += suffix
        key = ("$", name)
        factor = Factor(column=column, values=values)
        if self.by_key.setdefault(key, factor) != factor:
            self.reader.problem(path, f"the factor ${name} is used for two different quantities; declare two factors")
            return None
        return Varying(factor=key)

    def _is_declared(self, path: KeyPath, name: str) -> bool:
        """True if there is a shared factor of that name, which is used then. That there is none is noted."""
        if name in self.declared:
            self.used.add(name)
            return True
        words = suggest(name, self.declared) if self.declared else "declare it under factors"
        self.reader.problem(path, f"there is no factor {shown('$' + name)}; {words}")
        return False

    def _levels(self, path: KeyPath, value: Any) -> list[Any]:
        levels = value if isinstance(value, list) else [value]
        if not levels:
            self.reader.problem(path, "the list is empty; give at least one level, or leave the key out")
        if len(levels) > MAX_LEVELS:
            self.reader.problem(path, f"{len(levels)} levels are more than {MAX_LEVELS}; give fewer")
            return levels[:1]
        return levels

    def _parse_all(
        self, path: KeyPath, levels: list[Any], parse: Callable[[object], Scalar]
    ) -> tuple[Scalar, ...] | None:
        values: dict[Scalar, None] = {}
        for index, level in enumerate(levels):
            place = (*path, index) if len(levels) > 1 else path
            parsed = self.reader.parsed(place, level, parse)
            if parsed is None:
                return None
            if parsed in values:
                self.reader.problem(place, f"the level {shown(level)} is given twice; keep one")
                return None
            values[parsed] = None
        return tuple(values) or None


def resolve(setting: Setting | None, assignment: Assignment) -> Any:
    """The value under an assignment; None for a setting that is not given."""
    if setting is None:
        return None
    if isinstance(setting, Constant):
        return setting.value
    level = assignment[setting.factor]
    return level if setting.derive is None else setting.derive(level)
