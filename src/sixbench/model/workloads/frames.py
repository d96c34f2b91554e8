"""`frames`: whole Ethernet frames past the hosts' IP layers at exact rates, one way or both (RFC 2544, RFC 8219)."""

from __future__ import annotations

import math
from dataclasses import replace

from ..parameter import Parameter, Params, Scalar, Wrong
from ..reason import ReasonKind
from ..topology import Family
from ..workload import Expected, Measured, Result, Side, Traffic, WorkloadKind, apart, nothing_of_its_own
from .common import COUNT, DIRECTION, DURATION, INTERVAL, SHORT_WARMUP, histogram, one_length, rate

MAX_FRAMES = 2**32
"""The agent numbers the frames of a flow with 32 bits."""
ETHERNET_BYTES = 18
"""The Ethernet header and the frame check sequence, which RFC 2544 counts in a frame's size."""
LEAST_BYTES: dict[Family, int] = {4: 64, 6: 84}
"""The smallest frames (RFC 2544 section 9.1; RFC 8219 section 5.1.1)."""
MAX_BEHIND = 0.001
"""The share of its rate by which a sender may be behind its schedule."""

FRAME = Parameter(
    name="frame",
    column="frame_bytes",
    kind="size",
    doc="size of the client's frames with the frame check sequence, as RFC 2544 counts it; must be given. The server's "
    "have the same payload",
    minimum=64,
    maximum=9216,
    identifying=True,
)
PACKET_RATE = Parameter(
    name="packet-rate",
    column="rate_pps",
    kind="packet-rate",
    doc="frames per second in each direction, such as 10kpps; must be given",
    minimum=1,
    maximum=10**9,
    identifying=True,
)
PACKET_RATE_REVERSE = replace(
    PACKET_RATE,
    name="packet-rate-reverse",
    column="rate_reverse_pps",
    doc="frames per second of the server, where it has another rate",
    unless_given="packet-rate",
)
STEP_AFTER = Parameter(
    name="step-after",
    column="step_after_ns",
    kind="duration",
    doc="after so much of the measured time both directions have the rate step-rate (RFC 2544 section 26.5)",
    minimum=10**6,
    maximum=24 * 3600 * 10**9,
    length=True,
    identifying=True,
)
STEP_RATE = replace(
    PACKET_RATE,
    name="step-rate",
    column="step_rate_pps",
    doc="frames per second in each direction from step-after on",
)
PORTS = Parameter(
    name="ports",
    column="ports",
    kind="choice",
    choices=("fixed", "pseudo-random"),
    doc="one pair of UDP ports, or pseudo-random ones (RFC 4814)",
    default="fixed",
)
FLOWS = Parameter(
    name="flows",
    column="flows",
    kind="count",
    doc="how many pairs of pseudo-random ports take turns",
    minimum=1,
    maximum=65536,
    unless_given="65536 with pseudo-random ports, else 1",
)
RESIDUAL = Parameter(
    name="residual",
    column="residual_ns",
    kind="duration",
    doc="how long after the end frames still count as received (RFC 2544 section 23); later ones are late",
    minimum=0,
    maximum=4 * 10**9,
    length=True,
    default=2 * 10**9,
)
TOLERANCE = Parameter(
    name="tolerance",
    column="tolerance_ns",
    kind="duration",
    doc="how late 99.9 % of the frames may leave at most, or the gap between two frames if that is longer; a trial in "
    "which they leave later is invalid",
    minimum=0,
    maximum=10**10,
    length=True,
    default=10**7,
)


def _check(params: Params, families: frozenset[Family]) -> Wrong | None:
    for parameter, example in ((FRAME, "64B"), (PACKET_RATE, "10kpps")):
        if parameter.column not in params:
            return Wrong(None, f"{parameter.name} is missing, such as {parameter.name}: {example}")
    return (
        _too_small(params, families)
        or one_length(params, DURATION, COUNT)
        or _half_a_step(params)
        or _too_many(params)
        or _no_flows(params)
    )


