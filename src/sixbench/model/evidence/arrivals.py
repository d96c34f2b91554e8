"""The segments of TCP that came to a host, beside those that the other one sent."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..form import Counts, Kept, Natural


@dataclass(frozen=True, kw_only=True, slots=True)
class ArrivedSegments(Kept):
    """TCP counters of a host's kernel over a trial (`bench.proof.segments`).

    Attributes:
        arrived: the segments that came, each super-packet as one.
        sent: those that the other host sent, with what it sent again.
        strays: how many at least came from nobody of the trial.
        refused: those that the kernel refused or challenged, by the counter or the reason of the drop. A host's own
            retransmissions may be among them.
    """

    arrived: Natural
    sent: Natural
    strays: Natural = 0
    refused: Counts = field(default_factory=dict)
