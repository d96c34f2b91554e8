"""The registry of metrics: declared once, here.

A metric's *column* is its name with its unit, as trial records and tables carry it (`goodput_bps`, `rtt_p99_ns`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["higher", "lower", "neither"]
Scale = Literal["ratio", "difference"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A measured quantity.

    Attributes:
        name: as findings name it, such as `rtt_p50`.
        suffix: the unit in the column's name, such as `ns`.
        unit: the unit in words, such as `bit/s`.
        better: which direction is better.
        label: for axes and tables, without the unit.
        reference: the RFC or document that defines it.
        scale: `ratio` when paths are compared by a ratio; `difference` where zero is an ordinary value (loss), so that
            ratios mean nothing.
        is_exact: whether nothing but the path decides it, so that two values that stay the same in all trials differ
            for certain (path MTU).
        may_be_negative: whether there are negative values of it, such as of a change of a time.
    """

    name: str
    suffix: str
    unit: str
    better: Direction
    label: str
    reference: str
    scale: Scale = "ratio"
    is_exact: bool = False
    may_be_negative: bool = False

    @property
    def column(self) -> str:
        """Name with unit, as in trial records."""
        return self.name if self.name.endswith(f"_{self.suffix}") else f"{self.name}_{self.suffix}"


_UNITS = {
    "ns": "ns",
    "bps": "bit/s",
    "pps": "packets/s",
    "per_s": "1/s",
    "per_min": "1/min",
    "bytes": "bytes",
    "ratio": "1",
    "cores": "cores",
    "hop": "hop",
}
"""Units by suffix, where the suffix says it."""
_OFTEN_ZERO = ("ratio", "hop")
"""The suffixes of values that are compared by a difference."""


def _metric(
    name: str,
    suffix: str,
    better: Direction,
    label: str,
    reference: str,
    unit: str = "",
    scale: Scale | None = None,
    *,
    is_exact: bool = False,
    may_be_negative: bool = False,
) -> Metric:
    """A metric; its unit and its scale are those of the suffix, unless they are given."""
    return Metric(
        name=name,
        suffix=suffix,
        unit=unit or _UNITS[suffix],
        better=better,
        label=label,
        reference=reference,
        scale=scale or ("difference" if suffix in _OFTEN_ZERO else "ratio"),
        is_exact=is_exact,
        may_be_negative=may_be_negative,
    )


def _times(prefix: str, label: str, reference: str, *statistics: str) -> list[Metric]:
    words = {
        "mean": "mean",
        "min": "minimum",
        "p50": "median",
        "p90": "90th percentile",
        "p99": "99th percentile",
        "p999": "99.9th percentile",
        "max": "maximum",
        "stdev": "standard deviation",
    }
    return [_metric(f"{prefix}_{s}", "ns", "lower", f"{label}, {words[s]}", reference) for s in statistics]


def _path_mtu(name: str, label: str, reference: str) -> Metric:
    return _metric(f"pmtu_{name}", "bytes", "higher", label, reference, is_exact=True)


def _time(name: str, label: str, reference: str) -> Metric:
    return _metric(name, "ns", "lower", label, reference)


def _cores(name: str, label: str, reference: str = "/proc/stat") -> Metric:
    return _metric(f"cpu_{name}", "cores", "lower", label, reference)


def _share(name: str, label: str, reference: str) -> Metric:
    """A share that is better the lower it is, and often is zero."""
    return _metric(name, "ratio", "lower", label, reference)


def _hop(name: str, label: str) -> Metric:
    return _metric(name, "hop", "neither", label, "RFC 2923", is_exact=True)


SESSION_MEMORY = "session_memory"
TEARDOWN_RATE = "teardown_rate"
"""The metrics that follow from the evidence of nodes that track connections."""


def _connections(what: str, better: Direction, label: str) -> Metric:
    return _metric(
        f"connections_{what}", "count", better, label, "RFC 3511 section 5.2", unit="connections", scale="difference"
    )


