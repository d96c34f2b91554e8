"""The forms of both sides' results, by workload (docs/protocol.md)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from ..model.errors import AgentError
from ..model.form import ABSENT, Counts, Form, Natural
from ..model.results import PathMtu, Sequences, Socket
from ..model.workloads.traffic_models import has_constant_gaps
from .answers import CpuSample, Histogram, check

Side = Literal["client", "server"]

Place = tuple[str, ...]
"""The keys that lead to an object in a result."""


def check_result(workload: str, side: Side, params: Mapping[str, Any], result: object, what: str) -> None:
    """Holds a result against its workload's form.

    Args:
        workload: the agent's, such as `udp-stream`.
        params: those that the agent was given: directions and policies decide what a result has.
        what: the request, in words, such as `run of ping`.

    Raises:
        AgentError: of code `agent-broken`; it says what is wrong, and where.
    """
    direction = str(params.get("direction", "forward"))
    for place, form in _forms(workload, side, direction):
        part = result
        for key in place:
            check(_has(key), part, what, place[: place.index(key)])
            assert isinstance(part, dict), "the form above has been found right"
            part = part[key]
        check(form, part, what, place)
        assert isinstance(part, dict), "the form has been found right"
        for key in _asked_for(form, params, part):
            if key not in part:
                raise AgentError("agent-broken", f"{what} was answered without {'.'.join((*place, key))}")


def _has(key: str) -> type[Form]:
    """The form of an object that has this key, with an object."""
    return type(f"With_{key}", (Form,), {"__annotations__": {key: dict[str, Any]}})


def _forms(workload: str, side: Side, direction: str) -> Iterator[tuple[Place, type[Form]]]:
    """The objects of a result, and the form of each."""
    yield (), RESULTS[workload][side]
    if workload == "tcp-stream":
        ends = ("forward_sender", "reverse_receiver") if side == "client" else ("forward_receiver", "reverse_sender")
        for end in ends:
            if direction in (end.partition("_")[0], "both"):
                yield (end,), StreamSender if end.endswith("sender") else StreamReceiver
    if workload == "udp-stream":
        sender, receiver = (UdpSender, UdpReceiver)
        if direction == "forward":
            yield (), sender if side == "client" else receiver
        else:
            yield (
                ("reverse_receiver",) if side == "client" else ("reverse_sender",),
                (receiver if side == "client" else sender),
            )
        if direction == "both":
            yield (
                ("forward_sender",) if side == "client" else ("forward_receiver",),
                (sender if side == "client" else receiver),
            )


def _asked_for(form: type[Form], params: Mapping[str, Any], part: Mapping[str, Any]) -> Iterator[str]:
    """The keys that the parameters demand of an object besides."""
    has_policy = params.get("df", "clear") != "clear"
    if form is UdpSender and part["sent"] and not has_constant_gaps(params):
        yield "scheduled_ns"
    if form in (UdpSender, PingClient) and has_policy:
        yield from ("refused", "errors")
    if form in (UdpSender, UdpReceiver) and params.get("packet_log"):
        yield "packet_log"
    if form is Connections and "rate_per_s" in params:
        yield from ("attempts", "offered_ns")


def _equally_long(series: dict[str, list[Any]]) -> dict[str, list[Any]]:
    times = series.get("t_ns", [])
    if any(len(column) != len(times) for column in series.values()):
        raise ValueError("the columns of a series are not equally long")
    if any(type(time_ns) is not int for time_ns in times):
        raise ValueError("the times of a series are no integers")
    return series


Series = Annotated[dict[str, list[int | float | None]], AfterValidator(_equally_long)]


class CpuSpan(Form):
    """CPU samples at the edges of a window."""

    from_: CpuSample = Field(alias="from")
    to: CpuSample


class Result(Form):
    """The keys that any result, or one end of a flow in it, may have."""

    cpu: CpuSpan = ABSENT
    strays: Counts | Natural = ABSENT
    socket: Socket = ABSENT
    series: Series = ABSENT


class Zerocopy(Form):
    """The outcome of sends without a copy."""

    sends: Natural
    completed: Natural
    copied: Natural


class StreamSender(Result):
    """The sending end of TCP streams."""

    sent_bytes: Natural
    transfer_ns: Natural = ABSENT
    zerocopy: Zerocopy = ABSENT
    tcp_info: dict[str, Annotated[float, Field(ge=0)]] = ABSENT


class Measured(Form):
    """The bytes of a stream in the window; absent where there were too few reads."""

    measured_bytes: Natural = ABSENT
    measured_ns: Natural = ABSENT


class StreamReceiver(Result):
    """The receiving end of TCP streams."""

    received_bytes: Natural
    reads: Natural
    streams: list[Measured]
    measured_bytes: Natural = ABSENT
    measured_ns: Natural = ABSENT
    started_ns: Natural = ABSENT
    ended_ns: Natural = ABSENT

    @model_validator(mode="after")
    def _has_a_window(self) -> StreamReceiver:
        told = [self.measured_ns, self.measured_bytes, self.started_ns, self.ended_ns]
        if told[:2] != [ABSENT, ABSENT] and ABSENT in told:
            raise ValueError("what was measured lacks its bytes or the edges of its window")
        return self


class Waits(Form):
    """How a sender waited for its due times."""

    spun_ns: Natural = ABSENT
    warmup_spun_ns: Natural = ABSENT


def _column(item_bytes: int) -> AfterValidator:
    def check_column(text: str) -> str:
        try:
            content = base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise ValueError(f"no Base64: {error}") from error
        if len(content) % item_bytes:
            raise ValueError(f"{len(content)} bytes are not numbers of {item_bytes} bytes each")
        return text

    return AfterValidator(check_column)


def _entries(text: str, item_bytes: int) -> int:
    return len(base64.b64decode(text)) // item_bytes


class SentLog(Form):
    """The datagrams that were sent, each column in Base64."""

    sent_realtime_ns: Annotated[str, _column(8)]
    payload_bytes: Annotated[str, _column(2)]
    omitted: Natural

    @model_validator(mode="after")
    def _is_even(self) -> SentLog:
        if _entries(self.sent_realtime_ns, 8) != _entries(self.payload_bytes, 2):
            raise ValueError("the columns of a packet log are not equally long")
        return self


class ReceivedLog(Form):
    """The datagrams that arrived, each column in Base64."""

    sequence: Annotated[str, _column(4)]
    received_realtime_ns: Annotated[str, _column(8)]
    omitted: Natural

    @model_validator(mode="after")
    def _is_even(self) -> ReceivedLog:
        if _entries(self.sequence, 4) != _entries(self.received_realtime_ns, 8):
            raise ValueError("the columns of a packet log are not equally long")
        return self


class UdpSender(Result):
    """The sending end of a flow of datagrams."""

    sent: Natural
    sent_bytes: Natural
    send_errors: Counts = ABSENT
    refused: Natural = ABSENT
    errors: Counts = ABSENT
    measured_ns: Natural = ABSENT
    scheduled_ns: Natural = ABSENT
    lateness: Histogram = ABSENT
    unsent: Natural = ABSENT
    waits: Waits = ABSENT
    warmup_sent: Natural = ABSENT
    packet_log: SentLog = ABSENT

    @model_validator(mode="after")
    def _has_a_window(self) -> UdpSender:
        if self.sent and self.measured_ns is None:
            raise ValueError("datagrams were sent, in no time")
        return self


class UdpReceiver(Result):
    """The receiving end of a flow of datagrams."""

    received: Natural
    unique: Natural
    duplicates: Natural
    reordered: Natural
    lost_middle: Natural
    lost_tail: Natural = ABSENT
    unique_bytes: Natural
    measured_bytes: Natural = ABSENT
    measured_ns: Natural = ABSENT
    one_way_delay: Histogram
    one_way_delay_negative: Natural = ABSENT
    ipdv: Histogram
    pdv: Histogram
    jitter_rfc3550_ns: float = ABSENT
    socket_drops: Natural = ABSENT
    warmup_received: Natural = ABSENT
    sequences: Sequences = ABSENT
    packet_log: ReceivedLog = ABSENT

    @model_validator(mode="after")
    def _has_a_window(self) -> UdpReceiver:
        if self.unique and ABSENT in (self.measured_bytes, self.measured_ns):
            raise ValueError("datagrams arrived, in no time")
        return self


class RoundTrips(Result):
    """The client of requests and responses."""

    transactions: Natural
    warmup_transactions: Natural = ABSENT
    measured_ns: Natural
    rtt: Histogram
    rtt_jitter: Histogram
    lost: Natural = ABSENT
    refused: Natural = ABSENT
    errors: Counts = ABSENT


class Connections(Result):
    """The client that opens connections."""

    transactions: Natural
    warmup_transactions: Natural = ABSENT
    measured_ns: Natural
    connect: Histogram
    transaction: Histogram = ABSENT
    failed: Counts = ABSENT
    attempts: Natural = ABSENT
    lateness: Histogram = ABSENT
    offered_ns: Natural = ABSENT
    held_back: Natural = ABSENT
    unstarted: Natural = ABSENT


class PingClient(Result):
    """The sender of echo requests."""

    sent: Natural
    received: Natural
    lost: Natural
    rtt: Histogram
    rtt_jitter: Histogram
    refused: Natural = ABSENT
    errors: Counts = ABSENT
    send_errors: Counts = ABSENT


class PathMtuClient(Result):
    """The client's direction."""

    forward: PathMtu
    received_bytes: Natural


