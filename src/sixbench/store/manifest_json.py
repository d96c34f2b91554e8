"""The manifest of a run as JSON: written, and read back with suspicion."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..model.errors import StoreError
from ..model.form import words_of
from ..model.quoting import shown, visible
from .manifest import Manifest
from .manifest_check import number_problem, problems_of

RUN_SCHEMA = "sixbench.run/2"


@cache
def _adapter() -> TypeAdapter[Manifest]:
    return TypeAdapter(Manifest)


def manifest_to_json(manifest: Manifest) -> dict[str, Any]:
    """The content of `manifest.json`."""
    data: dict[str, Any] = _adapter().dump_python(manifest, mode="json", exclude_none=True)
    return {"schema": RUN_SCHEMA} | data


def manifest_from_json(data: dict[str, Any], where: str) -> Manifest:
    """Reads it back. Raises `StoreError`."""
    if data.get("schema") != RUN_SCHEMA:
        schema = visible(shown(data.get("schema")))
        raise StoreError(f"{where}: schema {schema} is not {RUN_SCHEMA}: written by another version of sixbench?")
    try:
        manifest = _adapter().validate_python({name: value for name, value in data.items() if name != "schema"})
    except ValidationError as error:
        raise StoreError(f"{where}: damaged manifest: {next(words_of(error))}") from error
    wrong = number_problem(data) or next(problems_of(manifest), None)
    if wrong is not None:
        raise StoreError(f"{where}: damaged manifest: {wrong}")
    return manifest
