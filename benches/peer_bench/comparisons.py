"""Comparisons, their yardsticks and the targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from intervals import NEAR, Aim
from numpy.typing import NDArray

from .contender import ToolReport
from .counters import Counters

DATAGRAM_BYTES = 64
MESSAGE_BYTES = 64
STREAM_BYTES = 128 * 1024
"""Length of one write to a stream: iperf3's default, and ours."""
OFFLOAD_DATAGRAM_BYTES = 1400
"""Fits a packet of 1500 bytes in both families; a super-packet is made of as many as fit 64 KiB."""
UDP_BUFFER_BYTES = 4 * 2**20
"""Asked for by every contender that can be told; the kernel may grant twice as much, and no more than `rmem_max`."""
PACED_PPS = 10_000
AS_FAST = 0.97
"""Target for blocking round trips: every tool waits for the same two wake-ups, so that none can be faster than
another."""
LOSS_PPS = 100_000

OURS = "sixbench"
OURS_UNCOPIED = "sixbench, splice, truncate"
OURS_ZEROCOPY = "sixbench, zerocopy, truncate"
OURS_OFFLOAD = "sixbench, offload"
OURS_BUSY = "sixbench, busy polling"
OURS_IN_FLIGHT = "sixbench, 16 in flight"
OURS_FRAMES = "sixbench, frames"
OURS_FRAMES_XDP = "sixbench, frames, xdp"
OURS_FRAMES_SPINNING = "sixbench, frames, spin 200us"
SPIN_NS = 200_000
"""Twice the gap between frames at `PACED_PPS`: the sender never sleeps."""
IN_FLIGHT = 16

OBJECT_BYTES = 1024
_KEPT: dict[str, Any] = {"connection": "kept", "in_flight": IN_FLIGHT}
_HTTP: dict[str, Any] = {**_KEPT, "parallel": 1, "object_bytes": OBJECT_BYTES}
OF_APPLICATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "http-1": ("http", {**_HTTP, "version": "1.1"}),
    "http-2": ("http", {**_HTTP, "version": "2"}),
    "tls": ("tls", {}),
    "quic-stream": ("quic-stream", {"congestion": "cubic"}),
    "dns-udp": ("dns", {**_KEPT, "over": "udp"}),
}
"""Workload and parameters of comparisons of applications, by key: the same for ours and for its peers."""

Wire = Literal["super-packets", "packets"]


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Observations of one measurement.

    Attributes:
        window: what the kernel counted at the receiver in the middle of the traffic; None where it ended too early.
        whole: the same from before the traffic to after it.
        tool_report: what the tool says.
        gap_errors_ns: of the captured flow; None where nothing was captured.
    """

    window: Counters | None
    whole: Counters
    tool_report: ToolReport
    gap_errors_ns: NDArray[np.int64] | None = None


@dataclass(frozen=True, kw_only=True)
class Target(Aim):
    """Ratio that we want to reach: ours over the peer's.

    Attributes:
        ours, peers: contenders. Each peer that is there is judged. One of ours is a peer only where it is named.
        near: within which share of it a ratio counts as being at it.
    """

    ours: str
    peers: tuple[str, ...]
    near: float = NEAR


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One thing that is measured of all contenders.

    Attributes:
        unit: of the value.
        value: the yardstick; None where it has nothing.
        about: how the value is known, for readers.
        wire: what crosses the link: whatever the sender's kernel made, or packets of the MTU, each by itself.
        captured: whether tcpdump looks on.
        limit: the most that our value itself may be in every round, where that is the target.
    """

    key: str
    title: str
    unit: str
    value: Callable[[Observed], float | None]
    about: str
    wire: Wire
    captured: bool = False
    targets: tuple[Target, ...] = field(default=())
    limit: float | None = None


