"""Parts that several workloads share: their common parameters, and histograms to metrics."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..parameter import Parameter, Params, Scalar, Wrong
from ..reason import ReasonKind
from ..topology import Family
from ..workload import Result, TrialMeasurements

SECOND_NS = 10**9

TOO_BIG = ("fragmentation-needed", "packet-too-big")
"""The errors of RFC 1191 and RFC 8201, as the agent names them."""

MESSAGE = Parameter(
    name="message",
    kind="size",
    doc="bytes that the application writes at a time",
    minimum=1,
    maximum=2**30,
    identifying=True,
    default=64,
)
DURATION = Parameter(
    name="duration",
    kind="duration",
    doc="duration of the measurement",
    minimum=10**6,
    maximum=24 * 3600 * SECOND_NS,
    length=True,
    default=5 * SECOND_NS,
)
WARMUP = Parameter(
    name="warmup",
    kind="duration",
    doc="time before the measuring, not counted",
    minimum=0,
    maximum=3600 * SECOND_NS,
    length=True,
    default=SECOND_NS // 2,
    unless_given="500ms with a duration, else 0",
)
SHORT_WARMUP = replace(WARMUP, default=SECOND_NS // 20, unless_given="50ms with a duration, else 0")
"""For what has no window to open: neighbours are known then, routes looked up and caches filled."""
BYTES = Parameter(
    name="bytes", column="bytes", kind="size", doc="amount to send, instead of a duration", minimum=1, maximum=10**13
)
COUNT = Parameter(
    name="count",
    kind="count",
    doc="number of repetitions, instead of a duration",
    minimum=1,
    maximum=10**9,
    length=True,
)
INTERVAL = Parameter(
    name="interval",
    kind="duration",
    doc="length of an interval of the series",
    minimum=10**6,
    maximum=3600 * SECOND_NS,
    length=True,
    default=SECOND_NS // 10,
)
TIMEOUT = Parameter(
    name="timeout",
    kind="duration",
    doc="longest wait for an answer",
    minimum=10**6,
    maximum=600 * SECOND_NS,
    length=True,
    default=2 * SECOND_NS,
)
SNDBUF = Parameter(
    name="sndbuf",
    kind="size",
    doc="SO_SNDBUF of both ends",
    minimum=2048,
    maximum=2**30,
    unless_given="the kernel's, with autotuning",
)
RCVBUF = replace(SNDBUF, name="rcvbuf", column="rcvbuf_bytes", doc="SO_RCVBUF of both ends")
PACKET_LOG = Parameter(
    name="packet-log",
    kind="flag",
    doc="record the fate of each of the first 500000 datagrams, in packets.parquet beside the record",
    length=True,
    default=False,
)
SPIN = Parameter(
    name="spin",
    kind="duration",
    doc="longest time before a datagram is due for which the sender spins instead of sleeping",
    minimum=0,
    maximum=10**6,
    default=50_000,
)
CONGESTION = Parameter(name="congestion", kind="word", doc="TCP congestion control", default="cubic")
DIRECTION = Parameter(
    name="direction",
    kind="choice",
    doc="sender: the client, the server, or both at once",
    choices=("forward", "reverse", "both"),
    default="forward",
)
MSS = Parameter(
    name="mss",
    kind="size",
    doc="TCP_MAXSEG: largest segment, options included",
    minimum=88,
    maximum=32767,
    unless_given="by the MTU",
)
NODELAY = Parameter(name="nodelay", kind="flag", doc="TCP_NODELAY: send at once", default=False)
DF = Parameter(
    name="df",
    kind="choice",
    choices=("clear", "set", "probe", "kernel"),
    doc=(
        "fragmentation of a datagram: at any router; nowhere; nowhere, and the known path MTU is ignored; as "
        "the system does"
    ),
    default="clear",
)

HEADER_BYTES = 32
"""The bytes of ours that every datagram carries: token, sequence number and time."""

UDP_MAX_BYTES: dict[Family, int] = {4: 65507, 6: 65527}
"""Largest UDP payload: 65535 less the IPv4 header and the UDP header (RFC 791, RFC 768); over IPv6 less the UDP header
only (RFC 8200: the payload length excludes the header)."""


def one_length(params: Params, *lengths: Parameter) -> Wrong | None:
    """The problem unless exactly one of these is given."""
    given = [parameter.name for parameter in lengths if parameter.column in params]
    if len(given) == 1:
        return None
    words = " or ".join(parameter.name for parameter in lengths)
    return Wrong(next(reversed(given), None), f"give one of {words}" + (f", not {len(given)}" if given else ""))


def of_one_length(*lengths: Parameter) -> Callable[[Params, frozenset[Family]], Wrong | None]:
    """A check that asks for nothing but exactly one of these."""
    return lambda params, families: one_length(params, *lengths)


def all_but(*parameters: Parameter) -> Callable[[Params], dict[str, Scalar]]:
    """The agent's parameters, where some parameters do not concern it."""
    columns = {parameter.column for parameter in parameters}
    return lambda params: {column: value for column, value in params.items() if column not in columns}


