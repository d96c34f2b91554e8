"""The registry of metrics: each is declared once, here or in the file of the workload that alone measures it.

A metric's *column* is its name with its unit, as trial records and tables carry it (`goodput_bps`, `rtt_p99_ns`).
"""

from __future__ import annotations

from dataclasses import replace

from .quantity import Direction, Metric, duration, metric, share, times
from .workloads import WORKLOADS
from .workloads.applications import METRICS as _OF_APPLICATIONS
from .workloads.connections import SESSION_MEMORY, TEARDOWN_RATE


def _cores(name: str, label: str, reference: str = "/proc/stat") -> Metric:
    return metric(f"cpu_{name}", "cores", "lower", label, reference)


def _connections(what: str, better: Direction, label: str) -> Metric:
    return metric(
        f"connections_{what}", "count", better, label, "RFC 3511 section 5.2", unit="connections", scale="difference"
    )


_QUALITIES = (
    metric("mos_cqe", "cqe", "higher", "Conversational quality (MOS-CQE)", "ITU-T G.107 Annex B", unit="MOS"),
    metric("r_factor", "factor", "higher", "Transmission rating factor", "ITU-T G.107 section 7.1", unit="R"),
    share("playout_loss_ratio", "Loss after the jitter buffer", "ITU-T G.107 section 7.5"),
    duration("mouth_to_ear", "Mouth-to-ear delay", "ITU-T G.107 section 7.4"),
)
"""The qualities of a call, which follow from one-way delays."""

_SHARED = (
    metric("goodput", "bps", "higher", "Goodput", "RFC 2647 section 3.17"),
    metric("goodput_reverse", "bps", "higher", "Goodput, server to client", "RFC 2647 section 3.17"),
    *(
        metric(f"goodput_ipv{family}", "bps", "higher", f"Goodput of the IPv{family} flows", "RFC 2647 section 3.17")
        for family in (4, 6)
    ),
    metric("share_ipv6", "ratio", "neither", "Share of IPv6 in the goodput", "RFC 5166 section 2.3"),
    metric("fairness", "ratio", "higher", "Jain's fairness index of the flows", "RFC 5166 section 2.3, DEC-TR-301"),
    duration("transfer_time", "Transfer time", "RFC 6349 section 4.1"),
    *times("rtt", "Round-trip time", "RFC 2681", "mean", "min", "p50", "p90", "p99", "p999", "stdev"),
    *times(
        "rtt_jitter", "Difference of consecutive round trips", "RFC 5481 section 4.1, for round trips", "mean", "p99"
    ),
    *times("rtt_idle", "Round-trip time, idle", "RFC 2681", "mean", "p50", "p99"),
    *times("rtt_loaded", "Round-trip time under load", "RFC 2681", "mean", "p50", "p99"),
    metric(
        "rtt_increase",
        "ns",
        "lower",
        "Increase of the median round-trip time under load",
        "RFC 2681; the idea of draft-ietf-ippm-responsiveness",
        scale="difference",
        may_be_negative=True,
    ),
    *(
        metric(
            f"round_trips_{state}",
            "per_min",
            "higher",
            f"Round trips per minute, {words}",
            "the idea of draft-ietf-ippm-responsiveness: a minute over the mean round trip",
        )
        for state, words in (("idle", "idle"), ("loaded", "under load"))
    ),
    metric("transactions_rate", "per_s", "higher", "Transactions per second", "RFC 3511 section 5.3"),
    *times("transaction", "Transaction time", "RFC 3511 section 5.3", "mean", "p50", "p99"),
    _connections("established", "higher", "Connections established"),
    _connections("alive", "higher", "Connections alive at the end"),
    _connections("refused", "lower", "Connections refused"),
    _connections("timed_out", "lower", "Connections that timed out"),
    metric("establishment_rate", "per_s", "higher", "Connections established per second", "RFC 3511 section 5.3"),
    metric(TEARDOWN_RATE, "per_s", "higher", "Tracked connections forgotten per second", "RFC 9693"),
    metric(
        SESSION_MEMORY,
        "bytes",
        "lower",
        "Memory of a session where connections are tracked",
        "/proc/slabinfo (nf_conntrack)",
    ),
    *times("connect", "Connection time", "RFC 3511 section 5.3", "mean", "p50", "p99"),
    *_OF_APPLICATIONS,
    share("questions_unanswered", "Questions without an answer in time", "RFC 8219 section 9.2"),
    *times("response", "Time to an answer", "RFC 8219 section 9.2", "mean", "p50", "p99"),
    *times("one_way_delay", "One-way delay", "RFC 7679", "mean", "min", "p50", "p99", "p999", needs_one_clock=True),
    *times(
        *("one_way_delay_reverse", "One-way delay from the server", "RFC 7679", "mean", "p50", "p999"),
        needs_one_clock=True,
    ),
    *times("ipdv", "IPDV (absolute)", "RFC 5481 section 4.1", "mean", "p50", "p99"),
    *times("pdv", "PDV", "RFC 5481 section 4.2", "p50", "p99", "p999", needs_one_clock=True),
    *times("pdv_reverse", "PDV from the server", "RFC 5481 section 4.2", "p999", needs_one_clock=True),
    duration("recovery", "Time to recover from an overload", "RFC 2544 section 26.5"),
    duration("jitter_rfc3550", "Jitter (RFC 3550)", "RFC 3550 section 6.4.1"),
    metric("packets_rate", "pps", "higher", "Datagrams received per second", "RFC 2544 section 26.1"),
    metric(
        "packets_rate_reverse", "pps", "higher", "Frames received per second, server to client", "RFC 2544 section 26.1"
    ),
    *times("inter_frame_error", "Inter-frame error of the sender", "RFC 4689 section 3.3.1", "p50", "p99"),
    share("corrupt_ratio", "Frames that arrived corrupt", "RFC 2544 section 10"),
    share("late_ratio", "Frames that arrived after the residual time", "RFC 2544 section 23"),
    metric("sent_rate", "pps", "neither", "Datagrams sent per second", "RFC 2544 section 26.1"),
    metric("lost_rate", "pps", "lower", "Datagrams lost per second", "RFC 7680"),
    share("loss_ratio", "Loss", "RFC 7680"),
    *(replace(quality, needs_one_clock=True) for quality in _QUALITIES),
    share("loss_reverse", "Loss, server to client", "RFC 7680"),
    share("loss_native", "Loss of the frames that go natively", "RFC 7680; RFC 8219 section 5.3"),
    share("duplicates_ratio", "Duplicates", "RFC 5560"),
    share("reordered_ratio", "Reordered", "RFC 4737"),
    share("refused_ratio", "Datagrams refused by the sender", "ip(7), EMSGSIZE"),
    *times("tcp_rtt", "TCP's round-trip time", "RFC 6298 (TCP_INFO)", "mean"),
    *times("tcp_jitter", "Difference of consecutive TCP round-trip samples", "TCP_INFO, RFC 5481 section 4.1", "mean"),
    share("retransmits_ratio", "Retransmitted segments", "RFC 4898"),
    share(
        "zerocopy_copied_ratio",
        "Sends without a copy that the kernel copied after all",
        "Linux, Documentation/networking/msg_zerocopy.rst",
    ),
)

