"""The record of a trial as JSON: written, and read back with suspicion."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from . import record_types
from .evidence import evidence_to_json
from .form import words_of
from .quoting import shown
from .reason import Reason, ReasonKind
from .trial import TrialRecord

TRIAL_SCHEMA = "sixbench.trial/3"

_WITH_CELLS = "sixbench.trial/2"
"""The schema before this one, in which a worker was a `cell`."""
_OF_TEXTS = "sixbench.trial/1"
"""The schema before that, whose reasons were texts too."""


def record_to_json(record: TrialRecord) -> dict[str, Any]:
    """The form of `trial.json`."""
    data = {name: value for name in _names() if (value := getattr(record, name)) is not None}
    typed = {"reasons": [reason.to_json() for reason in record.reasons], "evidence": evidence_to_json(record.evidence)}
    if not record.uncertainty:
        del data["uncertainty"]
    return {"schema": TRIAL_SCHEMA} | data | typed


def record_from_json(data: dict[str, Any]) -> TrialRecord:
    """Reads `trial.json`, also of the schemas before. Keys of later versions are ignored. Raises `ValueError` on values
    of other types than `TrialRecord` has."""
    schema = data.get("schema")
    if schema not in (TRIAL_SCHEMA, _WITH_CELLS, _OF_TEXTS):
        raise ValueError(f"its schema is {shown(schema)}, and this sixbench reads {TRIAL_SCHEMA}")
    if schema != TRIAL_SCHEMA:
        data = {"worker" if name == "cell" else name: value for name, value in data.items()}
    try:
        record = record_adapter().validate_python(data)
    except ValidationError as error:
        raise ValueError(next(words_of(error))) from None
    read = _untyped if schema == _OF_TEXTS else Reason.from_json
    reasons = [read(reason) for reason in data.get("reasons", [])]
    # Numbers stay as they were written: 5 is not 5.0.
    written = {name: data[name] for name in _names() if name in data}
    vars(record).update(written, reasons=reasons, evidence=record.evidence)
    return record


@cache
def _names() -> tuple[str, ...]:
    return tuple(item.name for item in fields(TrialRecord))


@cache
def record_adapter() -> TypeAdapter[TrialRecord]:
    """Checks records. Building it takes some hundredths of a second."""
    adapter = TypeAdapter(TrialRecord)
    # It imports the types of its fields for checkers only, because few commands read a record, and pydantic takes long.
    adapter.rebuild(_types_namespace=vars(record_types))
    return adapter


def _untyped(text: Any) -> Reason:
    if not isinstance(text, str):
        raise ValueError(f"a reason is {shown(text)}, which is not text")
    return Reason(kind=ReasonKind.UNTYPED, text=text)
