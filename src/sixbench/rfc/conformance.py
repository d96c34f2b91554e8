"""Checks whether a run meets each clause of its profile."""

from __future__ import annotations

from dataclasses import dataclass

from ..store import Run
from .clauses import State, Tested
from .profiles import CLAUSES
from .results import places_of, results_of, values_of


@dataclass(frozen=True, kw_only=True)
class JudgedClause:
    """A clause with its decision."""

    section: str
    asks: str
    state: State
    reason: str


def judged(run: Run) -> list[JudgedClause]:
    """The clauses of the run's profile, decided. Empty for a run that is no such test."""
    places = places_of(run)
    if places is None:
        return []
    tested = Tested(run=run, places=places, all_results=results_of(run), all_values=values_of(run))
    results = []
    for clause in CLAUSES[places.procedure.profile]:
        state, reason = clause.judge(tested)
        results.append(JudgedClause(section=clause.section, asks=clause.asks, state=state, reason=reason))
    return results
