"""`udp-stream`: a flow of datagrams on an absolute schedule, one way or both."""

from __future__ import annotations

from dataclasses import replace

from ..parameter import Parameter, Params, Wrong
from ..reason import Excuse, ReasonKind
from ..topology import Family
from ..workload import Expected, Result, Side, Traffic, TrialMeasurements, WorkloadKind, apart
from .common import (
    BYTES,
    COUNT,
    DF,
    DIRECTION,
    DURATION,
    INTERVAL,
    PACKET_LOG,
    RCVBUF,
    SNDBUF,
    SPIN,
    WARMUP,
    histogram,
    is_behind,
    one_length,
    rate,
    refusal_keys,
    refusals,
    udp_size,
)
from .traffic_models import MODEL, check_model, has_constant_gaps, has_model, is_drawn, mean_gap_ns, one_size
from .two_ways import ends_of, flows_of, together, traffic_of

MAX_DATAGRAMS = 2**32
ATOMIC = "atomic"


DATAGRAM = Parameter(
    name="datagram",
    kind="size",
    doc="UDP payload of each datagram, from 32B to 65507B over IPv4 and 65527B over IPv6; "
    "must be given, unless a traffic model sets it",
    minimum=1,
    maximum=2**20,
    identifying=True,
)
PACKET_RATE = Parameter(
    name="packet-rate",
    column="rate_pps",
    kind="packet-rate",
    doc="datagrams per second, instead of rate",
    minimum=1,
    maximum=10**9,
)
POLICY = replace(
    DF,
    choices=(*DF.choices, ATOMIC),
    doc=f"{DF.doc}; or each datagram is an atomic fragment (RFC 6946), over IPv6 only",
)
SEGMENTATION = Parameter(
    name="segmentation",
    kind="choice",
    choices=("auto", "never", "always"),
    doc="UDP_SEGMENT, with which several datagrams go to the sender's kernel in one piece: without a rate, "
    "where each is still a packet of its own on the first link; never; always, also where super-packets cross "
    "links",
    default="auto",
)


def _check(params: Params, families: frozenset[Family]) -> Wrong | None:
    if "rate_bps" in params and "rate_pps" in params:
        return Wrong(PACKET_RATE.name, "give rate or packet-rate, not both")
    if "datagram_bytes" not in params and not has_model(params):
        return Wrong(None, "datagram is missing: the size of the UDP payload, such as 1400B")
    return (
        udp_size(params, DATAGRAM, families)
        or check_model(params)
        or one_length(params, DURATION, BYTES, COUNT)
        or _too_many(params)
        or _not_atomic(params, families)
    )


def _too_many(params: Params) -> Wrong | None:
    """The agent numbers the datagrams of a flow with 32 bits."""
    datagrams = int(params.get("bytes", 0)) // (one_size(params) or 1)
    gap_ns = mean_gap_ns(params)
    if gap_ns is not None:
        datagrams += int(float(params.get("duration_ns", 0)) / gap_ns)
    if datagrams <= MAX_DATAGRAMS:
        return None
    words = f"a flow of {datagrams} datagrams is too long: at most {MAX_DATAGRAMS}; send slower or for a shorter time"
    return Wrong(None, words)


def _not_atomic(params: Params, families: frozenset[Family]) -> Wrong | None:
    """The reason why atomic fragments, which are asked for, cannot be sent; None if they can."""
    if POLICY.of(params) != ATOMIC:
        return None
    if 4 in families:
        words = "keep it to experiments whose paths are all of IPv6"
        return Wrong(POLICY.name, f"df cannot be atomic over IPv4: only IPv6 has atomic fragments (RFC 6946); {words}")
    if SEGMENTATION.of(params) == "always":
        words = "segmentation cannot be always where df is atomic: the kernel cuts no atomic fragments"
        return Wrong(SEGMENTATION.name, words)
    return None


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    """The measurements of the flows. Where there are two, the metrics are those of the flow from client to server; the
    other one has goodput and loss."""
    flows = {name: _flow(params, *ends) for name, ends in flows_of(params, client, server).items()}
    return together(flows, (("goodput_bps", "goodput_reverse_bps"), ("loss_ratio", "loss_reverse_ratio")))


