"""The registry of metrics: each is declared once, here or in the file of the workload that alone measures it.

A metric's *column* is its name with its unit, as trial records and tables carry it (`goodput_bps`, `rtt_p99_ns`).
"""

from __future__ import annotations

from .quantity import FAILURES, Metric, duration, metric, share, times
from .workloads import WORKLOADS
from .workloads.applications import METRICS as _OF_APPLICATIONS
from .workloads.moving import OUTAGE


def _cores(name: str, label: str, reference: str = "/proc/stat") -> Metric:
    return metric(f"cpu_{name}", "cores", "lower", label, reference)


_SHARED = (
    metric("goodput", "bps", "higher", "Goodput", "RFC 2647 section 3.17"),
    metric("goodput_reverse", "bps", "higher", "Goodput, server to client", "RFC 2647 section 3.17"),
    *times("rtt", "Round-trip time", "RFC 2681", "mean", "min", "p50", "p90", "p99", "p999", "stdev"),
    *times(
        "rtt_jitter", "Difference of consecutive round trips", "RFC 5481 section 4.1, for round trips", "mean", "p99"
    ),
    metric("transactions_rate", "per_s", "higher", "Transactions per second", "RFC 3511 section 5.3"),
    *times("transaction", "Transaction time", "RFC 3511 section 5.3", "mean", "p50", "p99"),
    *times("connect", "Connection time", "RFC 3511 section 5.3", "mean", "p50", "p99"),
    *_OF_APPLICATIONS,
    OUTAGE,
    share("questions_unanswered", "Questions without an answer in time", "RFC 8219 section 9.2"),
    *times("response", "Time to an answer", "RFC 8219 section 9.2", "mean", "p50", "p99"),
    *times("one_way_delay", "One-way delay", "RFC 7679", "mean", "min", "p50", "p99", "p999", needs_one_clock=True),
    *times("ipdv", "IPDV (absolute)", "RFC 5481 section 4.1", "mean", "p50", "p99"),
    *times("pdv", "PDV", "RFC 5481 section 4.2", "p50", "p99", "p999", needs_one_clock=True),
    duration("jitter_rfc3550", "Jitter (RFC 3550)", "RFC 3550 section 6.4.1"),
    metric("packets_rate", "pps", "higher", "Datagrams received per second", "RFC 2544 section 26.1"),
    metric("sent_rate", "pps", "neither", "Datagrams sent per second", "RFC 2544 section 26.1"),
    metric("lost_rate", "pps", "lower", "Datagrams lost per second", "RFC 7680"),
    share("loss_ratio", "Loss", "RFC 7680"),
    share("loss_reverse", "Loss, server to client", "RFC 7680"),
    share("duplicates_ratio", "Duplicates", "RFC 5560"),
    share("reordered_ratio", "Reordered", "RFC 4737"),
    share(FAILURES, "Attempts that failed", "RFC 3511 section 5.3"),
    share("refused_ratio", "Datagrams refused by the sender", "ip(7), EMSGSIZE"),
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
