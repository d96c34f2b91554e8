"""Forms of JSON: a type for a value, alternatives in a tuple, `[form]` for a list of any length, a mapping with exactly
these keys, and `{str: form}` for a mapping with any keys."""

from __future__ import annotations

from typing import Any

Form = Any
NULL = type(None)


def misfits(value: Any, form: Form, where: str = "it") -> list[str]:
    """Places where a value has not that form; empty if it has."""
    if isinstance(form, tuple):
        return (
            [] if any(not misfits(value, item, where) for item in form) else [f"{where}: {value!r} is none of {form}"]
        )
    if isinstance(form, list):
        if not isinstance(value, list):
            return [f"{where}: {value!r} is not a list"]
        return [line for number, item in enumerate(value) for line in misfits(item, form[0], f"{where}.{number}")]
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return [f"{where}: {value!r} is not an object"]
        if set(form) == {str}:
            return [line for key, item in value.items() for line in misfits(item, form[str], f"{where}.{key}")]
        wrong = [f"{where}: {key} is missing" for key in form if key not in value]
        wrong += [f"{where}: {key} is one key more" for key in value if key not in form]
        return wrong + [
            line for key in form if key in value for line in misfits(value[key], form[key], f"{where}.{key}")
        ]
    # A number that is whole may be written as one, and true is no number.
    allowed = (int, float) if form is float else form
    fits = isinstance(value, allowed) and (form is bool or not isinstance(value, bool))
    return [] if fits else [f"{where}: {value!r} is not of type {form.__name__}"]