def _too_small(params: Params, families: frozenset[Family]) -> Wrong | None:
    frame_bytes = int(FRAME.of(params))
    for family in sorted(families):
        if frame_bytes < LEAST_BYTES[family]:
            least = f"at least {LEAST_BYTES[family]} over IPv{family} (RFC 8219 section 5.1.1)"
            return Wrong(FRAME.name, f"frames of {frame_bytes} bytes are too small: {least}")
    return None


def _half_a_step(params: Params) -> Wrong | None:
    given = [one.name for one in (STEP_AFTER, STEP_RATE) if one.column in params]
    if len(given) == 1:
        return Wrong(given[0], f"{STEP_AFTER.name} and {STEP_RATE.name} go together: give both, or neither")
    return None


def _too_many(params: Params) -> Wrong | None:
    duration_ns = float(params.get("duration_ns", 0))
    frames = max(_due_before(params, name, duration_ns) for name in ("forward", "reverse"))
    if frames <= MAX_FRAMES:
        return None
    return Wrong(None, f"a flow of {frames:.0f} frames is too long: at most {MAX_FRAMES}; send slower or shorter")


def _no_flows(params: Params) -> Wrong | None:
    if PORTS.of(params) == "fixed" and params.get(FLOWS.column, 1) != 1:
        return Wrong(FLOWS.name, "flows are pairs of pseudo-random ports: give ports: pseudo-random, or leave it out")
    return None


def _rate_pps(params: Params, direction: str) -> float:
    own = params.get(PACKET_RATE_REVERSE.column) if direction == "reverse" else None
    return float(PACKET_RATE.of(params) if own is None else own)


def _due_before(params: Params, direction: str, time_ns: float) -> float:
    """About how many frames of a direction are due before that time."""
    first_ns = min(time_ns, float(params.get(STEP_AFTER.column, time_ns)))
    after_ns = time_ns - first_ns
    step_pps = float(params.get(STEP_RATE.column, 0))
    return (_rate_pps(params, direction) * first_ns + step_pps * after_ns) / 1e9


def _due_ns(params: Params, direction: str, index: int) -> float:
    """When a frame is due, since the start of the measured time."""
    step_ns, rate_pps = params.get(STEP_AFTER.column), _rate_pps(params, direction)
    before = index + 1 if step_ns is None else math.ceil(float(step_ns) * rate_pps / 1e9)
    if step_ns is None or index < before:
        return index * 1e9 / rate_pps
    return float(step_ns) + (index - before) * 1e9 / float(params[STEP_RATE.column])


def _agent_params(params: Params) -> dict[str, Scalar]:
    return {column: value for column, value in params.items() if column != TOLERANCE.column}


def _flows(params: Params, client: Result, server: Result) -> dict[str, tuple[Result, Result]]:
    """The results of the sender and of the receiver of each flow, by its direction."""
    direction = DIRECTION.of(params)
    if direction == "forward":
        return {"forward": (client, server)}
    flows = {"reverse": (server["reverse_sender"], client["reverse_receiver"])}
    if direction == "both":
        flows = {"forward": (client["forward_sender"], server["forward_receiver"])} | flows
    return flows


_OF_BOTH = (
    ("goodput_bps", "goodput_reverse_bps"),
    ("packets_rate_pps", "packets_rate_reverse_pps"),
    ("loss_ratio", "loss_reverse_ratio"),
    ("one_way_delay_mean_ns", "one_way_delay_reverse_mean_ns"),
    ("one_way_delay_p50_ns", "one_way_delay_reverse_p50_ns"),
    ("one_way_delay_p999_ns", "one_way_delay_reverse_p999_ns"),
    ("pdv_p999_ns", "pdv_reverse_p999_ns"),
)
"""The metrics of a flow, and those of the flow from the server, where there is one in each direction."""


def _summarise(params: Params, client: Result, server: Result) -> Measured:
    """The measurements of the flows. Where there are two, the metrics are those of the flow from client to server; the
    other one has its rate, goodput and loss."""
    flows = {name: _flow(params, name, *ends) for name, ends in _flows(params, client, server).items()}
    if len(flows) == 1:
        return next(iter(flows.values()))
    measured, reverse = flows["forward"], flows["reverse"]
    for column, other in _OF_BOTH:
        if column in reverse.metrics:
            measured.metrics[other] = reverse.metrics[column]
    recovered = [flow.metrics["recovery_ns"] for flow in flows.values() if "recovery_ns" in flow.metrics]
    if recovered:
        measured.metrics["recovery_ns"] = max(recovered)
    return replace(
        measured,
        series={f"{name}_{source}": series for name, flow in flows.items() for source, series in flow.series.items()},
        invalid=[replace(one, text=f"{one.text} ({name})") for name, flow in flows.items() for one in flow.invalid],
        notes=[f"{note} ({name})" for name, flow in flows.items() for note in flow.notes],
    )


