"""The types of a record of a trial (`model.trial`). They say what is read in `trial.json`, whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema

from . import parameter
from .evidence import KeptEvidence
from .form import ABSENT, MAX_ITEMS, Flag, Form, Name, Natural, Number, Scalar, Text, Time
from .reason import Reason
from .results import KeptResult

__all__ = [
    "Flag",
    "Histograms",
    "KeptEvidence",
    "Metrics",
    "Name",
    "Names",
    "OrAbsent",
    "Ordinal",
    "Reasons",
    "RepeatNumber",
    "SideResult",
    "Texts",
    "Time",
    "Uncertainty",
    "Values",
]

MAX_BLOCK = 10**9
"""Blocks and sequence numbers are far below it."""

Value = TypeVar("Value")


class ReadAs:
    """The form in which JSON has a value of another type."""

    def __init__(self, form: Any) -> None:
        self._form = form

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(self._form)


class NotNull:
    """Says that `null` is no value of a key that may be left out: what is missing is absent."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        nullable: Any = handler(source)
        return nullable["schema"]  # type: ignore[no-any-return]


class KeptHistogram(Form):
    """Values by bucket, and what follows from them (docs/protocol.md)."""

    buckets: Annotated[list[Annotated[list[Number], Field(min_length=2, max_length=2)]], Field(max_length=MAX_ITEMS)]
    count: Natural = ABSENT
    unit: Name = ABSENT
    min: Number = ABSENT
    max: Number = ABSENT
    mean: Number = ABSENT
    stdev: Number = ABSENT
    p50: Number = ABSENT
    p90: Number = ABSENT
    p99: Number = ABSENT
    p999: Number = ABSENT


OrAbsent = Annotated[Value | None, NotNull()]
"""A key that may be left out, but is not `null`."""

Ordinal = Annotated[int, Field(strict=True, ge=0, lt=MAX_BLOCK)]
RepeatNumber = Annotated[Ordinal, Field(ge=1)]
Texts = Annotated[list[Text], Field(max_length=MAX_ITEMS)]
Names = Annotated[list[Name], Field(max_length=MAX_ITEMS)]
Metrics = dict[Name, Number]
Uncertainty = dict[Name, Annotated[Number, Field(ge=0)]]
Values = Annotated[dict[str, parameter.Scalar], ReadAs(dict[Name, Scalar])]
"""Values of parameters or levels, by column."""

Reasons = Annotated[list[Reason], ReadAs(Annotated[list[Any], Field(max_length=MAX_ITEMS)])]
"""`model.reason` reads each."""

Histograms = Annotated[Mapping[str, dict[str, Any]], ReadAs(dict[Name, KeptHistogram])]
SideResult = Annotated[Mapping[str, Any], ReadAs(KeptResult)]
"""An agent's result without its series."""
