"""`frames`: whole Ethernet frames past the hosts' IP layers at exact rates, one way or both (RFC 2544, RFC 8219)."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from ..leg import Address
from ..networks import address_in, following
from ..parameter import Params, Wrong
from ..quoting import listed
from ..topology import Family, OtherBits
from ..workload import Expected, Result, Side, Traffic, WorkloadKind, apart
from .common import COUNT, DIRECTION, DURATION, INTERVAL, SHORT_WARMUP, SPIN, all_but, one_length
from .frames_metrics import OWN_METRICS, summarise
from .frames_parameters import (
    CLIENT_NETWORKS,
    ENGINE,
    EXTENSION_HEADERS,
    FLOWS,
    FRAME,
    LEAST_BYTES,
    MAX_FRAMES,
    NATIVE,
    NETWORK_PREFIX,
    NETWORKS,
    PACKET_RATE,
    PACKET_RATE_REVERSE,
    PORTS,
    RESIDUAL,
    SERVER_NETWORKS,
    STEP_AFTER,
    STEP_RATE,
    TOLERANCE,
    USUAL_BITS,
    due_before,
    extension_bytes,
    has_native,
    has_networks,
    rate_pps,
)
from .two_ways import arrived, ends_of, flows_of, traffic_of

BOTH_FAMILIES = frozenset[Family]({4, 6})


def _check(params: Params, families: frozenset[Family]) -> Wrong | None:
    for parameter, example in ((FRAME, "64B"), (PACKET_RATE, "10kpps")):
        if parameter.column not in params:
            return Wrong(None, f"{parameter.name} is missing, such as {parameter.name}: {example}")
    return (
        _no_ipv6(params, families)
        or _too_small(params, families)
        or one_length(params, DURATION, COUNT)
        or _half_a_step(params)
        or _too_many(params)
        or _no_flows(params)
        or _no_prefix(params, families)
    )


def _no_ipv6(params: Params, families: frozenset[Family]) -> Wrong | None:
    if not extension_bytes(params) or 4 not in families:
        return None
    return Wrong(EXTENSION_HEADERS.name, "extension headers are IPv6's: leave them out on paths that begin with IPv4")


def _too_small(params: Params, families: frozenset[Family]) -> Wrong | None:
    frame_bytes = int(FRAME.of(params))
    for family in sorted(families):
        extended = extension_bytes(params)
        if frame_bytes < LEAST_BYTES[family] + extended:
            reason = f"with {EXTENSION_HEADERS.of(params)} headers" if extended else "(RFC 8219 section 5.1.1)"
            least = f"at least {LEAST_BYTES[family] + extended} over IPv{family} {reason}"
            return Wrong(FRAME.name, f"frames of {frame_bytes} bytes are too small: {least}")
    return None


def _half_a_step(params: Params) -> Wrong | None:
    given = [parameter.name for parameter in (STEP_AFTER, STEP_RATE) if parameter.column in params]
    if len(given) == 1:
        return Wrong(given[0], f"{STEP_AFTER.name} and {STEP_RATE.name} go together: give both, or neither")
    return None


def _too_many(params: Params) -> Wrong | None:
    duration_ns = float(params.get("duration_ns", 0))
    frames = max(due_before(params, name, duration_ns) for name in ("forward", "reverse"))
    if frames <= MAX_FRAMES:
        return None
    return Wrong(None, f"a flow of {frames:.0f} frames is too long: at most {MAX_FRAMES}; send slower or shorter")


def _no_flows(params: Params) -> Wrong | None:
    if PORTS.of(params) == "fixed" and params.get(FLOWS.column, 1) != 1:
        return Wrong(FLOWS.name, "flows are pairs of pseudo-random ports: give ports: pseudo-random, or leave it out")
    return None


def _no_prefix(params: Params, families: frozenset[Family]) -> Wrong | None:
    bits = int(NETWORK_PREFIX.of(params))
    lengths = (*get_args(OtherBits), USUAL_BITS)
    if bits not in lengths:
        return Wrong(
            NETWORK_PREFIX.name, f"{bits} is no length that RFC 5180 asks for: give {listed(map(str, sorted(lengths)))}"
        )
    if bits != USUAL_BITS and not has_networks(params):
        return Wrong(NETWORK_PREFIX.name, f"{NETWORK_PREFIX.name} is of several networks: give {NETWORKS.name}, too")
    if bits != USUAL_BITS and 4 in families:
        words = f"prefixes of {bits} bits are IPv6's: leave it out on paths that begin with IPv4"
        return Wrong(NETWORK_PREFIX.name, words)
    return None


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    receivers = {name: receiver for name, (_, receiver) in flows_of(params, client, server).items()}
    whole = replace(traffic_of(receivers), destinations=_destinations(params))
    natives = {name: entry["native"] for name, entry in receivers.items() if "native" in entry}
    if not natives:
        return whole
    unique = {name: int(entry["unique"]) for name, entry in receivers.items()}
    payload = {name: int(entry["unique_bytes"]) for name, entry in receivers.items()}
    native = {name: int(item["unique"]) for name, item in natives.items()}
    native_payload = {name: payload[name] * count // max(1, unique[name]) for name, count in native.items()}
    traffic = arrived(
        {name: count - native[name] for name, count in unique.items()},
        {name: size - native_payload[name] for name, size in payload.items()},
    )
    family: Family = 4 if next(iter(natives.values()))["family"] == 4 else 6
    other: Family = 6 if family == 4 else 4
    return replace(whole, by_family={other: traffic, family: arrived(native, native_payload)})


def _destinations(params: Params) -> frozenset[Address]:
    """The addresses in the networks behind the hosts."""
    others = int(NETWORKS.of(params)) - 1
    rows = (following(str(params[name]), others) for name in (CLIENT_NETWORKS, SERVER_NETWORKS) if name in params)
    return frozenset(address_in(network) for row in rows for network in row)


def _results(side: Side, params: Params) -> tuple[Expected, ...]:
    from .frames_results import FrameReceiver, FrameSender

    return ends_of(side, params, Expected(form=FrameSender), Expected(form=FrameReceiver))


KIND = WorkloadKind(
    name="frames",
    title="Ethernet frames",
    is_proper_name=True,
    needs_network="interfaces of its own",
    transport="udp",
    doc="Raw Ethernet frames with UDP inside on an absolute schedule, past the hosts' IP layers, with a ledger "
    "(RFC 2544, RFC 8219).",
    parameters=(
        FRAME,
        PACKET_RATE,
        PACKET_RATE_REVERSE,
        STEP_AFTER,
        STEP_RATE,
        DURATION,
        COUNT,
        SHORT_WARMUP,
        replace(DIRECTION, doc=f"{DIRECTION.doc}; the client opens the way"),
        PORTS,
        FLOWS,
        NATIVE,
        NETWORKS,
        NETWORK_PREFIX,
        EXTENSION_HEADERS,
        ENGINE,
        RESIDUAL,
        TOLERANCE,
        replace(SPIN, doc="longest time before a frame is due for which the sender spins instead of sleeping"),
        INTERVAL,
    ),
    placement=apart,
    when_together={"spin_ns": 0},  # a spinning sender would take the receiver's processor
    primary="packets_rate",
    headline=(
        *("packets_rate", "packets_rate_reverse", "loss_ratio", "loss_reverse"),
        *("one_way_delay_p50", "one_way_delay_p999", "pdv_p999", "cpu_busy"),
    ),
    metrics=(
        *("goodput", "goodput_reverse", "packets_rate", "packets_rate_reverse", "sent_rate", "lost_rate"),
        *(
            "loss_ratio",
            "loss_reverse",
            "loss_native",
            "duplicates_ratio",
            "reordered_ratio",
            "corrupt_ratio",
            "late_ratio",
        ),
        *(f"one_way_delay_{s}" for s in ("mean", "min", "p50", "p99", "p999")),
        *("ipdv_mean", "ipdv_p50", "ipdv_p99", "pdv_p50", "pdv_p99", "pdv_p999"),
        *(f"one_way_delay_reverse_{s}" for s in ("mean", "p50", "p999")),
        *("pdv_reverse_p999", "recovery", "inter_frame_error_p50", "inter_frame_error_p99"),
    ),
    own_metrics=OWN_METRICS,
    distributions=("one_way_delay",),
    check=_check,
    summarise=summarise,
    traffic=_traffic,
    results=_results,
    agent_params=all_but(TOLERANCE, NETWORK_PREFIX),
    families=lambda params: BOTH_FAMILIES if has_native(params) else frozenset(),
    gap_ns=lambda params: 1e9 / rate_pps(params, "forward") if PACKET_RATE.column in params else None,
)
