"""The manifest of a run as JSON: written, and read back with suspicion."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..model.errors import StoreError
from ..model.form import words_of
from ..model.quoting import shown, visible
from .manifest import Manifest, WorkerMachine
from .manifest_check import number_problem, problems_of, problems_of_worker
from .run_json import json_object

RUN_SCHEMA = "sixbench.run/3"

_WITH_CELLS = "sixbench.run/2"
"""The schema before this one, in which `workers` were `cells`."""


@cache
def manifest_adapter() -> TypeAdapter[Manifest]:
    """Checks manifests. Building it takes some hundredths of a second."""
    return TypeAdapter(Manifest)


def manifest_to_json(manifest: Manifest) -> dict[str, Any]:
    """The content of `manifest.json`."""
    data: dict[str, Any] = manifest_adapter().dump_python(manifest, mode="json", exclude_none=True)
    return {"schema": RUN_SCHEMA} | data


def manifest_to_text(manifest: Manifest) -> str:
    """A manifest as text, to be handed to another machine."""
    return json.dumps(manifest_to_json(manifest), allow_nan=False, ensure_ascii=False)


def manifest_from_text(text: str, where: str) -> Manifest:
    """Reads it back. Raises `StoreError`."""
    return manifest_from_json(json_object(text.encode(errors="surrogatepass"), Path(where)), where)


def worker_to_text(worker: WorkerMachine) -> str:
    """The facts about a worker, as text."""
    return json.dumps(
        _workers().dump_python(worker, mode="json", exclude_none=True), allow_nan=False, ensure_ascii=False
    )


def worker_from_text(text: str, name: str, where: str) -> WorkerMachine:
    """Reads it back. Raises `StoreError`."""
    data = json_object(text.encode(errors="surrogatepass"), Path(where))
    try:
        worker = _workers().validate_python(data)
    except ValidationError as error:
        raise StoreError(f"{where}: {next(words_of(error))}") from error
    wrong = number_problem(data) or next(problems_of_worker(name, worker), None)
    if wrong is not None:
        raise StoreError(f"{where}: {wrong}")
    return worker


@cache
def _workers() -> TypeAdapter[WorkerMachine]:
    return TypeAdapter(WorkerMachine)


def manifest_from_json(data: dict[str, Any], where: str) -> Manifest:
    """Reads it back, also of the schema before. Raises `StoreError`."""
    schema = data.get("schema")
    if schema not in (RUN_SCHEMA, _WITH_CELLS):
        words = visible(shown(schema))
        raise StoreError(f"{where}: schema {words} is not {RUN_SCHEMA}: written by another version of sixbench?")
    if schema == _WITH_CELLS:
        data = {"workers" if name == "cells" else name: value for name, value in data.items()}
    try:
        manifest = manifest_adapter().validate_python({name: value for name, value in data.items() if name != "schema"})
    except ValidationError as error:
        raise StoreError(f"{where}: damaged manifest: {next(words_of(error))}") from error
    wrong = number_problem(data) or next(problems_of(manifest), None)
    if wrong is not None:
        raise StoreError(f"{where}: damaged manifest: {wrong}")
    return manifest
