"""Values that are computed once for a run, and used in several places of its reports."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TypeVar

from ..store import Run

_Computed = TypeVar("_Computed")


def once_a_run(find: Callable[[Run], _Computed]) -> Callable[[Run], _Computed]:
    """A function of a run that does its work once for each, for as long as that is in memory. What it gives must not be
    changed."""
    known: dict[int, _Computed] = {}

    @functools.wraps(find)
    def computed_once(run: Run) -> _Computed:
        if id(run) not in known:
            known[id(run)] = find(run)
            weakref.finalize(run, known.pop, id(run), None)
        return known[id(run)]

    return computed_once