_OF_MACHINES = (
    _cores("busy", "CPU, whole machine"),
    _cores("user", "CPU in user space"),
    _cores("system", "CPU in the kernel"),
    _cores("softirq", "CPU in soft interrupts"),
    _cores("client", "CPU of the client's process", "getrusage(2)"),
    _cores("server", "CPU of the server's process", "getrusage(2)"),
    _cores("steal", "CPU time that the hypervisor took", "/proc/stat (steal)"),
    _cores("other", "CPU of other programs", "/proc/stat, getrusage(2)"),
    metric(
        "core_slowdown",
        "ratio",
        "lower",
        "Slowdown of the core",
        "a loop that keeps all units of a core busy, against its fastest time",
    ),
    duration("cpu_per_byte", "CPU time per byte", "/proc/stat"),
    duration("cpu_per_packet", "CPU time per packet", "/proc/stat"),
    metric(
        "cycles_per_packet",
        "per_packet",
        "lower",
        "CPU cycles per packet",
        "perf_event_open(2), PERF_COUNT_HW_CPU_CYCLES",
        unit="cycles",
    ),
    metric(
        "instructions_per_packet",
        "per_packet",
        "lower",
        "Instructions per packet",
        "perf_event_open(2), PERF_COUNT_HW_INSTRUCTIONS",
        unit="instructions",
    ),
    metric(
        "instructions_per_byte",
        "per_byte",
        "lower",
        "Instructions per byte",
        "an emulated machine's clock, which counts them (QEMU, -icount)",
        unit="instructions",
    ),
    metric(
        "instructions_per_cycle",
        "per_cycle",
        "higher",
        "Instructions per CPU cycle",
        "perf_event_open(2)",
        unit="instructions",
    ),
    duration("bpf_encapsulate", "Run time of the encapsulating program", "bpf(2), BPF_ENABLE_STATS"),
    duration("bpf_decapsulate", "Run time of the decapsulating program", "bpf(2), BPF_ENABLE_STATS"),
)

_ALL = (*_SHARED, *(of_workload for kind in WORKLOADS.values() for of_workload in kind.own_metrics), *_OF_MACHINES)
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
