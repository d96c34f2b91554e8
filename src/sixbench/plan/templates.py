"""Experiments to start from: commented files that `sixbench new` copies under another name.

A template is a file of `sixbench/templates`. Its first line is a comment that says what it is for; `NAME` stands where
the name of the experiment goes.
"""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from ..model.errors import UsageError
from .reader import suggest

DEFAULT_TEMPLATE = "native"

_DIRECTORY = Path(__file__).resolve().parent.parent / "templates"
_NAME_LINE = "experiment: NAME\n"


def templates() -> dict[str, str]:
    """The purpose of each template, by name; the default stands first."""
    names = sorted(path.stem for path in _DIRECTORY.glob("*.yaml"))
    names.sort(key=lambda name: name != DEFAULT_TEMPLATE)
    return {name: _read(name).partition("\n")[0].removeprefix("# ") for name in names}


def from_template(template: str, name: str) -> str:
    """The text of an experiment of that name. Raises `UsageError` where there is no such template."""
    known = templates()
    if template not in known:
        raise UsageError(f'there is no template "{template}"; {suggest(template, known)}')
    is_text = isinstance(yaml.safe_load(name), str)
    return _read(template).replace(_NAME_LINE, f"experiment: {name if is_text else json.dumps(name)}\n", 1)


def _read(name: str) -> str:
    return (_DIRECTORY / f"{name}.yaml").read_text(encoding="utf-8")
