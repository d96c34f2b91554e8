"""Metrics that need one clock: metrics from the time between a packet's sending on one machine and its arrival on
another."""

from __future__ import annotations

from ..model.workload import Measured

OF_ONE_CLOCK = ("one_way_delay", "pdv", "playout_loss", "mouth_to_ear", "r_factor", "mos_cqe")
"""Between two clocks that are not synchronised, they tell more about the clocks than about the path. So does PDV, the
delay above the least one of the trial: a clock that is 200 ppm fast adds 200 us to it in each second. Of consecutive
packets (IPDV, jitter) the difference of the clocks is the same but for their drift in one gap."""

_NOTE = "one-way delays and PDV are not known: client and server are on two machines, whose clocks are not one"


def leave_out_what_needs_one_clock(measured: Measured, why: str | None = None) -> list[str]:
    """Takes these out of what was measured. Returns the note that says so and why, where there were any."""
    found = False
    for values in (measured.metrics, measured.histograms):
        for name in [name for name in values if name.startswith(OF_ONE_CLOCK)]:
            del values[name]
            found = True
    return [_NOTE if why is None else f"{_NOTE}: {why}"] if found else []
