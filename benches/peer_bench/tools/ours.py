"""Ours: workloads of two agents, without a scheduler."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..comparisons import (
    DATAGRAM_BYTES,
    IN_FLIGHT,
    LOSS_PPS,
    MESSAGE_BYTES,
    OF_APPLICATIONS,
    OFFLOAD_DATAGRAM_BYTES,
    OURS,
    OURS_BUSY,
    OURS_FRAMES,
    OURS_FRAMES_SPINNING,
    OURS_FRAMES_XDP,
    OURS_IN_FLIGHT,
    OURS_OFFLOAD,
    OURS_UNCOPIED,
    OURS_ZEROCOPY,
    PACED_PPS,
    SPIN_NS,
    STREAM_BYTES,
    UDP_BUFFER_BYTES,
)
from ..contender import Contender, Ends, ToolReport, Trial, Unreadable

Result = dict[str, Any]


def read_stream(_: Result, server: Result) -> ToolReport:
    """The receiver's window."""
    receiver = server["forward_receiver"]
    if "measured_ns" not in receiver:
        raise Unreadable("the receiver's window had fewer than two reads")
    return {"received_bps": receiver["measured_bytes"] * 8e9 / receiver["measured_ns"]}


def read_datagrams(client: Result, server: Result) -> ToolReport:
    """Both sides of the ledger."""
    if not server.get("measured_ns"):
        raise Unreadable("fewer than two datagrams arrived")
    return {
        "received_bps": server["measured_bytes"] * 8e9 / server["measured_ns"],
        "received_pps": (server["unique"] - 1) * 1e9 / server["measured_ns"],
        "lost": float(server["lost_middle"] + server.get("lost_tail", 0)),
        "unsent": float(client.get("unsent", 0) + sum(client["send_errors"].values())),
    }


def read_quic(_: Result, server: Result) -> ToolReport:
    """Payload that the receiver took."""
    if not server.get("measured_ns"):
        raise Unreadable("nothing arrived in the receiver's window")
    return {"received_bps": server["measured_bytes"] * 8e9 / server["measured_ns"]}


def read_transactions(client: Result, _: Result) -> ToolReport:
    """The client's."""
    return {"transactions_per_s": client["transactions"] * 1e9 / client["measured_ns"]}


_READ = {
    "tcp-stream": read_stream,
    "udp-stream": read_datagrams,
    "frames": read_datagrams,
    "tcp-rr": read_transactions,
    "udp-rr": read_transactions,
    "tcp-crr": read_transactions,
    "http": read_transactions,
    "tls": read_transactions,
    "quic-stream": read_quic,
    "dns": read_transactions,
}


def _run(_: Ends, seconds: int, *, workload: str, params: dict[str, Any]) -> Trial:
    return Trial(workload=workload, params={**params, "duration_ns": seconds * 10**9}, read=_READ[workload])


def _contender(comparison: str, name: str, workload: str, **params: Any) -> Contender:
    return Contender(comparison=comparison, name=name, traffic=partial(_run, workload=workload, params=params))


FRAME_BYTES = {4: 64, 6: 84}
"""The smallest of each family (RFC 8219 section 5.1.1)."""
FASTEST_PPS = 10_000_000
"""More than any sender here reaches: it sends as fast as it can."""


def _frames(ends: Ends, seconds: int, *, rate_pps: int, **more: Any) -> Trial:
    size = FRAME_BYTES[ends.family]
    params = {"frame_bytes": size, "rate_pps": rate_pps, "residual_ns": 10**8, **more}
    return _run(ends, seconds, workload="frames", params=params)


_STREAM = {"message_bytes": STREAM_BYTES, "congestion": "cubic"}
_BUFFERS = {"sndbuf_bytes": UDP_BUFFER_BYTES, "rcvbuf_bytes": UDP_BUFFER_BYTES}
_DATAGRAM = {"datagram_bytes": DATAGRAM_BYTES, **_BUFFERS}

CONTENDERS = (
    _contender("tcp-stream", OURS, "tcp-stream", **_STREAM),
    _contender("tcp-stream", OURS_UNCOPIED, "tcp-stream", **_STREAM, send="splice", receive="truncate"),
    _contender("tcp-stream", OURS_ZEROCOPY, "tcp-stream", **_STREAM, send="zerocopy", receive="truncate"),
    _contender("udp-64", OURS, "udp-stream", **_DATAGRAM),
    _contender("frames-64", OURS, "udp-stream", **_DATAGRAM),
    Contender(comparison="frames-64", name=OURS_FRAMES, traffic=partial(_frames, rate_pps=FASTEST_PPS)),
    Contender(
        comparison="frames-64",
        name=OURS_FRAMES_XDP,
        traffic=partial(_frames, rate_pps=FASTEST_PPS, engine="xdp"),
    ),
    _contender(
        "udp-offload",
        OURS_OFFLOAD,
        "udp-stream",
        datagram_bytes=OFFLOAD_DATAGRAM_BYTES,
        segmentation="always",
        **_BUFFERS,
    ),
    _contender("tcp-rr", OURS, "tcp-rr", message_bytes=MESSAGE_BYTES, congestion="cubic"),
    _contender("tcp-rr", OURS_BUSY, "tcp-rr", message_bytes=MESSAGE_BYTES, congestion="cubic", busy_poll=True),
    _contender("udp-rr", OURS, "udp-rr", message_bytes=MESSAGE_BYTES),
    _contender("udp-rr", OURS_BUSY, "udp-rr", message_bytes=MESSAGE_BYTES, busy_poll=True),
    _contender("tcp-crr", OURS, "tcp-crr", congestion="cubic"),
    _contender("tcp-crr", OURS_IN_FLIGHT, "tcp-crr", congestion="cubic", in_flight=IN_FLIGHT),
    _contender("udp-paced", OURS, "udp-stream", **_DATAGRAM, rate_pps=PACED_PPS),
    Contender(comparison="frames-paced", name=OURS_FRAMES, traffic=partial(_frames, rate_pps=PACED_PPS)),
    Contender(
        comparison="frames-paced",
        name=OURS_FRAMES_SPINNING,
        traffic=partial(_frames, rate_pps=PACED_PPS, spin_ns=SPIN_NS),
    ),
    _contender("udp-loss", OURS, "udp-stream", **_DATAGRAM, rate_pps=LOSS_PPS),
    *(_contender(key, OURS, workload, **params) for key, (workload, params) in OF_APPLICATIONS.items()),
)
