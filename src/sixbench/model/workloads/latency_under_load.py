"""`latency-under-load`: round trips on an idle path, and beside bulk transfers in both directions.

The probes are sent on a schedule. A closed loop would ask most often where nothing is queued.
"""

from __future__ import annotations

from dataclasses import replace

from ..parameter import Params, Scalar
from ..quantity import metric, times
from ..workload import Part, Result, Traffic, TrialMeasurements, WorkloadKind
from . import ping, tcp_stream
from .common import CONGESTION, DIRECTION, DURATION, INTERVAL, WARMUP, of_one_length
from .compete import total

IDLE, LOAD, LOADED = "idle", "load", "loaded"
KINDS = {kind.name: kind for kind in (ping.KIND, tcp_stream.KIND)}

STATISTICS = ("mean", "p50", "p99")
MINUTE_NS = 60 * 10**9

PROBE_TIMEOUT_NS = 5 * 10**9
"""Time for which an echo is waited for. A queue that holds packets for longer is of no use to anybody."""

PROBE_INTERVAL = replace(ping.PROBE_INTERVAL, name="probe-interval", column="probe_interval_ns", maximum=10**9)
LOAD_DIRECTION = replace(DIRECTION, doc="sender of the load: the client, the server, or both at once", default="both")


def _parts(params: Params) -> tuple[Part, ...]:
    times = {name: params[name] for name in ("duration_ns", "warmup_ns") if name in params}
    chosen = {name: params[name] for name in ("congestion", "interval_ns", "streams") if name in params}
    load: dict[str, Scalar] = {"direction": LOAD_DIRECTION.of(params)} | chosen | times
    probe: dict[str, Scalar] = {**times, "timeout_ns": PROBE_TIMEOUT_NS}
    if "probe_interval_ns" in params:
        probe["interval_ns"] = params["probe_interval_ns"]
    return (
        Part(name=IDLE, workload=ping.KIND.name, params=probe),
        Part(name=LOADED, workload=ping.KIND.name, params=probe, step=1),
        Part(name=LOAD, workload=tcp_stream.KIND.name, params=load, step=1),
    )


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    measured = TrialMeasurements()
    of_parts: dict[str, TrialMeasurements] = {}
    for part in _parts(params):
        measured_part = KINDS[part.workload].summarise(
            part.params, client["parts"][part.name], server["parts"][part.name]
        )
        of_parts[part.name] = measured_part
        measured.invalid.extend(reason.of(part.name) for reason in measured_part.invalid)
        measured.notes.extend(f"{part.name}: {note}" for note in measured_part.notes)
        measured.series.update({f"{part.name}_{name}": series for name, series in measured_part.series.items()})
        measured.histograms.update({f"{name}_{part.name}": entry for name, entry in measured_part.histograms.items()})
    for name in ("goodput_bps", "goodput_reverse_bps"):
        if name in of_parts[LOAD].metrics:
            measured.metrics[name] = of_parts[LOAD].metrics[name]
    if "loss_ratio" in of_parts[LOADED].metrics:
        measured.metrics["loss_ratio"] = of_parts[LOADED].metrics["loss_ratio"]
    for state in (IDLE, LOADED):
        for statistic in STATISTICS:
            if f"rtt_{statistic}_ns" in of_parts[state].metrics:
                measured.metrics[f"rtt_{state}_{statistic}_ns"] = of_parts[state].metrics[f"rtt_{statistic}_ns"]
        mean_ns = of_parts[state].metrics.get("rtt_mean_ns")
        if mean_ns:
            measured.metrics[f"round_trips_{state}_per_min"] = MINUTE_NS / mean_ns
    both_ns = [measured.metrics.get(f"rtt_{state}_p50_ns") for state in (IDLE, LOADED)]
    if both_ns[0] is not None and both_ns[1] is not None:
        measured.metrics["rtt_increase_ns"] = both_ns[1] - both_ns[0]
    return measured


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    return total(
        KINDS[part.workload].traffic(part.params, client["parts"][part.name], server["parts"][part.name])
        for part in _parts(params)
    )


KIND = WorkloadKind(
    name="latency-under-load",
    title="Latency under load",
    transport="tcp",
    needs_icmp=True,
    doc="Echo requests, first on an idle path and then beside TCP streams in both directions. Also as round trips per "
    "minute, after the idea of draft-ietf-ippm-responsiveness, without its TLS and HTTP.",
    parameters=(
        PROBE_INTERVAL,
        tcp_stream.STREAMS,
        LOAD_DIRECTION,
        replace(DURATION, doc="duration of the measurement, idle and again under load"),
        replace(WARMUP, doc="time before each measuring, not counted"),
        CONGESTION,
        INTERVAL,
    ),
    primary="rtt_increase",
    headline=("rtt_idle_p50", "rtt_loaded_p50", "rtt_increase", "round_trips_loaded", "goodput", "goodput_reverse"),
    metrics=(
        *(f"rtt_{state}_{statistic}" for state in (IDLE, LOADED) for statistic in STATISTICS),
        *("rtt_increase", "round_trips_idle", "round_trips_loaded", "goodput", "goodput_reverse", "loss_ratio"),
    ),
    own_metrics=(
        *times("rtt_idle", "Round-trip time, idle", "RFC 2681", *STATISTICS),
        *times("rtt_loaded", "Round-trip time under load", "RFC 2681", *STATISTICS),
        metric(
            "rtt_increase",
            "ns",
            "lower",
            "Increase of the median round-trip time under load",
            "RFC 2681; the idea of draft-ietf-ippm-responsiveness",
            scale="difference",
            may_be_negative=True,
        ),
        *(
            metric(
                f"round_trips_{state}",
                "per_min",
                "higher",
                f"Round trips per minute, {words}",
                "the idea of draft-ietf-ippm-responsiveness: a minute over the mean round trip",
            )
            for state, words in ((IDLE, "idle"), (LOADED, "under load"))
        ),
    ),
    check=of_one_length(DURATION),
    summarise=_summarise,
    traffic=_traffic,
    parts=_parts,
    needs_network="several flows at once",
    instead="run --workload ping twice, the second time beside another `measure`",
)
