"""Declarations of the mappings of a file: their keys, and the values that keys can have.

A mapping is declared once. `key_reader` reads it, `key_schema` makes its JSON Schema, and the tables of the documents
are held against it. A key with a single value is a `Parameter`, and a `SweptParameter` where it takes levels too. Any
other key is a `CompoundKey`, whose value is again declared: a mapping of known keys, a mapping by names, a list, or one
of several forms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..model.parameter import Parameter
from ..model.quoting import shown
from .reader import as_name


@dataclass(frozen=True, kw_only=True)
class SweptParameter:
    """A parameter that takes levels too: a list of values, or the `$name` of a shared factor.

    Attributes:
        definition: its name among the definitions of the JSON Schema; empty: it is written out where it stands.
    """

    parameter: Parameter
    definition: str = ""

    @property
    def name(self) -> str:
        """The key."""
        return self.parameter.name


@dataclass(frozen=True, kw_only=True)
class CompoundKey:
    """A key whose value is no single one.

    Attributes:
        doc: its meaning, as documents and editors have it.
        default: the value where it is not given, as a file would write it; None: no single value.
        unless_given: what holds where it is not given, in words, if `default` does not say it all.
    """

    name: str
    doc: str
    value: Value
    default: Any = None
    unless_given: str = ""


Key = Parameter | SweptParameter | CompoundKey
"""A key of a mapping."""


@dataclass(frozen=True, kw_only=True)
class KnownKeys:
    """A mapping with known keys.

    Attributes:
        what: a noun for messages, such as `a link`.
        missing: the keys that must be given, each with the sentence where it is not; empty: that it is missing.
        least: the fewest keys that make sense.
    """

    what: str
    entries: tuple[Key, ...]
    missing: Mapping[str, str] = field(default_factory=dict)
    least: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The keys, in the order of the documents."""
        return tuple(entry.name for entry in self.entries)


@dataclass(frozen=True, kw_only=True)
class NameRule:
    """The names that keys of a mapping can be.

    Attributes:
        noun: what they name, such as `a node`.
        rule: the sentence about names, for messages.
        sentence: all of the message about a wrong name, where it has other words.
    """

    noun: str
    pattern: re.Pattern[str]
    rule: str = ""
    sentence: str = ""

    def allows(self, name: str) -> bool:
        """True if a text is such a name."""
        return self.pattern.fullmatch(name) is not None

    def parse(self, value: object) -> str:
        """A name; a whole number is one too. Raises `ValueError`."""
        name = as_name(value)
        if not isinstance(name, str) or not self.allows(name):
            raise ValueError(self.sentence or f"{shown(name)} cannot name {self.noun}: {self.rule}")
        return name


@dataclass(frozen=True, kw_only=True)
class NamedValues:
    """A mapping from names of anyone's choice to values.

    Attributes:
        what: a noun for messages, such as `nodes`.
        names: the rule for the names; None: any text.
        empty: the sentence where it has no name; empty: it need not have any.
        fewer: the advice where it has too many.
    """

    what: str
    item: Value | None
    names: NameRule | None = None
    most: int | None = None
    empty: str = ""
    fewer: str = "leave some out"


@dataclass(frozen=True, kw_only=True)
class ValueList:
    """A list.

    Attributes:
        what: a noun for messages, such as `links`.
        empty: the sentence where it has no element; empty: it need not have any.
        fewer: the advice where it has too many.
    """

    what: str
    item: Value
    most: int | None = None
    empty: str = ""
    fewer: str = "leave some out"


@dataclass(frozen=True, kw_only=True)
class ValuePair:
    """A list of two. `rule` is the sentence about it, such as `endpoints must be a list of two nodes`."""

    item: Value
    rule: str


@dataclass(frozen=True)
class ValueForms:
    """One of several forms. The reader of the key tells them apart."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class NoValue:
    """No value: `key:` alone."""


@dataclass(frozen=True, kw_only=True)
class SharedValue:
    """One of the definitions of the JSON Schema, which several places share.

    Attributes:
        value: its declaration; None: it follows from a registry (`schema`).
    """

    name: str
    value: Value | None = None


A_NAME = Parameter(name="name", kind="name", doc="")
"""A name that refers to something."""

Value = (
    Parameter | SweptParameter | KnownKeys | NamedValues | ValueList | ValuePair | ValueForms | NoValue | SharedValue
)
