"""`tcp-stream`: bulk transfer over TCP."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..parameter import Parameter, Params, Wrong
from ..quantity import duration, share, times
from ..reason import ReasonKind
from ..topology import Family
from ..workload import Expected, Result, Side, Traffic, TrialMeasurements, WorkloadKind, nothing_of_its_own
from .common import (
    BYTES,
    CONGESTION,
    DIRECTION,
    DURATION,
    INTERVAL,
    MESSAGE,
    MSS,
    NODELAY,
    RCVBUF,
    SNDBUF,
    WARMUP,
    one_length,
    rate,
)
from .moving import RECONNECT, outage

if TYPE_CHECKING:
    from ..form import Form

MAX_STREAMS = 1024
MAX_THREADS = 64

STANDSTILL_SHARE = 0.05
STANDSTILL_GAPS = 2
"""The flow stood still where the time between the reads differs from the window by a larger share of it, and by more of
the longest gaps between reads in it. A read that just misses an edge costs less. Through a shaped link packets may come
as those of one buffer, which take 5 ms at 100 Mbit/s, and then such a gap is no standstill."""

STREAMS = Parameter(
    name="streams",
    kind="count",
    doc="parallel connections in each direction",
    minimum=1,
    maximum=MAX_STREAMS,
    default=1,
)

SEND = Parameter(
    name="send",
    kind="choice",
    doc="write; MSG_ZEROCOPY; or vmsplice and splice, which give the socket the pages themselves",
    choices=("copy", "zerocopy", "splice"),
    default="copy",
)


def _check(params: Params, families: frozenset[Family]) -> Wrong | None:
    if RECONNECT.of(params):
        given = [item for item in (BYTES, STREAMS, DIRECTION, SEND) if item.column in params]
        changed = [item for item in given if item is BYTES or item.of(params) != item.default]
        if changed:
            words = "reconnect goes with one stream that the client sends by write for a duration"
            return Wrong(changed[0].name, f"{words}: leave {changed[0].name} out")
    if "bytes" in params and params.get("warmup_ns"):
        return Wrong(WARMUP.name, "a transfer of a number of bytes has no warm-up: leave warmup out")
    streams = int(STREAMS.of(params))
    if "bytes" in params and int(params["bytes"]) < streams:
        return Wrong(BYTES.name, f"{params['bytes']} bytes are too few for {streams} streams: at least one for each")
    return one_length(params, DURATION, BYTES)


def _summarise(params: Params, client: Result, server: Result) -> TrialMeasurements:
    measured = TrialMeasurements()
    for side, receiver in (("forward", server.get("forward_receiver")), ("reverse", client.get("reverse_receiver"))):
        if not receiver and DIRECTION.of(params) in (side, "both"):
            measured.reject(ReasonKind.NOT_TOLD, f"{side}: the receiver did not report the bytes that it received")
    _receiver(measured, server.get("forward_receiver"), "goodput_bps", "forward")
    _receiver(
        measured,
        client.get("reverse_receiver"),
        "goodput_reverse_bps" if "forward_receiver" in server else "goodput_bps",
        "reverse",
    )
    for direction, sender in (("forward", client.get("forward_sender")), ("reverse", server.get("reverse_sender"))):
        if sender:
            _sender(measured, sender, direction)
    _zerocopy(measured, client.get("forward_sender"), server.get("reverse_sender"))
    return measured


def _receiver(measured: TrialMeasurements, receiver: Any, column: str, direction: str) -> None:
    if not receiver:
        return
    goodput_bps = _goodput_bps(measured, receiver, direction)
    if goodput_bps is not None:
        measured.metrics[column] = goodput_bps
    else:
        measured.reject(
            ReasonKind.TOO_SHORT,
            f"{direction}: {receiver.get('reads', 0)} reads in the window are too few for a rate; "
            "measure for longer or send more",
        )
    outage(measured, receiver)
    if receiver.get("series"):
        measured.series[f"{direction}_receiver"] = receiver["series"]


def _goodput_bps(measured: TrialMeasurements, receiver: Any, direction: str) -> float | None:
    """Bytes between a read before either edge of the window, over the time between these reads. Over the window
    where the flow stood still at an edge of it, since the time between reads is not the window's then. None where there
    are too few reads."""
    measured_bytes, measured_ns = receiver.get("measured_bytes"), receiver.get("measured_ns")
    if not measured_bytes or not measured_ns:
        return None
    window_ns = int(receiver["ended_ns"] - receiver["started_ns"])
    still_ns = abs(window_ns - measured_ns)
    longest_gap_ns = receiver.get("longest_gap_ns", 0)
    if still_ns > max(STANDSTILL_SHARE * window_ns, STANDSTILL_GAPS * longest_gap_ns):
        still_ms = still_ns / 1e6
        measured.notes.append(f"{direction}: the flow stood still for {still_ms:.0f} ms at an edge of the window")
        return rate(8 * measured_bytes, window_ns)
    return rate(8 * measured_bytes, measured_ns)


def _sender(measured: TrialMeasurements, sender: dict[str, Any], direction: str) -> None:
    series = sender.get("series") or {}
    if series:
        measured.series[f"{direction}_sender"] = series
    if "tcp_rtt_mean_ns" not in measured.metrics:
        samples = [value for value in series.get("rtt_ns", []) if value is not None]
        if samples:
            measured.metrics["tcp_rtt_mean_ns"] = sum(samples) / len(samples)
        if len(samples) > 1:
            steps = [abs(after - before) for before, after in pairwise(samples)]
            measured.metrics["tcp_jitter_mean_ns"] = sum(steps) / len(steps)
        info = sender.get("tcp_info") or {}
        if info.get("segments_out"):
            measured.metrics["retransmits_ratio"] = info.get("retransmits", 0) / info["segments_out"]
    if "transfer_ns" in sender and "transfer_time_ns" not in measured.metrics:
        measured.metrics["transfer_time_ns"] = float(sender["transfer_ns"])


def _zerocopy(measured: TrialMeasurements, *senders: Any) -> None:
    """The share of zero-copy sends that the kernel copied after all, among those whose end is known."""
    answers = [sender["zerocopy"] for sender in senders if sender and "zerocopy" in sender]
    completed, copied = (sum(int(each[name]) for each in answers) for name in ("completed", "copied"))
    if completed:
        measured.metrics["zerocopy_copied_ratio"] = copied / completed


def _traffic(params: Params, client: Result, server: Result) -> Traffic:
    forward, reverse = server.get("forward_receiver"), client.get("reverse_receiver")
    return Traffic(
        forward_payload_bytes=forward["received_bytes"] if forward else 0,
        reverse_payload_bytes=reverse["received_bytes"] if reverse else 0,
    )


def _results(side: Side, params: Params) -> tuple[Expected, ...]:
    ends = ("forward_sender", "reverse_receiver") if side == "client" else ("forward_receiver", "reverse_sender")
    sender, receiver = _ends()
    return nothing_of_its_own(side, params) + tuple(
        Expected(form=sender if end.endswith("sender") else receiver, place=end)
        for end in ends
        if DIRECTION.of(params) in (end.partition("_")[0], "both")
    )


@cache
def _ends() -> tuple[type[Form], type[Form]]:
    """The forms of the end that sends and of the one that receives."""
    from typing import Annotated

    from pydantic import Field, model_validator

    from ..form import ABSENT, Form, Natural
    from ..result_form import Move, SeenMove, SideResult

    class Zerocopy(Form):
        """The outcome of sends without a copy."""

        sends: Natural
        completed: Natural
        copied: Natural

    class StreamSender(SideResult):
        """The sending end of TCP streams."""

        sent_bytes: Natural
        transfer_ns: Natural = ABSENT
        zerocopy: Zerocopy = ABSENT
        tcp_info: dict[str, Annotated[float, Field(ge=0)]] = ABSENT
        moves: list[Move] = ABSENT

    class MeasuredStream(Form):
        """The bytes of a stream in the window; absent where there were too few reads."""

        measured_bytes: Natural = ABSENT
        measured_ns: Natural = ABSENT

    class StreamReceiver(SideResult):
        """The receiving end of TCP streams."""

        received_bytes: Natural
        reads: Natural
        streams: list[MeasuredStream]
        measured_bytes: Natural = ABSENT
        measured_ns: Natural = ABSENT
        started_ns: Natural = ABSENT
        ended_ns: Natural = ABSENT
        longest_gap_ns: Natural = ABSENT
        moves: list[SeenMove] = ABSENT

        @model_validator(mode="after")
        def _has_a_window(self) -> StreamReceiver:
            numbers = [self.measured_ns, self.measured_bytes, self.started_ns, self.ended_ns]
            if numbers[:2] != [ABSENT, ABSENT] and ABSENT in numbers:
                raise ValueError("a measurement lacks its bytes or the edges of its window")
            return self

    return StreamSender, StreamReceiver


KIND = WorkloadKind(
    name="tcp-stream",
    title="TCP bulk transfer",
    transport="tcp",
    doc="Bulk transfer over TCP; goodput as the receiver sees it.",
    parameters=(
        replace(MESSAGE, maximum=64 * 2**20, default=2**17),
        DURATION,
        BYTES,
        WARMUP,
        STREAMS,
        DIRECTION,
        Parameter(
            name="threads",
            kind="count",
            doc="threads of each direction on each side, with an epoll set each for several streams",
            minimum=1,
            maximum=MAX_THREADS,
            unless_given="1 for each 8 streams, and no more than cores",
        ),
        SEND,
        Parameter(
            name="receive",
            kind="choice",
            doc="read; or MSG_TRUNC, with which the kernel discards what arrived",
            choices=("copy", "truncate"),
            default="copy",
        ),
        SNDBUF,
        RCVBUF,
        Parameter(
            name="window",
            kind="size",
            doc="TCP_WINDOW_CLAMP: largest window offered",
            minimum=1024,
            maximum=2**29,
            unless_given="the kernel's, with autotuning",
        ),
        MSS,
        CONGESTION,
        NODELAY,
        RECONNECT,
        INTERVAL,
    ),
    primary="goodput",
    headline=("goodput", "goodput_reverse", "outage", "transfer_time", "tcp_rtt_mean", "cpu_busy", "cpu_per_byte"),
    metrics=(
        "goodput",
        "goodput_reverse",
        "transfer_time",
        "tcp_rtt_mean",
        "tcp_jitter_mean",
        "retransmits_ratio",
        "zerocopy_copied_ratio",
        "outage",
    ),
    own_metrics=(
        duration("transfer_time", "Transfer time", "RFC 6349 section 4.1"),
        *times("tcp_rtt", "TCP's round-trip time", "RFC 6298 (TCP_INFO)", "mean"),
        *times(
            "tcp_jitter", "Difference of consecutive TCP round-trip samples", "TCP_INFO, RFC 5481 section 4.1", "mean"
        ),
        share("retransmits_ratio", "Retransmitted segments", "RFC 4898"),
        share(
            "zerocopy_copied_ratio",
            "Sends without a copy that the kernel copied after all",
            "Linux, Documentation/networking/msg_zerocopy.rst",
        ),
    ),
    check=_check,
    summarise=_summarise,
    traffic=_traffic,
    results=_results,
    flow="stream",
    progress=frozenset({"receiver", "sender"}),
    moves_by=RECONNECT,
)