def gap_by(per_second: Parameter) -> Callable[[Params], float | None]:
    """The time from one thing to the next, in ns, where the parameter says how many there are in a second."""
    column = per_second.column
    return lambda params: SECOND_NS / float(params[column]) if column in params else None


def udp_size(params: Params, size: Parameter, families: frozenset[Family]) -> Wrong | None:
    """The problem where a datagram of that size cannot exist (RFC 768 and the family's length field)."""
    given = params.get(size.column)
    if not isinstance(given, int):
        return None
    for family in sorted(families):
        most = UDP_MAX_BYTES[family]
        if given > most:
            return Wrong(size.name, f"{given} bytes do not fit in a UDP datagram: at most {most} over IPv{family}")
    if given < HEADER_BYTES:
        words = f"a datagram carries {HEADER_BYTES} bytes of token, sequence number and time"
        return Wrong(size.name, f"{given} bytes are too few: {words}")
    return None


def histogram(measured: TrialMeasurements, result: Mapping[str, Any], field: str, name: str, *statistics: str) -> None:
    """Adds a histogram of a result to the measurements, with those of its statistics that are metrics.

    Args:
        field: its name in the result.
        name: the prefix of the metrics, such as `rtt`.
        statistics: of `mean`, `min`, `p50`, `p90`, `p99`, `p999`, `stdev`.
    """
    values = result.get(field)
    if not isinstance(values, Mapping) or not values.get("count"):
        return
    measured.histograms[name] = dict(values)
    for statistic in statistics:
        if statistic in values:
            measured.metrics[f"{name}_{statistic}_ns"] = float(values[statistic])


def histogram_of(times_ns: Sequence[int]) -> dict[str, Any]:
    """All values, of which there is one at least, and what follows from them. Quantiles are values that were there
    (nearest rank)."""
    ordered = sorted(times_ns)

    def quantile(share: float) -> int:
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

    return {
        "count": len(ordered),
        "buckets": [[value, seen] for value, seen in Counter(ordered).items()],
        "min": ordered[0],
        "max": ordered[-1],
        "mean": statistics.fmean(ordered),
        "stdev": statistics.stdev(ordered) if len(ordered) > 1 else 0.0,
        "p50": quantile(0.5),
        "p90": quantile(0.9),
        "p99": quantile(0.99),
        "p999": quantile(0.999),
    }


def refusals(measured: TrialMeasurements, params: Params, client: Result, what: str) -> bool:
    """Records the datagrams that the sender's kernel refused because of their size, as a share and in words, with the
    ICMP errors that arrived. Returns whether a DF policy was asked for, so that missing datagrams are an answer and no
    failure."""
    if DF.of(params) == DF.default:
        return False
    refused = client["refused"]
    due = client["sent"] + refused
    if due:
        measured.metrics["refused_ratio"] = refused / due
    if refused:
        measured.notes.append(f"{refused} of {due} {what} were refused by the sender's kernel: too large for the path")
    too_big = {name: count for name, count in client["errors"].items() if name in TOO_BIG}
    measured.notes.extend(f"{count} times {name} came back" for name, count in too_big.items())
    return True


def refusal_keys(params: Params) -> tuple[str, ...]:
    """The keys of what `refusals` reads, which the results of a sender with a DF policy must have."""
    return () if DF.of(params) == DF.default else ("refused", "errors")


def in_words(counts: Mapping[str, int]) -> str:
    """Counts of reasons: `3 timeout, 1 ECONNREFUSED`."""
    return ", ".join(f"{count} {reason}" for reason, count in counts.items())


def transactions(measured: TrialMeasurements, client: Result, what: str) -> None:
    """Adds the rate of what the client completed, and its series. `what`: what a transaction is."""
    transactions_rate = rate(client["transactions"], client["measured_ns"])
    if client["transactions"] and transactions_rate is not None:
        measured.metrics["transactions_rate_per_s"] = transactions_rate
    else:
        measured.reject(ReasonKind.NOTHING_ARRIVED, f"no {what} was completed")
    if client.get("series"):
        measured.series["client"] = client["series"]


MAX_BEHIND = 0.01


def is_behind(taken: float, due_per_s: float, measured_s: float) -> bool:
    """True if a generator measured itself, not the path (RFC 2544 section 6): it is behind its schedule by more than a
    hundredth and by at least one. Where there are only a few, the last one being a little late says nothing about the
    rate."""
    behind = due_per_s * measured_s - taken
    return behind >= 1 and behind > MAX_BEHIND * due_per_s * measured_s


def rate(count: float, measured_ns: float) -> float | None:
    """A count per second; None where no time was measured."""
    return count * 1e9 / measured_ns if measured_ns > 0 else None
