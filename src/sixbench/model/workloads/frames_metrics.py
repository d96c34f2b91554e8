"""The metrics of `frames`, from what both ends counted."""

from __future__ import annotations

from ..parameter import Params
from ..quantity import duration, metric, share, times
from ..reason import ReasonKind
from ..workload import Result, TrialMeasurements
from .common import histogram, histogram_of, rate
from .frames_parameters import MAX_BEHIND, STEP_AFTER, TOLERANCE, due_ns, rate_pps
from .frames_stamps import stamps_of
from .two_ways import flows_of, together

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

OWN_METRICS = (
    *times(
        *("one_way_delay_reverse", "One-way delay from the server", "RFC 7679", "mean", "p50", "p999"),
        needs_one_clock=True,
    ),
    *times("pdv_reverse", "PDV from the server", "RFC 5481 section 4.2", "p999", needs_one_clock=True),
    duration("recovery", "Time to recover from an overload", "RFC 2544 section 26.5"),
    metric(
        "packets_rate_reverse", "pps", "higher", "Frames received per second, server to client", "RFC 2544 section 26.1"
    ),
    *times("inter_frame_error", "Inter-frame error of the sender", "RFC 4689 section 3.3.1", "p50", "p99"),
    share("corrupt_ratio", "Frames that arrived corrupt", "RFC 2544 section 10"),
    share("late_ratio", "Frames that arrived after the residual time", "RFC 2544 section 23"),
    share("loss_native", "Loss of the frames that go natively", "RFC 7680; RFC 8219 section 5.3"),
)
"""The metrics that no other workload has."""


def summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    """The measurements of the flows. Where there are two, the metrics are those of the flow from client to server; the
    other one has its rate, goodput and loss."""
    flows = {name: _flow(params, name, *ends) for name, ends in flows_of(params, client, server).items()}
    measured = together(flows, _OF_BOTH)
    recovered = [flow.metrics["recovery_ns"] for flow in flows.values() if "recovery_ns" in flow.metrics]
    if recovered:
        measured.metrics["recovery_ns"] = max(recovered)
    return measured


def _flow(params: Params, direction: str, sender: Result, receiver: Result) -> TrialMeasurements:
    """The measurements of one flow, from the results of its sender and its receiver."""
    measured = TrialMeasurements()
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
    _native(measured, sender, receiver)
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
    _one_way_delay(measured, sender, receiver)
    histogram(measured, receiver, "ipdv", "ipdv", "mean", "p50", "p99")
    histogram(measured, receiver, "pdv", "pdv", "p50", "p99", "p999")
    if receiver.get("series"):
        measured.series["receiver"] = receiver["series"]
    _notes(measured, sender, receiver)
    return measured


def _one_way_delay(measured: TrialMeasurements, sender: Result, receiver: Result) -> None:
    """Adds the one-way delay: by hardware, where both interfaces stamp frames; else from the time in each frame to the
    kernel's."""
    stamped, result = stamps_of(sender, receiver), receiver
    if isinstance(stamped, str):
        measured.notes.append(f"no hardware time stamps: {stamped}")
    elif stamped is not None and stamped.is_wrong:
        measured.notes.append(f"no one-way delay: the clock of {stamped.by} was set during the trial")
        return
    elif stamped is not None:
        measured.notes.append(f"one-way delay: {stamped.words}")
        if not stamped.delays_ns:
            return
        result = {"one_way_delay": histogram_of(stamped.delays_ns)}
    histogram(measured, result, "one_way_delay", "one_way_delay", "mean", "min", "p50", "p99", "p999")


def _notes(measured: TrialMeasurements, sender: Result, receiver: Result) -> None:
    for side, result in (("sender", sender), ("receiver", receiver)):
        if result.get("engine_refused"):
            measured.notes.append(f"no XDP at the {side}: {result['engine_refused']}")
    for name in ("corrupt", "late"):
        if receiver[name]:
            measured.notes.append(f"{receiver[name]} frames arrived {name}, and count as lost")
    if receiver.get("otherwise_extended"):
        words = "with other extension headers than they were sent with, or without"
        measured.notes.append(f"{receiver['otherwise_extended']} frames arrived {words}")


def _recovery_ns(params: Params, direction: str, lost: int, receiver: Result) -> float | None:
    """Time from the change of the rate to the due time of the last lost frame (RFC 2544 section 26.5). None: it is not
    known which one that was, or the flow ended before."""
    last, sent = receiver.get("last_lost"), lost + int(receiver["unique"])
    if due_ns(params, direction, sent) <= float(params[STEP_AFTER.column]):
        return None
    if last is None:
        return None if lost else 0.0
    return max(0.0, due_ns(params, direction, int(last)) - float(params[STEP_AFTER.column]))


def _generator(measured: TrialMeasurements, params: Params, direction: str, sender: Result) -> None:
    """Checks whether the tester sent what it should, when it should: else the trial says nothing of the device (RFC
    2544 section 6)."""
    sent, due = sender["sent"], sender["due"]
    if sent < due:
        measured.reject(ReasonKind.TESTER_LIMITED, f"the sender sent {sent} of the {due} frames that were due")
        return
    lateness = sender.get("lateness") or {}
    # A late frame that still leaves before the next one is due causes no burst.
    tolerance_ns = max(int(TOLERANCE.of(params)), round(1e9 / rate_pps(params, direction)))
    if lateness.get("count") and lateness["p999"] > tolerance_ns:
        words = f"one frame in a thousand left {lateness['p999'] / 1e6:.3g} ms late or later"
        measured.reject(ReasonKind.TESTER_LIMITED, f"{words}, where {tolerance_ns / 1e6:.3g} ms are tolerated")
    wanted_ns = due_ns(params, direction, sent - 1)
    late_ns = sender.get("measured_ns", 0) - wanted_ns
    if sent > 1 and late_ns > max(MAX_BEHIND * wanted_ns, tolerance_ns):
        words = f"the sender took {late_ns / 1e6:.3g} ms longer than the {wanted_ns / 1e6:.6g} ms of its schedule"
        measured.reject(ReasonKind.TESTER_LIMITED, words)


def _native(measured: TrialMeasurements, sender: Result, receiver: Result) -> None:
    """Number of natively sent frames that were lost."""
    if "native" not in sender or "native" not in receiver:
        return
    sent, unique = sender["native"]["sent"], receiver["native"]["unique"]
    if unique > sent:
        words = f"the ledger does not add up: {unique} native frames arrived once, and {sent} were sent"
        measured.reject(ReasonKind.LEDGER, words)
    elif sent:
        measured.metrics["loss_native_ratio"] = (sent - unique) / sent