def _flow(params: Params, direction: str, sender: Result, receiver: Result) -> Measured:
    """The measurements of one flow, from the results of its sender and its receiver."""
    measured = Measured()
    _generator(measured, params, direction, sender)
    sent, unique = sender["sent"], receiver["unique"]
    if not sent:
        measured.reject(ReasonKind.NOTHING_SENT, "the sender sent no frame in the measured time")
        return measured
    lost = receiver["lost_middle"] + receiver.get("lost_tail", 0)
    if unique + lost != sent:
        words = f"the ledger does not add up: sent {sent} frames are not received once {unique} + lost {lost}"
        measured.reject(ReasonKind.LEDGER, words)
    if receiver["ring_drops"]:
        words = f"the receiver had no room for {receiver['ring_drops']} frames, which the path may have delivered"
        measured.reject(ReasonKind.TESTER_LIMITED, words)
    counted = {"loss_ratio": lost, "duplicates_ratio": receiver["duplicates"], "reordered_ratio": receiver["reordered"]}
    counted |= {"corrupt_ratio": receiver["corrupt"], "late_ratio": receiver["late"]}
    measured.metrics.update({column: count / sent for column, count in counted.items()})
    sent_pps = rate(sent - 1, sender["measured_ns"]) if sent > 1 else None
    recovery_ns = _recovery_ns(params, direction, lost, receiver) if STEP_AFTER.column in params else None
    if recovery_ns is not None:
        measured.metrics["recovery_ns"] = recovery_ns
    if sent_pps is not None:
        measured.metrics["sent_rate_pps"] = sent_pps
        measured.metrics["lost_rate_pps"] = sent_pps * lost / sent
    histogram(measured, sender, "inter_frame_error", "inter_frame_error", "p50", "p99")
    if sender.get("lateness", {}).get("count"):
        measured.histograms["send_lateness"] = dict(sender["lateness"])
    if not unique:
        measured.reject(ReasonKind.NOTHING_ARRIVED, f"none of {sent} frames arrived")
        return measured
    goodput = rate(8 * receiver["measured_bytes"], receiver["measured_ns"])
    if goodput is not None:
        measured.metrics["goodput_bps"] = goodput
        measured.metrics["packets_rate_pps"] = (unique - 1) * 1e9 / receiver["measured_ns"]
    histogram(measured, receiver, "one_way_delay", "one_way_delay", "mean", "min", "p50", "p99", "p999")
    histogram(measured, receiver, "ipdv", "ipdv", "mean", "p50", "p99")
    histogram(measured, receiver, "pdv", "pdv", "p50", "p99", "p999")
    if receiver.get("series"):
        measured.series["receiver"] = receiver["series"]
    for name in ("corrupt", "late"):
        if receiver[name]:
            measured.notes.append(f"{receiver[name]} frames arrived {name}, and count as lost")
    return measured


def _recovery_ns(params: Params, direction: str, lost: int, receiver: Result) -> float | None:
    """How long after the rate became another the last frame was due that was lost (RFC 2544 section 26.5). None: it is
    not known which one that was, or the flow ended before."""
    last, sent = receiver.get("last_lost"), lost + int(receiver["unique"])
    if _due_ns(params, direction, sent) <= float(params[STEP_AFTER.column]):
        return None
    if last is None:
        return None if lost else 0.0
    return max(0.0, _due_ns(params, direction, int(last)) - float(params[STEP_AFTER.column]))


