"""Throughput (RFC 2544 section 26.1), by a search of MLRsearch (RFC 9971)."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.trial import TrialRecord
from .. import throughput
from ..goal import LoadTrial
from ..lengths import Lengths
from ..rfc_test import Ask, RfcPlace, RfcTest, Value
from ..search import Measure

ABOUT_TRIALS = 12
"""About how many a search takes."""


def _run(ask: Ask, place: RfcPlace) -> None:
    throughput.run(loads(ask), place.lengths, place.most_pps)


def loads(ask: Ask) -> Measure:
    """A search's request: trials at a rate, for so long."""

    def measure(load_pps: float, duration_s: float) -> LoadTrial | None:
        return throughput.load_trial(ask({"rate_pps": max(1, int(load_pps)), "duration_ns": round(duration_s * 1e9)}))

    return measure


def shortened(lengths: Lengths) -> str:
    """The trials that decide a search."""
    return f"trials that decide last {lengths.goals[0].final_s:g} s"


def _values(records: Sequence[TrialRecord], place: RfcPlace) -> list[Value]:
    """None: a throughput has bounds for each goal, and a table of its own."""
    return []


TEST = RfcTest(
    name="throughput",
    title="Throughput",
    doc="the highest rate at which no frame is lost",
    profiles=frozenset({"2544", "5180", "8219"}),
    lasts=lambda lengths: (ABOUT_TRIALS, lengths.goals[0].final_s / 2),
    shortened=shortened,
    run=_run,
    values=_values,
    over_testers=True,
    needs_search=True,
)