def _flow(params: Params, client: Result, server: Result) -> TrialMeasurements:
    """The measurements of one flow, from the results of its sender and its receiver."""
    measured = TrialMeasurements()
    sent, unique = client["sent"], server["unique"]
    has_policy = refusals(measured, params, client, "datagrams")
    if not sent:
        if not measured.metrics.get("refused_ratio"):
            measured.reject(ReasonKind.NOTHING_SENT, "the sender sent nothing in the measured time")
        return measured
    lost_middle, lost_tail = server["lost_middle"], server.get("lost_tail", 0)
    if unique + lost_middle + lost_tail != sent:
        measured.reject(
            ReasonKind.LEDGER,
            f"the loss ledger does not add up: sent {sent} is not received once {unique} "
            f"+ lost in the middle {lost_middle} + lost at the tail {lost_tail}",
        )
    measured.metrics["loss_ratio"] = (lost_middle + lost_tail) / sent
    sent_pps = _sent_pps(client)
    if sent_pps is not None:
        measured.metrics["sent_rate_pps"] = sent_pps
        measured.metrics["lost_rate_pps"] = sent_pps * (lost_middle + lost_tail) / sent
    measured.metrics["duplicates_ratio"] = server["duplicates"] / sent
    measured.metrics["reordered_ratio"] = server["reordered"] / sent
    if not unique:
        measured.reject(ReasonKind.NOTHING_ARRIVED, f"none of {sent} datagrams arrived")
        if has_policy:
            measured.excuse(Excuse.DF_POLICY)
        return measured
    goodput = rate(8 * server["measured_bytes"], server["measured_ns"])
    if goodput is not None:
        measured.metrics["goodput_bps"] = goodput
        measured.metrics["packets_rate_pps"] = (unique - 1) * 1e9 / server["measured_ns"]
    if "jitter_rfc3550_ns" in server:
        measured.metrics["jitter_rfc3550_ns"] = float(server["jitter_rfc3550_ns"])
    histogram(measured, server, "one_way_delay", "one_way_delay", "mean", "min", "p50", "p99", "p999")
    histogram(measured, server, "ipdv", "ipdv", "mean", "p50", "p99")
    histogram(measured, server, "pdv", "pdv", "p50", "p99", "p999")
    if client.get("lateness", {}).get("count"):
        measured.histograms["send_lateness"] = dict(client["lateness"])
    if server.get("series"):
        measured.series["receiver"] = server["series"]
    if server.get("socket_drops"):
        measured.notes.append(f"{server['socket_drops']} datagrams were dropped at the receiver's socket buffer")
    _generator(measured, params, client)
    return measured


def _generator(measured: TrialMeasurements, params: Params, client: Result) -> None:
    """Checks whether the datagrams left when they were due."""
    if client["sent"] < 2 or not client["measured_ns"]:
        return
    # Refused datagrams also had their times in the schedule.
    taken = (client["sent"] - 1) * (1 + (client.get("refused") or 0) / client["sent"])
    measured_s = client["measured_ns"] / 1e9
    if has_constant_gaps(params):
        gap_ns = mean_gap_ns(params)
        due_pps = None if gap_ns is None else 1e9 / gap_ns
    else:
        due_pps = rate(taken, client["scheduled_ns"])
    if due_pps is not None and is_behind(taken, due_pps, measured_s):
        words = f"the sender sent {taken / measured_s:.0f} datagrams/s where {due_pps:.0f} were asked for"
        measured.reject(ReasonKind.TESTER_LIMITED, words)


def _sent_pps(client: Result) -> float | None:
    return rate(client["sent"] - 1, client["measured_ns"]) if client["sent"] > 1 else None


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    return traffic_of({name: receiver for name, (_, receiver) in flows_of(params, client, server).items()})


def _results(side: Side, params: Params) -> tuple[Expected, ...]:
    from .udp_results import UdpReceiver, UdpSender, UnevenSender

    sender = UdpSender if has_constant_gaps(params) else UnevenSender
    log = ("packet_log",) if PACKET_LOG.of(params) else ()
    sent = Expected(form=sender, keys=(*refusal_keys(params), *log))
    return ends_of(side, params, sent, Expected(form=UdpReceiver, keys=log))


KIND = WorkloadKind(
    name="udp-stream",
    title="UDP stream",
    transport="udp",
    doc="A flow of UDP datagrams on an absolute schedule, with a loss ledger and delays by kernel timestamps.",
    parameters=(
        DATAGRAM,
        Parameter(
            name="rate",
            kind="rate",
            doc="UDP payload bits per second, or datagrams per second as in 1000pps",
            minimum=1,
            maximum=10**13,
            unless_given="as fast as the socket takes them",
        ),
        PACKET_RATE,
        DURATION,
        BYTES,
        COUNT,
        WARMUP,
        replace(DIRECTION, doc=f"{DIRECTION.doc}; the client opens the flow"),
        SNDBUF,
        RCVBUF,
        POLICY,
        SEGMENTATION,
        Parameter(
            name="batch",
            kind="count",
            doc="largest number of datagrams of one system call; each carries the time before its call",
            minimum=1,
            maximum=1024,
            unless_given="1 with a rate; without one 64 with segmentation, else 4",
        ),
        SPIN,
        INTERVAL,
        *MODEL,
        PACKET_LOG,
    ),
    placement=apart,
    when_together={"spin_ns": 0},  # a spinning sender would take the receiver's processor
    primary="goodput",
    headline=(
        "goodput",
        "goodput_reverse",
        "loss_ratio",
        "loss_reverse",
        "one_way_delay_p50",
        "jitter_rfc3550",
        "cpu_busy",
        "cpu_per_packet",
        "cycles_per_packet",
    ),
    metrics=(
        *("goodput", "goodput_reverse", "packets_rate", "sent_rate", "lost_rate"),
        *("loss_ratio", "loss_reverse", "duplicates_ratio", "reordered_ratio", "refused_ratio"),
        *(f"one_way_delay_{s}" for s in ("mean", "min", "p50", "p99", "p999")),
        *("ipdv_mean", "ipdv_p50", "ipdv_p99", "pdv_p50", "pdv_p99", "pdv_p999", "jitter_rfc3550"),
    ),
    check=_check,
    summarise=_summarise,
    traffic=_traffic,
    results=_results,
    flow="datagrams",
    distributions=("one_way_delay",),
    progress=frozenset({"receiver"}),
    gap_ns=mean_gap_ns,
    is_drawn=is_drawn,
)
