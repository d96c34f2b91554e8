"""How long trials are, and the goals of a search: as the RFCs have them, and with `--quick`."""

from __future__ import annotations

from dataclasses import dataclass

from .goal import Goal


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """How long the trials of a run are.

    Attributes:
        goals: of a search for a throughput. The first one has RFC 2544's loss: none.
        ramp_s: of the trials that look for a rate that the tester cannot send.
        residual_s: how long frames may arrive after the last one was sent (RFC 2544 section 23: 2 s).
    """

    goals: tuple[Goal, ...]
    ramp_s: float
    residual_s: float


FULL = Lengths(
    goals=(
        # RFC 2544 section 24: trials of at least 60 s. A search may take shorter ones, and the final determination
        # trials of full length. Section 26.1: no frame is lost.
        Goal(name="no loss", loss_ratio=0.0, exceed_ratio=0.0, width=0.005, initial_s=1.0, final_s=60.0, sum_s=60.0),
        # RFC 9971's example of a goal for devices that lose a few frames at any rate.
        Goal(
            name="0.5 % loss", loss_ratio=0.005, exceed_ratio=0.5, width=0.005, initial_s=1.0, final_s=1.0, sum_s=21.0
        ),
    ),
    ramp_s=0.2,
    residual_s=2.0,
)
QUICK = Lengths(
    goals=(Goal(name="no loss", loss_ratio=0.0, exceed_ratio=0.0, width=0.03, initial_s=0.25, final_s=0.5, sum_s=0.5),),
    ramp_s=0.2,
    residual_s=0.5,
)


def lengths(quick: bool) -> Lengths:
    """Those of a run."""
    return QUICK if quick else FULL
