"""One-way delays of a trial whose client and server are on two machines: by both clocks, and how uncertain that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..model.errors import CapabilityError
from ..model.evidence.clocks import TwoClocks
from ..model.host import MOST_DRIFT_PPM
from ..model.parameter import Params
from ..model.units import scale
from ..model.workload import Result, TrialMeasurements, WorkloadKind
from ..model.workloads.two_ways import flows_of
from .clock_sources.link import flow_of
from .one_clock import drop_one_clock_metrics, needs_one_clock
from .proof.case import EndResults

if TYPE_CHECKING:
    from ..stats.two_clocks import Delays, Line


def summarise_by_line(results: EndResults, line: Line, clocks: TwoClocks) -> TrialMeasurements:
    """The measurements. Those that need one clock are by the line between both looks at the clocks, with their
    uncertainty; or they are left out, with a note that says why."""
    try:
        delays = corrected(results.params, results.client, results.server, line, clocks.half_width_ns)
    except CapabilityError as error:
        return summarise_without(results, str(error))
    return summarise_with(results.kind, results.params, results.client, results.server, delays, clocks)


def summarise_without(results: EndResults, why: str | None) -> TrialMeasurements:
    """The measurements without those that need one clock, with a note that says why."""
    measured = results.kind.summarise(results.params, results.client, results.server)
    measured.notes.extend(drop_one_clock_metrics(measured, why))
    return measured


def corrected(params: Params, client: Result, server: Result, line: Line, uncertain_ns: float) -> Mapping[str, Delays]:
    """The one-way delays of each flow that has any, by its direction. Raises `CapabilityError`."""
    from ..stats.two_clocks import least

    delays = {}
    for direction, (sender, receiver) in flows_of(params, client, server).items():
        flow = flow_of(sender, receiver)
        if not len(flow.sent_ns):
            continue
        delays_ns = line.delays_ns(flow, is_there=direction == "forward")
        least_ns = least(delays_ns)
        if least_ns < -uncertain_ns:
            words = f"by {_time(-least_ns)}, which is more than the uncertainty of the clocks' difference"
            raise CapabilityError(f"a datagram arrived before it was sent, {words}: a clock was changed in the trial")
        delays[direction] = delays_ns
    return delays


def summarise_with(
    kind: WorkloadKind,
    params: Params,
    client: Result,
    server: Result,
    delays_ns: Mapping[str, Delays],
    clocks: TwoClocks,
) -> TrialMeasurements:
    """The measurements with these delays. A metric is as uncertain as it changes where all delays are longer or shorter
    by what the clocks are uncertain, and delays above the least one by what they may have drifted otherwise."""
    either_ns, drifted_ns = clocks.half_width_ns, clocks.before.half_width_ns + clocks.after.half_width_ns

    def by(sign: int) -> TrialMeasurements:
        ends = _with_delays(params, client, server, delays_ns, sign * either_ns, sign * drifted_ns)
        return kind.summarise(params, *ends)

    measured, *extremes = by(0), by(-1), by(1)
    for column, value in list(measured.metrics.items()):
        changes = [abs(extreme.metrics[column] - value) for extreme in extremes if column in extreme.metrics]
        if not needs_one_clock(column) or not changes:
            continue
        uncertain = max(changes)
        if column.endswith("_ns"):
            # The clock that measures the delay may drift as well.
            uncertain += abs(value) * MOST_DRIFT_PPM / 1e6
        measured.uncertainty[column] = uncertain
    return leave_out_what_is_too_short(measured)


def leave_out_what_is_too_short(measured: TrialMeasurements) -> TrialMeasurements:
    """Takes out the delays that are no longer than they are uncertain, with a note."""
    short = [
        column
        for column, uncertain in measured.uncertainty.items()
        if column.endswith("_ns") and measured.metrics[column] <= uncertain
    ]
    words = [
        f"{column.removesuffix('_ns')} ({_time(measured.metrics.pop(column))}, "
        f"uncertain by {_time(measured.uncertainty.pop(column))})"
        for column in short
    ]
    if words:
        measured.notes.append(f"not known, because two clocks cannot measure so short a delay: {', '.join(words)}")
    for name in [name for name in measured.histograms if needs_one_clock(name)]:
        if not any(column.startswith(name) for column in measured.metrics):
            del measured.histograms[name]
    return measured


def _with_delays(
    params: Params,
    client: Result,
    server: Result,
    delays_ns: Mapping[str, Delays],
    longer_ns: float,
    further_ns: float,
) -> tuple[Result, Result]:
    """The results with these delays in place of those that receivers made of two clocks."""
    import numpy as np

    from ..stats.two_clocks import histogram_of, least

    changed = [
        {name: dict(value) if isinstance(value, Mapping) else value for name, value in entry.items()}
        for entry in (client, server)
    ]
    for direction, (_, receiver) in flows_of(params, changed[0], changed[1]).items():
        assert isinstance(receiver, dict), "it was just made"
        delays = delays_ns.get(direction)
        receiver.pop("one_way_delay_negative", None)
        if delays is not None:
            beyond_ns = delays - least(delays)
            receiver["one_way_delay"] = histogram_of(delays + longer_ns)
            receiver["pdv"] = histogram_of(np.where(beyond_ns > 0, np.maximum(0, beyond_ns + further_ns), 0))
    return changed[0], changed[1]


def _time(duration_ns: float) -> str:
    value, unit = scale(duration_ns, "ns")
    return f"{value:.3g} {unit}"