class PathMtuServer(Result):
    """The server's direction."""

    reverse: PathMtu
    received_bytes: Natural


class AloneOverFamily(Form):
    """Connections over one family alone."""

    connect: Histogram
    failed: Counts


class OverFamily(Form):
    """The results of one family in the races."""

    wins: Natural
    begun: Natural
    failed: Counts
    alone: AloneOverFamily


class Races(Result):
    """The client that lets the families race."""

    races: Natural
    connect: Histogram
    failed: Counts
    ipv4: OverFamily
    ipv6: OverFamily

    @model_validator(mode="after")
    def _adds_up(self) -> Races:
        if self.races < self.connect.count:
            raise ValueError("more races were won than there were")
        return self


class AcceptedByFamily(Form):
    """Connections that a server accepted."""

    ipv4: Natural
    ipv6: Natural


class RacesServer(Result):
    """The server of both families."""

    accepted_by_family: AcceptedByFamily


RESULTS: Mapping[str, Mapping[Side, type[Form]]] = {
    "tcp-stream": {"client": Result, "server": Result},
    "udp-stream": {"client": Result, "server": Result},
    "tcp-rr": {"client": RoundTrips, "server": Result},
    "udp-rr": {"client": RoundTrips, "server": Result},
    "tcp-connect": {"client": Connections, "server": Result},
    "tcp-crr": {"client": Connections, "server": Result},
    "ping": {"client": PingClient, "server": Result},
    "pmtu": {"client": PathMtuClient, "server": PathMtuServer},
    "happy-eyeballs": {"client": Races, "server": RacesServer},
}
"""The forms by the agent's workload. Those that depend on the direction are in `_forms`."""
