"""Length and number of trials, and the goals of a search: as the RFCs have them, and with `--quick`."""

from __future__ import annotations

from dataclasses import dataclass

from .goal import Goal


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Lengths of the trials of a run.

    Attributes:
        goals: of a search for a throughput. The first one has RFC 2544's loss: none.
        ramp_s: of the trials that look for a rate that the tester cannot send.
        residual_s: how long frames may arrive after the last one was sent (RFC 2544 section 23: 2 s).
        repetitions: of delays and of recoveries (RFC 2544 section 26.2, RFC 8219 sections 7.2 and 7.3: 20).
        latency_before_s, latency_s: how long frames go before their latency counts, and then (RFC 8219 section 7.2:
            a stream of 120 s with tags after 60 s).
        variation_s: how long delays are measured for their variation (RFC 8219 section 7.3.1: 60 s).
        loss_s: of trials of the frame loss rate (RFC 2544 section 24: 60 s).
        bursts: how often the longest burst is looked for (RFC 2544 section 26.4: 50).
        burst_s: the longest burst that is tried (RFC 9004 section 6.2: up to 30 s; RFC 2544 section 26.4: at least
            2 s).
        overload_s: how long a device is overloaded before its recovery (RFC 2544 section 26.5: 60 s).
        recovering_s: how long frames go after that.
        connections: how many connections are established in a trial of their rate.
        most_connections: the most that a table's capacity is looked for.
        questions_s: how long questions are asked in a trial of a DNS64 (RFC 8219 section 9.2: 60 s).
        width: how far the bounds of a search by bisection may be apart in the end, as a share of the upper one.
    """

    goals: tuple[Goal, ...]
    ramp_s: float
    residual_s: float
    repetitions: int
    latency_before_s: float
    latency_s: float
    variation_s: float
    loss_s: float
    bursts: int
    burst_s: float
    overload_s: float
    recovering_s: float
    connections: int
    most_connections: int
    questions_s: float
    width: float


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
    repetitions=20,
    latency_before_s=60.0,
    latency_s=60.0,
    variation_s=60.0,
    loss_s=60.0,
    bursts=50,
    burst_s=2.0,
    overload_s=60.0,
    recovering_s=60.0,
    connections=20_000,
    most_connections=1_000_000,
    questions_s=60.0,
    width=0.01,
)
QUICK = Lengths(
    goals=(Goal(name="no loss", loss_ratio=0.0, exceed_ratio=0.0, width=0.03, initial_s=0.25, final_s=0.5, sum_s=0.5),),
    ramp_s=0.2,
    residual_s=0.5,
    repetitions=3,
    latency_before_s=0.2,
    latency_s=0.5,
    variation_s=0.5,
    loss_s=0.5,
    bursts=3,
    burst_s=0.2,
    overload_s=0.5,
    recovering_s=0.5,
    connections=2_000,
    most_connections=16_000,
    questions_s=0.5,
    width=0.05,
)


def lengths(quick: bool) -> Lengths:
    """Those of a run."""
    return QUICK if quick else FULL