def _counted(count: Callable[[Counters], int]) -> Callable[[Observed], float | None]:
    """A count of the window as a rate. Nothing at all is no value: the window missed the traffic."""

    def rate(seen: Observed) -> float | None:
        return seen.window.a_second(count(seen.window)) or None if seen.window else None

    return rate


def _reported_by_tool(name: str) -> Callable[[Observed], float | None]:
    """A figure of the tool's. Nothing at all is no value here either."""
    return lambda seen: seen.tool_report.get(name) or None


def _gap_error_p99_ns(seen: Observed) -> float | None:
    errors = seen.gap_errors_ns
    return None if errors is None or len(errors) < PACED_PPS // 10 else float(np.percentile(errors, 99))


def _lost_ratio(seen: Observed) -> float | None:
    lost = seen.whole.datagrams_dropped + seen.whole.dropped + seen.tool_report.get("unsent", 0.0)
    total = seen.whole.datagrams + lost
    return lost / total if total else None


_COUNTED = "counted by the receiver's kernel in the middle of the traffic"

COMPARISONS = (
    Comparison(
        key="tcp-stream",
        title="TCP, one stream",
        unit="bit/s",
        value=_counted(lambda window: 8 * window.rx_bytes),
        about=f"bytes of the receiver's interface, {_COUNTED}; 128 KiB a write, cubic, the kernel's own buffers",
        wire="super-packets",
        targets=(
            Target(ours=OURS, peers=("iperf3",), bound=1.1),
            Target(ours=OURS_UNCOPIED, peers=("iperf3",), bound=2.5),
        ),
    ),
    Comparison(
        key="udp-64",
        title="UDP, 64 bytes, each its own packet",
        unit="packets/s",
        value=_counted(lambda window: window.datagrams),
        about=f"datagrams that the receiving program took, {_COUNTED}; a packet each on the veth pair",
        wire="packets",
        targets=(Target(ours=OURS, peers=("iperf3",), bound=4),),
    ),
    Comparison(
        key="frames-64",
        title="smallest frames, beside datagrams of 64 bytes",
        unit="packets/s",
        value=_counted(lambda window: window.rx_packets),
        about=f"packets of the receiver's interface, {_COUNTED}; frames of 64 bytes over IPv4 and of 84 over IPv6",
        wire="packets",
        targets=(
            Target(ours=OURS_FRAMES, peers=("iperf3",), bound=4),
            Target(ours=OURS_FRAMES_XDP, peers=("iperf3",), bound=4),
            Target(ours=OURS_FRAMES, peers=(OURS,), bound=1.5),
            Target(ours=OURS_FRAMES_XDP, peers=(OURS,), bound=1.5),
        ),
    ),
    Comparison(
        key="udp-offload",
        title="UDP, 1400 bytes, offload allowed",
        unit="bit/s",
        value=_reported_by_tool("received_bps"),
        about="payload that the receiver says it took",
        wire="super-packets",
        targets=(Target(ours=OURS_OFFLOAD, peers=("iperf3 --gsro",), bound=1.1),),
    ),
    Comparison(
        key="tcp-rr",
        title="TCP request/response, 64 bytes",
        unit="1/s",
        value=_reported_by_tool("transactions_per_s"),
        about="round trips that the client says it made; TCP_NODELAY",
        wire="super-packets",
        targets=(
            Target(ours=OURS, peers=("sockperf", "netperf"), bound=AS_FAST, near=0.0),
            Target(ours=OURS_BUSY, peers=("sockperf", "netperf"), bound=5),
        ),
    ),
    Comparison(
        key="udp-rr",
        title="UDP request/response, 64 bytes",
        unit="1/s",
        value=_reported_by_tool("transactions_per_s"),
        about="round trips that the client says it made",
        wire="super-packets",
        targets=(
            Target(ours=OURS, peers=("sockperf", "netperf"), bound=AS_FAST, near=0.0),
            Target(ours=OURS_BUSY, peers=("sockperf", "netperf"), bound=5),
        ),
    ),
    Comparison(
        key="tcp-crr",
        title="TCP connect, request, response, close",
        unit="1/s",
        value=_counted(lambda window: window.accepted),
        about=f"connections accepted, {_COUNTED}; one byte each way, one connection at a time unless named otherwise",
        wire="super-packets",
        targets=(
            Target(ours=OURS, peers=("netperf",), bound=1.5),
            Target(ours=OURS_IN_FLIGHT, peers=("netperf",), bound=1.5),
        ),
    ),
    Comparison(
        key="udp-paced",
        title="UDP at 10,000 packets/s: error of inter-packet time",
        unit="ns",
        value=_gap_error_p99_ns,
        about="99th percentile of |distance between two arrivals - 100 us|, by the kernel's timestamps in a capture of "
        "tcpdump at the receiver",
        wire="packets",
        captured=True,
        targets=(Target(ours=OURS, peers=("iperf3",), bound=0.2, lower_is_better=True),),
    ),
    Comparison(
        key="frames-paced",
        title="frames at 10,000 packets/s: error of inter-packet time",
        unit="ns",
        value=_gap_error_p99_ns,
        about="as of udp-paced; without XDP, which takes frames before a capture sees them",
        wire="packets",
        captured=True,
        targets=tuple(
            Target(ours=ours, peers=("iperf3",), bound=0.2, lower_is_better=True)
            for ours in (OURS_FRAMES, OURS_FRAMES_SPINNING)
        ),
    ),
    Comparison(
        key="udp-loss",
        title="UDP at 100,000 packets/s: loss",
        unit="1",
        value=_lost_ratio,
        about="datagrams that the kernels dropped, and of ours those that were due and not sent, as a share of all",
        wire="packets",
        limit=0.0,
    ),
    Comparison(
        key="http-1",
        title="HTTP/1.1 over TLS 1.3, objects of 1 KiB",
        unit="1/s",
        value=_reported_by_tool("transactions_per_s"),
        about=f"requests that the client says were answered; {IN_FLIGHT} connections, one request at a time on each; "
        "h2load with nginx",
        wire="super-packets",
        targets=(Target(ours=OURS, peers=("h2load",), bound=1),),
    ),
    Comparison(
        key="http-2",
        title="HTTP/2 over TLS 1.3, objects of 1 KiB",
        unit="1/s",
        value=_reported_by_tool("transactions_per_s"),
        about="as of http-1",
        wire="super-packets",
        targets=(Target(ours=OURS, peers=("h2load",), bound=1),),
    ),
    Comparison(
        key="tls",
        title="TCP connect and full handshake of TLS 1.3",
        unit="1/s",
        value=_counted(lambda window: window.accepted),
        about=f"connections accepted, {_COUNTED}; one at a time, ECDSA with P-256, a chain of 1.5 KiB that is "
        "verified; s_time with s_server",
        wire="super-packets",
        targets=(Target(ours=OURS, peers=("openssl s_time",), bound=1),),
    ),
    Comparison(
        key="quic-stream",
        title="QUIC, one stream",
        unit="bit/s",
        value=_counted(lambda window: 8 * window.rx_bytes),
        about=f"bytes of the receiver's interface, {_COUNTED}; cubic; ngtcp2's client sends an object to its server by "
        "HTTP/3",
        wire="super-packets",
        targets=(Target(ours=OURS, peers=("ngtcp2",), bound=1.2),),
    ),
    Comparison(
        key="dns-udp",
        title="DNS over UDP",
        unit="1/s",
        value=_reported_by_tool("transactions_per_s"),
        about=f"answers that the client says it got; {IN_FLIGHT} questions at a time, answers of 128 bytes; dnsperf "
        "with unbound",
        wire="super-packets",
        targets=(Target(ours=OURS, peers=("dnsperf",), bound=1),),
    ),
)

MEMORY_LIMIT_BYTES = 64 * 2**20
"""The target of our agents in every measurement."""
