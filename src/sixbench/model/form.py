"""Forms: what an answer of an agent, or a part of a record, must be, and the words for what is not.

A form has the keys that sixbench reads. Other keys are ignored, because a later version may write more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from .quoting import shown, visible

MOST = 1e21
"""The largest number of a trial. 30 years are 1e18 ns."""
MAX_TEXT = 10_000
"""The longest text of a record, in characters."""
MAX_NAME = 300
"""The longest name in a record, such as that of a link, a counter or a pair of addresses."""
MAX_ITEMS = 100_000
"""The longest list of a record. A histogram has some thousand buckets at most."""

Natural = Annotated[int, Field(strict=True, ge=0, lt=2**64)]
"""A count, a size or a time. The agent counts with 64 bits."""

Positive = Annotated[Natural, Field(gt=0)]

Time = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
"""Nanoseconds, as tables have them."""

Whole = Annotated[int, Field(strict=True, gt=-(2**64), lt=2**64)]
"""A difference of two counts. A counter that began anew makes it negative."""

Flag = Annotated[bool, Field(strict=True)]
"""True or false."""

Text = Annotated[str, Field(max_length=MAX_TEXT)]

ABSENT: Any = None
"""The default of a key that may be left out. `null` is no value of such a key: what is missing is absent."""


def _scalar(value: Any) -> Any:
    if type(value) is int:
        is_fit = -(2**63) <= value < 2**63
    elif type(value) is float:
        is_fit = abs(value) <= MOST  # false for NaN
    else:
        is_fit = type(value) is bool or (type(value) is str and len(value) <= MAX_TEXT)
    if not is_fit:
        raise PydanticCustomError("scalar", "a value that a parameter can have")
    return value


Number = Annotated[float, Field(strict=True, ge=-MOST, le=MOST)]
"""Whole or not."""

Scalar = Annotated[Any, BeforeValidator(_scalar)]
"""A value of a parameter or a level."""

Name = Annotated[str, Field(max_length=MAX_NAME, pattern=r"^[\x20[^\p{C}\p{Z}]]*$")]
"""Text on one line that names something."""

Counts = dict[Name, Natural]

Range = Annotated[list[Natural], Field(min_length=2, max_length=2)]
Ranges = list[Range]
"""Sequence numbers, first and last of each range."""


class Form(BaseModel):
    """The base of all forms. Nothing is converted: a number in quotes is no number."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


class Kept:
    """The base of what evidence keeps. JSON has lists and objects where these types have tuples and dataclasses. So it
    is numbers and truth values alone that are not converted."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(extra="ignore", allow_inf_nan=False)


def words_of(error: ValidationError) -> Iterator[str]:
    """The differences of a value from its form, each with the keys that lead there, such as
    `evidence.segments.0.packets is 5, which is not a list`."""
    for item in error.errors(include_url=False):
        place = ".".join(visible(str(key)) for key in item["loc"] if key != "[key]")
        yield _words(place, item)


_EXPECTED = {
    "int_": "a whole number",
    "float_": "a number",
    "finite_number": "a number",
    "bool_": "true or false",
    "string_pattern_mismatch": "text on one line",
    "string_too_long": "text as short as that of a record",
    "string_": "text",
    "list_": "a list",
    "tuple_": "a list",
    "dict_": "an object",
    "model_": "an object",
    "dataclass_": "an object",
    "mapping_": "an object",
    "greater_": "a number that a trial can have",
    "less_": "a number that a trial can have",
}
"""The expected value, by the beginning of the error's type (docs.pydantic.dev/latest/errors/validation_errors)."""


def _words(place: str, error: ErrorDetails) -> str:
    kind, value = error["type"], error["input"]
    if kind == "missing":
        return f"{place} is missing"
    if kind == "value_error":
        return f"{place}: {error['ctx']['error']}"
    if kind in ("too_short", "too_long") and isinstance(value, list):
        return f"{place} has {len(value)} entries, which are too {'few' if kind == 'too_short' else 'many'}"
    if kind == "literal_error":
        return f"{place} is {visible(shown(value))}, which is not {error['ctx']['expected'].replace(chr(39), '')}"
    expected = next((words for name, words in _EXPECTED.items() if kind.startswith(name)), error["msg"])
    return f"{place} is {visible(shown(value))}, which is not {expected}"
