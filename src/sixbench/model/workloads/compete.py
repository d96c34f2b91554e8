"""`compete`: flows of IPv4 and of IPv6 at the same time between the same hosts, and how they share the path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..parameter import Parameter, Params, Scalar, Wrong
from ..quantity import metric
from ..reason import ReasonKind
from ..topology import Family
from ..workload import Part, Result, Traffic, TrialMeasurements, WorkloadKind
from . import tcp_stream, udp_stream
from .common import CONGESTION, DURATION, INTERVAL, WARMUP, one_length

FAMILIES: tuple[Family, ...] = (4, 6)
MAX_FLOWS = 64
"""An agent holds this many sessions, and each UDP flow needs one."""

SHORTEST_NS = 10 * 10**6

WINDOW = "flows"
"""The name of the window in which all flows of TCP are measured. The agents tell those of different trials apart."""


FLOWS = {
    family: Parameter(
        name=f"ipv{family}-flows",
        kind="count",
        doc=f"flows over IPv{family}",
        minimum=1,
        maximum=MAX_FLOWS // 2 - 1,
        default=1,
    )
    for family in FAMILIES
}
TRANSPORT = Parameter(
    name="transport",
    kind="choice",
    choices=("tcp", "udp"),
    doc="bulk transfer over TCP, or datagrams at a rate",
    default="tcp",
)
DATAGRAM = replace(
    udp_stream.DATAGRAM,
    doc="UDP payload of each datagram; must be given with transport udp",
)
RATE = Parameter(
    name="rate",
    kind="rate",
    doc="UDP payload bits per second of each flow; must be given with transport udp",
    minimum=1,
    maximum=10**13,
)


def _check(params: Params, families: frozenset[Family]) -> Wrong | None:
    of_datagrams = {parameter.name: parameter.column in params for parameter in (DATAGRAM, RATE)}
    if TRANSPORT.of(params) == "tcp":
        for name, is_given in of_datagrams.items():
            if is_given:
                return Wrong(name, f"{name} belongs to UDP flows: give transport: udp, or leave it out")
        return one_length(params, DURATION)
    for name, is_given in of_datagrams.items():
        if not is_given:
            return Wrong(None, f"{name} is missing: flows of UDP need a datagram and a rate")
    if "congestion" in params:
        return Wrong(CONGESTION.name, "congestion belongs to TCP flows: leave it out with transport: udp")
    return one_length(params, DURATION) or udp_stream.KIND.check(_datagrams(params), frozenset(FAMILIES))


def _parts(params: Params) -> tuple[Part, ...]:
    if TRANSPORT.of(params) == "tcp":
        return tuple(
            Part(name=f"ipv{family}", workload=tcp_stream.KIND.name, params=_streams(params, family), family=family)
            for family in FAMILIES
        )
    return tuple(
        Part(name=f"ipv{family}-{index}", workload=udp_stream.KIND.name, params=_datagrams(params), family=family)
        for family in FAMILIES
        for index in range(1, int(FLOWS[family].of(params)) + 1)
    )


def _streams(params: Params, family: Family) -> dict[str, Scalar]:
    kept = {name: params[name] for name in ("duration_ns", "warmup_ns", "congestion", "interval_ns") if name in params}
    all_streams = sum(int(flows.of(params)) for flows in FLOWS.values())
    one_window: dict[str, Scalar] = {"shared_window": WINDOW, "shared_streams": all_streams}
    return {**kept, "streams": FLOWS[family].of(params), **one_window}


def _datagrams(params: Params) -> dict[str, Scalar]:
    names = ("duration_ns", "warmup_ns", "interval_ns", "datagram_bytes", "rate_bps")
    return {name: params[name] for name in names if name in params}


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    measured = TrialMeasurements()
    flows_bps: dict[Family, list[float]] = {}
    lost = sent = 0
    for part in _parts(params):
        assert part.family is not None, "every flow here has a family"
        kind = tcp_stream.KIND if part.workload == tcp_stream.KIND.name else udp_stream.KIND
        own_client, own_server = client["parts"][part.name], server["parts"][part.name]
        of_part = kind.summarise(part.params, own_client, own_server)
        measured.invalid.extend(reason.of(part.name) for reason in of_part.invalid)
        measured.notes.extend(f"{part.name}: {note}" for note in of_part.notes)
        measured.series.update({f"{part.name}_{name}": series for name, series in of_part.series.items()})
        streams = (own_server.get("forward_receiver") or {}).get("streams", [])
        if any("measured_bytes" not in stream for stream in streams):
            words = f"{part.name}: one of its connections received too little in the window for a rate"
            measured.reject(ReasonKind.TOO_SHORT, words)
            continue
        flows_bps.setdefault(part.family, []).extend(_rates_bps(part, own_server, of_part))
        if part.workload == udp_stream.KIND.name:
            sent += own_client["sent"]
            lost += own_client["sent"] - own_server["unique"]
    if sent:
        measured.metrics["loss_ratio"] = lost / sent
    if measured.invalid or not all(flows_bps.get(family) for family in FAMILIES):
        return measured
    totals_bps = {family: sum(flows_bps[family]) for family in FAMILIES}
    measured.metrics["goodput_bps"] = sum(totals_bps.values())
    for family, total_bps in totals_bps.items():
        measured.metrics[f"goodput_ipv{family}_bps"] = total_bps
    if measured.metrics["goodput_bps"]:
        measured.metrics["share_ipv6_ratio"] = totals_bps[6] / measured.metrics["goodput_bps"]
        measured.metrics["fairness_ratio"] = fairness([rate for rates in flows_bps.values() for rate in rates])
    return measured


def _rates_bps(part: Part, server: Result, of_part: TrialMeasurements) -> list[float]:
    """The traffic of each flow of a part."""
    if part.workload == udp_stream.KIND.name:
        return [of_part.metrics["goodput_bps"]] if "goodput_bps" in of_part.metrics else []
    receiver = server.get("forward_receiver")
    if not receiver:
        return []
    window_ns = int(receiver["ended_ns"]) - int(receiver["started_ns"])
    return [float(item["measured_bytes"]) * 8e9 / window_ns for item in receiver["streams"] if window_ns > 0]


def fairness(rates: Iterable[float]) -> float:
    """Jain's fairness index of some rates, not all zero: 1 where all are equal, 1/n where one has everything (Jain,
    Chiu, Hawe: A Quantitative Measure of Fairness and Discrimination, DEC-TR-301, 1984; RFC 5166 section 2.3)."""
    known = list(rates)
    return sum(known) ** 2 / (len(known) * sum(rate * rate for rate in known))


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    traffics: dict[Family, list[Traffic]] = {}
    for part in _parts(params):
        assert part.family is not None, "every flow here has a family"
        kind = tcp_stream.KIND if part.workload == tcp_stream.KIND.name else udp_stream.KIND
        traffic = kind.traffic(part.params, client["parts"][part.name], server["parts"][part.name])
        traffics.setdefault(part.family, []).append(traffic)
    by_family = {family: total(carried) for family, carried in traffics.items()}
    return replace(total(by_family.values()), by_family=by_family)


def total(carried: Iterable[Traffic]) -> Traffic:
    """The traffic of several flows together."""
    flows = list(carried)
    datagrams = [flow.forward_datagrams for flow in flows if flow.forward_datagrams is not None]
    return Traffic(
        forward_payload_bytes=sum(flow.forward_payload_bytes for flow in flows),
        reverse_payload_bytes=sum(flow.reverse_payload_bytes for flow in flows),
        forward_datagrams=sum(datagrams) if datagrams else None,
        messages=sum(flow.packets for flow in flows),
    )


KIND = WorkloadKind(
    name="compete",
    title="Competing flows",
    transport="tcp",
    doc="Flows over IPv4 and over IPv6 at once between the same hosts: the share of each family, and its fairness.",
    parameters=(
        TRANSPORT,
        *FLOWS.values(),
        replace(DURATION, minimum=SHORTEST_NS),
        WARMUP,
        CONGESTION,
        DATAGRAM,
        RATE,
        INTERVAL,
    ),
    primary="share_ipv6",
    headline=("share_ipv6", "fairness", "goodput_ipv4", "goodput_ipv6", "goodput", "loss_ratio"),
    metrics=("goodput", "goodput_ipv4", "goodput_ipv6", "share_ipv6", "fairness", "loss_ratio"),
    own_metrics=(
        *(
            metric(
                f"goodput_ipv{family}", "bps", "higher", f"Goodput of the IPv{family} flows", "RFC 2647 section 3.17"
            )
            for family in FAMILIES
        ),
        metric("share_ipv6", "ratio", "neither", "Share of IPv6 in the goodput", "RFC 5166 section 2.3"),
        metric("fairness", "ratio", "higher", "Jain's fairness index of the flows", "RFC 5166 section 2.3, DEC-TR-301"),
    ),
    check=_check,
    summarise=_summarise,
    traffic=_traffic,
    parts=_parts,
    families=lambda _: frozenset(FAMILIES),
    needs_network="flows of both families at once",
    instead="-46 measures each family by itself",
)
