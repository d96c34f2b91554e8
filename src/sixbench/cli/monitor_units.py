"""The systemd service and timer of a monitor, from the templates that sixbench brings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..model.errors import UsageError

_TEMPLATES = Path(__file__).resolve().parent.parent / "systemd"
_PLAIN = re.compile(r"[A-Za-z0-9_@+=:,./-]+")


def units(name: str, command: Sequence[str], folder: Path, every_ns: int) -> dict[str, str]:
    """The texts of both, by the names of their files.

    Args:
        name: of the monitor's directory, from which the units have their names.
        command: the whole command line of one occurrence.
        folder: in which it is run: paths in the command may begin there.
        every_ns: the time from one occurrence to the next, at least a second.

    Raises `UsageError` where a word cannot be in a unit.
    """
    unit = f"sixbench-monitor-{re.sub(r'[^A-Za-z0-9_.-]', '-', name)[:100]}"
    filled = {
        "DESCRIPTION": name.replace("%", "%%") if name.isprintable() else unit,
        "FOLDER": _path(folder),
        "COMMAND": " ".join(map(unit_word, command)),
        "SECONDS": str(max(1, every_ns // 10**9)),
        "NAME": unit,
    }
    return {f"{unit}.{kind}": _filled(kind, filled) for kind in ("service", "timer")}


def unit_word(word: str) -> str:
    """A word of a command line as systemd reads it (systemd.service(5), systemd.syntax(7)). Raises `UsageError`."""
    if not word.isprintable():
        raise UsageError(f"{word!r} cannot be in a unit of systemd; leave out what does not print")
    if _PLAIN.fullmatch(word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _path(folder: Path) -> str:
    text = str(folder)
    if not text.isprintable():
        raise UsageError(f"{text!r} cannot be in a unit of systemd; start it from another directory")
    return text.replace("%", "%%")


def _filled(kind: str, values: dict[str, str]) -> str:
    text = (_TEMPLATES / f"monitor.{kind}").read_text(encoding="utf-8")
    return re.sub(rf"\b({'|'.join(values)})(?=s?\b)", lambda match: values[match[1]], text)