_ALL = [
    _metric("goodput", "bps", "higher", "Goodput", "RFC 2647 section 3.17"),
    _metric("goodput_reverse", "bps", "higher", "Goodput, server to client", "RFC 2647 section 3.17"),
    *(
        _metric(f"goodput_ipv{family}", "bps", "higher", f"Goodput of the IPv{family} flows", "RFC 2647 section 3.17")
        for family in (4, 6)
    ),
    _metric("share_ipv6", "ratio", "neither", "Share of IPv6 in the goodput", "RFC 5166 section 2.3"),
    _metric("fairness", "ratio", "higher", "Jain's fairness index of the flows", "RFC 5166 section 2.3, DEC-TR-301"),
    _time("transfer_time", "Transfer time", "RFC 6349 section 4.1"),
    *_times("rtt", "Round-trip time", "RFC 2681", "mean", "min", "p50", "p90", "p99", "p999", "stdev"),
    *_times(
        "rtt_jitter", "Difference of consecutive round trips", "RFC 5481 section 4.1, for round trips", "mean", "p99"
    ),
    *_times("rtt_idle", "Round-trip time, idle", "RFC 2681", "mean", "p50", "p99"),
    *_times("rtt_loaded", "Round-trip time under load", "RFC 2681", "mean", "p50", "p99"),
    _metric(
        "rtt_increase",
        "ns",
        "lower",
        "Increase of the median round-trip time under load",
        "RFC 2681; the idea of draft-ietf-ippm-responsiveness",
        scale="difference",
        may_be_negative=True,
    ),
    *(
        _metric(
            f"round_trips_{state}",
            "per_min",
            "higher",
            f"Round trips per minute, {words}",
            "the idea of draft-ietf-ippm-responsiveness: a minute over the mean round trip",
        )
        for state, words in (("idle", "idle"), ("loaded", "under load"))
    ),
    _metric("transactions_rate", "per_s", "higher", "Transactions per second", "RFC 3511 section 5.3"),
    *_times("transaction", "Transaction time", "RFC 3511 section 5.3", "mean", "p50", "p99"),
    _connections("established", "higher", "Connections established"),
    _connections("alive", "higher", "Connections alive at the end"),
    _connections("refused", "lower", "Connections refused"),
    _connections("timed_out", "lower", "Connections that timed out"),
    _metric("establishment_rate", "per_s", "higher", "Connections established per second", "RFC 3511 section 5.3"),
    _metric(TEARDOWN_RATE, "per_s", "higher", "Tracked connections forgotten per second", "RFC 9693"),
    _metric(
        SESSION_MEMORY,
        "bytes",
        "lower",
        "Memory of a session where connections are tracked",
        "/proc/slabinfo (nf_conntrack)",
    ),
    *_times("time_to_v6only", "Time until a CLAT knows that it can do without IPv4", "RFC 8925", "p50"),
    *_times("time_to_prefix", "Time until a CLAT has its prefix", "RFC 8781, RFC 7050", "mean", "p50", "max"),
    *_times("time_to_configured", "Time until a CLAT translates", "RFC 6877", "p50"),
    *_times("time_to_ipv4", "Time until IPv4 works", "RFC 6877", "mean", "p50", "max"),
    *_times("connect", "Connection time", "RFC 3511 section 5.3", "mean", "p50", "p99"),
    *(
        metric
        for family in (4, 6)
        for metric in _times(
            f"connect_ipv{family}", f"Connection time over IPv{family} alone", "RFC 3511 section 5.3", "mean"
        )
    ),
    _metric("ipv6_wins", "ratio", "neither", "Share of connections over IPv6", "RFC 8305"),
    _metric(
        "time_lost",
        "ns",
        "lower",
        "Time lost against the faster family alone",
        "RFC 8305; the mean connection time less that of the faster family",
        scale="difference",
        may_be_negative=True,
    ),
    _metric(
        "attempts",
        "per_connection",
        "lower",
        "Connection attempts for a connection",
        "RFC 8305 section 5",
        unit="attempts",
    ),
    _share("failed", "Share of connections that failed", "RFC 8305"),
    _metric("answers_rate", "per_s", "higher", "Right answers per second", "RFC 8219 section 9.2"),
    _metric("questions_answered", "ratio", "higher", "Questions with a right answer in time", "RFC 8219 section 9.2"),
    _share("questions_wrong", "Questions with another answer", "RFC 6147"),
    _share("questions_failed", "Questions that the resolver failed", "RFC 1035 section 4.1.1"),
    _share("questions_unanswered", "Questions without an answer in time", "RFC 8219 section 9.2"),
    *_times("response", "Time to an answer", "RFC 8219 section 9.2", "mean", "p50", "p99"),
    *_times("one_way_delay", "One-way delay", "RFC 7679", "mean", "min", "p50", "p99", "p999"),
    *_times("one_way_delay_reverse", "One-way delay from the server", "RFC 7679", "mean", "p50", "p999"),
    *_times("ipdv", "IPDV (absolute)", "RFC 5481 section 4.1", "mean", "p50", "p99"),
    *_times("pdv", "PDV", "RFC 5481 section 4.2", "p50", "p99", "p999"),
    *_times("pdv_reverse", "PDV from the server", "RFC 5481 section 4.2", "p999"),
    _time("recovery", "Time to recover from an overload", "RFC 2544 section 26.5"),
    _time("jitter_rfc3550", "Jitter (RFC 3550)", "RFC 3550 section 6.4.1"),
    _metric("packets_rate", "pps", "higher", "Datagrams received per second", "RFC 2544 section 26.1"),
    _metric(
        "packets_rate_reverse", "pps", "higher", "Frames received per second, server to client", "RFC 2544 section 26.1"
    ),
    *_times("inter_frame_error", "Inter-frame error of the sender", "RFC 4689 section 3.3.1", "p50", "p99"),
    _share("corrupt_ratio", "Frames that arrived corrupt", "RFC 2544 section 10"),
    _share("late_ratio", "Frames that arrived after the residual time", "RFC 2544 section 23"),
    _metric("sent_rate", "pps", "neither", "Datagrams sent per second", "RFC 2544 section 26.1"),
    _metric("lost_rate", "pps", "lower", "Datagrams lost per second", "RFC 7680"),
    _share("loss_ratio", "Loss", "RFC 7680"),
    _metric("mos_cqe", "cqe", "higher", "Conversational quality (MOS-CQE)", "ITU-T G.107 Annex B", unit="MOS"),
    _metric("r_factor", "factor", "higher", "Transmission rating factor", "ITU-T G.107 section 7.1", unit="R"),
    _share("playout_loss_ratio", "Loss after the jitter buffer", "ITU-T G.107 section 7.5"),
    _time("mouth_to_ear", "Mouth-to-ear delay", "ITU-T G.107 section 7.4"),
    _share("loss_reverse", "Loss, server to client", "RFC 7680"),
    _share("loss_native", "Loss of the frames that go natively", "RFC 7680; RFC 8219 section 5.3"),
    _share("duplicates_ratio", "Duplicates", "RFC 5560"),
    _share("reordered_ratio", "Reordered", "RFC 4737"),
    _share("refused_ratio", "Datagrams refused by the sender", "ip(7), EMSGSIZE"),
    *_times("tcp_rtt", "TCP's round-trip time", "RFC 6298 (TCP_INFO)", "mean"),
    *_times("tcp_jitter", "Difference of consecutive TCP round-trip samples", "TCP_INFO, RFC 5481 section 4.1", "mean"),
    _share("retransmits_ratio", "Retransmitted segments", "RFC 4898"),
    _share(
        "zerocopy_copied_ratio",
        "Sends without a copy that the kernel copied after all",
        "Linux, Documentation/networking/msg_zerocopy.rst",
    ),
    _path_mtu("forward", "Path MTU, client to server", "RFC 8899"),
    _path_mtu("reverse", "Path MTU, server to client", "RFC 8899"),
    _path_mtu("kernel", "Path MTU that the client's kernel learned", "RFC 1191, RFC 8201"),
    _path_mtu("kernel_reverse", "Path MTU that the server's kernel learned", "RFC 1191, RFC 8201"),
    _path_mtu("probed", "Path MTU that probing found, client to server", "RFC 8899"),
    _path_mtu("tcp", "Packets that TCP settled on, client to server", "RFC 4821 (TCP_INFO)"),
    _path_mtu("tcp_reverse", "Packets that TCP settled on, server to client", "RFC 4821 (TCP_INFO)"),
    _time("pmtu_converge", "Time to find the path MTU by probing", "RFC 8899"),
    _time("pmtu_converge_kernel", "Time to learn the path MTU from ICMP", "RFC 1191, RFC 8201"),
    _time("pmtu_converge_tcp", "Time until TCP sends what fits the path", "RFC 4821 (TCP_INFO)"),
    _metric("pmtu_probes", "count", "lower", "Probes of the path MTU", "RFC 8899", unit="packets"),
    _metric("pmtu_probe", "bytes", "lower", "Bytes sent to probe the path MTU", "RFC 8899"),
    _metric(
        "pmtu_lost_probes",
        "count",
        "lower",
        "Packets lost until the path MTU was found",
        "RFC 8899",
        unit="packets",
        scale="difference",
    ),
    _hop("black_hole_hop", "Hop of a black hole, client to server"),
    _hop("black_hole_hop_reverse", "Hop of a black hole, server to client"),
    _cores("busy", "CPU, whole machine"),
    _cores("user", "CPU in user space"),
    _cores("system", "CPU in the kernel"),
    _cores("softirq", "CPU in soft interrupts"),
    _cores("client", "CPU of the client's process", "getrusage(2)"),
    _cores("server", "CPU of the server's process", "getrusage(2)"),
    _cores("steal", "CPU time that the hypervisor took", "/proc/stat (steal)"),
    _cores("other", "CPU of other programs", "/proc/stat, getrusage(2)"),
    _metric(
        "core_slowdown",
        "ratio",
        "lower",
        "Slowdown of the core",
        "a loop that keeps all units of a core busy, against its fastest time",
    ),
    _time("cpu_per_byte", "CPU time per byte", "/proc/stat"),
    _time("cpu_per_packet", "CPU time per packet", "/proc/stat"),
    _metric(
        "cycles_per_packet",
        "per_packet",
        "lower",
        "CPU cycles per packet",
        "perf_event_open(2), PERF_COUNT_HW_CPU_CYCLES",
        unit="cycles",
    ),
    _metric(
        "instructions_per_packet",
        "per_packet",
        "lower",
        "Instructions per packet",
        "perf_event_open(2), PERF_COUNT_HW_INSTRUCTIONS",
        unit="instructions",
    ),
    _metric(
        "instructions_per_byte",
        "per_byte",
        "lower",
        "Instructions per byte",
        "an emulated machine's clock, which counts them (QEMU, -icount)",
        unit="instructions",
    ),
    _metric(
        "instructions_per_cycle",
        "per_cycle",
        "higher",
        "Instructions per CPU cycle",
        "perf_event_open(2)",
        unit="instructions",
    ),
    _time("bpf_encapsulate", "Run time of the encapsulating program", "bpf(2), BPF_ENABLE_STATS"),
    _time("bpf_decapsulate", "Run time of the decapsulating program", "bpf(2), BPF_ENABLE_STATS"),
]

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
COLUMNS: dict[str, Metric] = {metric.column: metric for metric in _ALL}

CPU_METRICS = (
    "cpu_busy",
    "cpu_user",
    "cpu_system",
    "cpu_softirq",
    "cpu_client",
    "cpu_server",
    "cpu_steal",
    "cpu_other",
    "core_slowdown",
    "cpu_per_byte",
    "cpu_per_packet",
    "cycles_per_packet",
    "instructions_per_packet",
    "instructions_per_cycle",
)
"""The metrics that every workload has."""
