"""Goodput over links of a known rate. The truth is the goodput that theory computes from the rate."""

from __future__ import annotations

from math import floor

from ..metric import CalibratedMetric, DeviationReading, Level, ReadingSource, UncertaintyLimit

WARMUP = "150ms"
"""Time after which a queue has formed before the rate limiter, and its bucket is empty."""

DATAGRAM_BYTES = 1400

OFFERED_SHARE = 1.1
"""Datagrams are offered at that share of the link's rate, so that there is always one waiting."""

DURATIONS = {
    10**6: "800ms",
    3 * 10**6: "500ms",
    10**7: "400ms",
    3 * 10**7: "300ms",
    10**8: "300ms",
    3 * 10**8: "300ms",
    10**9: "300ms",
}
"""Durations by rate. At 1 Mbit/s a packet takes 12 ms, so that a trial has 65."""

QUEUE_NS = 50_000_000
MIN_QUEUE_BYTES = 32 * 1024
"""The default of queues, which is smaller where it would take a second to drain."""

WINDOW_SHARE = 0.75
"""The window as a share of the queue, so that TCP loses nothing. What comes after a hole waits for it and is then
read at once, which moves bytes over the edges of a short window."""

FASTEST_UDP_BPS = 3 * 10**8
"""A sender with a core of its own exceeds this rate by a tenth. More would leave no room for a busy machine."""

UDP_BUFFER = "16MiB"
"""More than any queue, so that the link drops what is too much. If the socket's buffer were full first, the sender
would wait, and its trial would be tester-limited."""

FULL_PACKET_BYTES = 1538
"""A packet of 1500 bytes on the wire."""

QUICK = (10**6, 10**8, 10**9)


def _goodput(trial: ReadingSource) -> DeviationReading | None:
    """The truth is that of the link as it is built: its token bucket takes the time of each packet in whole
    nanoseconds, rounded down (Linux, psched_l2t_ns of include/net/sch_generic.h): up to 30 millionths of it."""
    record = trial.record
    measured, truth = record.metrics.get("goodput_bps"), record.theory.get("goodput_bps")
    if measured is None or truth is None:
        return None
    if record.workload == "tcp-stream":
        packet_ns = FULL_PACKET_BYTES * 8e9 / trial.level.truth
    else:
        packet_ns = DATAGRAM_BYTES * 8e9 / truth
    return DeviationReading(measured=measured, truth=truth * packet_ns / floor(packet_ns))


def _queue_bytes(rate_bps: int) -> int:
    return max(MIN_QUEUE_BYTES, rate_bps * QUEUE_NS // (8 * 10**9))


def _tcp(rate_bps: int) -> dict[str, dict[str, object]]:
    window_bytes = int(WINDOW_SHARE * _queue_bytes(rate_bps))
    return {"tcp-stream": {"duration": DURATIONS[rate_bps], "warmup": WARMUP, "window": f"{window_bytes}B"}}


def _udp(rate_bps: int) -> dict[str, dict[str, object]]:
    offered = f"{int(OFFERED_SHARE * rate_bps)}bit"
    return {
        "udp-stream": {
            "datagram": f"{DATAGRAM_BYTES}B",
            "rate": offered,
            "duration": DURATIONS[rate_bps],
            "warmup": WARMUP,
            "sndbuf": UDP_BUFFER,
        }
    }


def _metric(workload: str, label: str) -> CalibratedMetric:
    make = _tcp if workload == "tcp-stream" else _udp
    return CalibratedMetric(
        name=f"{workload.partition('-')[0]}-goodput",
        label=label,
        column="link_rate_bps",
        workload=workload,
        metrics=("goodput",),
        levels=tuple(
            Level(
                truth=rate_bps,
                link={
                    "rate": f"{rate_bps}bit",
                    "queue": f"{_queue_bytes(rate_bps)}B",
                },
                first_link={"offload": False},
                workload=make(rate_bps),
                is_quick=rate_bps in QUICK,
            )
            for rate_bps in DURATIONS
            if workload == "tcp-stream" or rate_bps <= FASTEST_UDP_BPS
        ),
        scale="relative",
        limit=UncertaintyLimit(relative=0.01),
        read=_goodput,
        note="Bias and spread come from how far the other trials of the same truth are from theory",
    )


TCP_GOODPUT = _metric("tcp-stream", "Goodput, TCP")
UDP_GOODPUT = _metric("udp-stream", "Goodput, UDP")