def _generator(measured: Measured, params: Params, direction: str, sender: Result) -> None:
    """Whether the tester sent what it should, when it should: else the trial says nothing of the device (RFC 2544
    section 6)."""
    sent, due = sender["sent"], sender["due"]
    if sent < due:
        measured.reject(ReasonKind.TESTER_LIMITED, f"the sender sent {sent} of the {due} frames that were due")
        return
    lateness = sender.get("lateness") or {}
    # A frame that leaves before the next one is due makes no burst.
    tolerance_ns = max(int(TOLERANCE.of(params)), round(1e9 / _rate_pps(params, direction)))
    if lateness.get("count") and lateness["p999"] > tolerance_ns:
        words = f"one frame in a thousand left {lateness['p999'] / 1e6:.3g} ms late or later"
        measured.reject(ReasonKind.TESTER_LIMITED, f"{words}, where {tolerance_ns / 1e6:.3g} ms are tolerated")
    wanted_ns = _due_ns(params, direction, sent - 1)
    late_ns = sender.get("measured_ns", 0) - wanted_ns
    if sent > 1 and late_ns > max(MAX_BEHIND * wanted_ns, tolerance_ns):
        words = f"the sender took {late_ns / 1e6:.3g} ms longer than the {wanted_ns / 1e6:.6g} ms of its schedule"
        measured.reject(ReasonKind.TESTER_LIMITED, words)


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    receivers = {name: receiver for name, (_, receiver) in _flows(params, client, server).items()}
    return Traffic(
        forward_payload_bytes=receivers["forward"]["unique_bytes"] if "forward" in receivers else 0,
        reverse_payload_bytes=receivers["reverse"]["unique_bytes"] if "reverse" in receivers else 0,
        forward_datagrams=receivers["forward"]["unique"] if "forward" in receivers else None,
        messages=sum(int(one["received"]) + int(one.get("warmup_received", 0)) for one in receivers.values()),
    )


def _results(side: Side, params: Params) -> tuple[Expected, ...]:
    """Of a flow in one direction, forward, the result itself is that of its end."""
    from .frames_results import FrameReceiver, FrameSender

    sent, received = Expected(form=FrameSender), Expected(form=FrameReceiver)
    forward, reverse = (sent, received) if side == "client" else (received, sent)
    direction = DIRECTION.of(params)
    if direction == "forward":
        return (forward,)
    places = ("forward_sender", "reverse_receiver") if side == "client" else ("forward_receiver", "reverse_sender")
    ends = (replace(forward, place=places[0]), replace(reverse, place=places[1]))
    return nothing_of_its_own(side, params) + (ends if direction == "both" else ends[1:])


KIND = WorkloadKind(
    name="frames",
    title="Ethernet frames",
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
        RESIDUAL,
        TOLERANCE,
        Parameter(
            name="spin",
            column="spin_ns",
            kind="duration",
            doc="how long before a frame is due the sender begins to spin instead of sleeping, at most",
            minimum=0,
            maximum=10**6,
            default=50_000,
        ),
        INTERVAL,
    ),
    placement=apart,
    when_together={"spin_ns": 0},  # a sender that spins would be in the way of the receiver
    primary="packets_rate",
    headline=(
        *("packets_rate", "packets_rate_reverse", "loss_ratio", "loss_reverse"),
        *("one_way_delay_p50", "one_way_delay_p999", "pdv_p999", "cpu_busy"),
    ),
    metrics=(
        *("goodput", "goodput_reverse", "packets_rate", "packets_rate_reverse", "sent_rate", "lost_rate"),
        *("loss_ratio", "loss_reverse", "duplicates_ratio", "reordered_ratio", "corrupt_ratio", "late_ratio"),
        *(f"one_way_delay_{s}" for s in ("mean", "min", "p50", "p99", "p999")),
        *("ipdv_mean", "ipdv_p50", "ipdv_p99", "pdv_p50", "pdv_p99", "pdv_p999"),
        *(f"one_way_delay_reverse_{s}" for s in ("mean", "p50", "p999")),
        *("pdv_reverse_p999", "recovery", "inter_frame_error_p50", "inter_frame_error_p99"),
    ),
    check=_check,
    summarise=_summarise,
    traffic=_traffic,
    results=_results,
    agent_params=_agent_params,
    gap_ns=lambda params: 1e9 / _rate_pps(params, "forward") if PACKET_RATE.column in params else None,
)
