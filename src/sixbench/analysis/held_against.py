"""Objections to the mechanisms of a run, whatever it measured."""

from __future__ import annotations

from collections.abc import Sequence

from ..mechanisms import MECHANISMS
from ..model.path import Path
from ..model.quoting import listed


def mechanism_remarks(paths: Sequence[Path]) -> list[str]:
    """A remark for each mechanism that something speaks against, with the paths that have it."""
    used: dict[str, list[str]] = {}
    for path in paths:
        # A run of another version may have mechanisms that this one does not know.
        mechanism = MECHANISMS.get(path.mechanism)
        if mechanism is not None and mechanism.held_against:
            used.setdefault(path.mechanism, []).append(path.name)
    return [f"Against {name} (over {listed(over)}): {MECHANISMS[name].held_against}" for name, over in used.items()]
