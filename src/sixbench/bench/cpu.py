"""Metrics from the CPU samples of agents."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypedDict

from ..model.observation import AwakeAnswer
from ..model.workload import Result

SATURATED_CORE = 0.97
"""The share of its time from which on a core that was busy was the limit."""

Core = dict[str, int]
"""A core's time by kind, in ticks."""


class ResourceSample(TypedDict, total=False):
    """Resources that a machine had spent until a moment. It is a part of results, as docs/protocol.md describes it.
    Where the trial runs on this machine, we add what we know of it ourselves.

    Attributes:
        orchestrator_ns: the CPU time of the process that runs the trials.
        watched: how long each processor was busy, where a thread keeps it awake.
        throttled: how often the processors were slowed down for heat so far, where the kernel counts it.
    """

    clock_ns: int
    realtime_ns: int
    tick_ns: int
    cores: list[Core]
    agent_user_ns: int
    agent_system_ns: int
    idle_ns: int
    orchestrator_ns: int
    watched: AwakeAnswer
    throttled: int


Span = TypedDict("Span", {"from": ResourceSample, "to": ResourceSample})
"""The samples at both edges of a window."""

_BUSY = ("user", "nice", "system", "irq", "softirq")
_KINDS = (*_BUSY, "steal")


def find_span(result: Result) -> Span | None:
    """The CPU span of a result, or of the first of its parts that has one; of several flows, of the last to begin."""
    if isinstance(result.get("parts"), Mapping):
        return next((span for flow in reversed(result["parts"].values()) if (span := find_span(flow))), None)
    if isinstance(result.get("cpu"), Mapping):
        return result["cpu"]  # type: ignore[no-any-return]
    for part in result.values():
        if isinstance(part, Mapping) and isinstance(part.get("cpu"), Mapping):
            return part["cpu"]  # type: ignore[no-any-return]
    return None


def spun_ns(result: Result, *, with_warmup: bool = False) -> int:
    """The time that the senders of a result spun until datagrams were due, in the measured phase. Traffic does not cost
    it."""
    keys = ("spun_ns", "warmup_spun_ns") if with_warmup else ("spun_ns",)
    waits = [part.get("waits") or {} for part in (result, *result.values()) if isinstance(part, Mapping)]
    return sum(int(waited.get(key, 0)) for waited in waits for key in keys)


def machine_cores(span: Span, spun_ns: int = 0, *, are_kept_awake: bool = False) -> dict[str, float]:
    """Cores' worth of time that the whole machine spent, by kind: `busy`, `user`, `system`, `softirq`; without what was
    spun. `steal` is what the hypervisor took, which nobody here spent. Empty where it cannot be known.

    Args:
        are_kept_awake: whether threads of the idle class spin on the processors. The kernel counts their time as niced,
            so that niced time counts as idle.
    """
    ticks, elapsed_ns = _ticks(span, are_kept_awake=are_kept_awake)
    if not ticks or elapsed_ns <= 0:
        return {}
    tick_ns = span["from"]["tick_ns"]
    total = {kind: sum(core[kind] for core in ticks) * tick_ns / elapsed_ns for kind in _KINDS}
    spun = spun_ns / elapsed_ns
    exact_ns = _exactly_busy_ns(span)
    busy = sum(total[kind] for kind in _BUSY) if exact_ns is None else exact_ns / elapsed_ns
    return {
        "busy": max(0.0, busy - spun),
        "user": max(0.0, total["user"] + total["nice"] - spun),
        "system": total["system"],
        "softirq": total["softirq"] + total["irq"],
        "steal": total["steal"],
    }


def cpu_of_ends(client: Result, server: Result, client_spun_ns: int = 0, server_spun_ns: int = 0) -> dict[str, float]:
    """Cores' worth of time that the agents of both ends took, by column, without what they spun."""
    metrics = {}
    for side, result, own_spun_ns in (("client", client, client_spun_ns), ("server", server, server_spun_ns)):
        span = find_span(result)
        cores = None if span is None else agent_cores(span, own_spun_ns)
        if cores is not None:
            metrics[f"cpu_{side}_cores"] = cores
    return metrics


def core_shares(span: Span, *, are_kept_awake: bool = False) -> list[float]:
    """Load of each core in the time that the hypervisor left it, from 0 to 1. `are_kept_awake`: as for
    `machine_cores`."""
    ticks, _ = _ticks(span, are_kept_awake=are_kept_awake)
    shares = []
    for core in ticks:
        busy = sum(core[kind] for kind in _BUSY)
        total = busy + core["idle"] + core["iowait"]
        if total > 0:
            shares.append(busy / total)
    return shares


def agent_cores(span: Span, spun_ns: int = 0) -> float | None:
    """Cores' worth of time that the agent itself spent, without what it spun; None where no time passed."""
    start, end = span["from"], span["to"]
    elapsed_ns = int(end["clock_ns"] - start["clock_ns"])
    if elapsed_ns <= 0:
        return None
    used_ns = end["agent_user_ns"] - start["agent_user_ns"] + end["agent_system_ns"] - start["agent_system_ns"]
    return max(0.0, float(used_ns - spun_ns)) / elapsed_ns


def busy_ns(span: Span, *, are_kept_awake: bool = False) -> float | None:
    """CPU time that the whole machine spent: exact where a machine of one core says when it is idle, or threads watch
    all of its processors, else in ticks.

    Args:
        are_kept_awake: as for `machine_cores`.
    """
    exact_ns = _exactly_busy_ns(span)
    if exact_ns is not None:
        return exact_ns
    ticks, _ = _ticks(span, are_kept_awake=are_kept_awake)
    if not ticks:
        return None
    everywhere_ns = watched_ns(span)
    if everywhere_ns is not None:
        return everywhere_ns
    return float(sum(core[kind] for core in ticks for kind in _BUSY) * span["from"]["tick_ns"])


def clock_step_ns(span: Span) -> int:
    """Move of the realtime clock against the monotonic one."""
    start, end = span["from"], span["to"]
    return int((end["realtime_ns"] - end["clock_ns"]) - (start["realtime_ns"] - start["clock_ns"]))


def processors(span: Span) -> tuple[int, int]:
    """Number of processors of the machine at the start and at the end; 0 where that is not known."""
    return len(span["from"].get("cores") or []), len(span["to"].get("cores") or [])


def throttled(span: Span) -> int:
    """Number of times that processors were slowed down for heat between the two samples; 0 also where the kernel does
    not count it."""
    return span["to"].get("throttled", 0) - span["from"].get("throttled", 0)


def orchestrator_ns(span: Span) -> int:
    """The CPU time that running the trial took, rather than its traffic."""
    return span["to"].get("orchestrator_ns", 0) - span["from"].get("orchestrator_ns", 0)


def watched_ns(span: Span, processors: Collection[int] | None = None) -> float | None:
    """Time for which these processors, or all of the machine, were busy, by the threads that keep them awake; None
    where one of them has none."""
    if "watched" not in span["from"] or "watched" not in span["to"]:
        return None
    before, after = (
        {processor.processor: processor.busy_ns for processor in sample["watched"].processors}
        for sample in (span["from"], span["to"])
    )
    if processors is None:
        processors = before.keys() if len(before) == len(span["from"].get("cores") or []) else ()
    if not processors or not before.keys() & after.keys() >= set(processors):
        return None
    return float(sum(after[processor] - before[processor] for processor in processors))


def _exactly_busy_ns(span: Span) -> float | None:
    start, end = span["from"], span["to"]
    if "idle_ns" not in start or "idle_ns" not in end:
        return None
    return float(end["clock_ns"] - start["clock_ns"] - (end["idle_ns"] - start["idle_ns"]))


def _ticks(span: Span, *, are_kept_awake: bool = False) -> tuple[list[Core], int]:
    """The ticks of each core by kind, and the time that passed; `are_kept_awake`: as for `machine_cores`."""
    start, end = span["from"], span["to"]
    elapsed_ns = end["clock_ns"] - start["clock_ns"]
    before, after = start.get("cores") or [], end.get("cores") or []
    if len(before) != len(after):
        return [], elapsed_ns
    ticks = [{kind: b[kind] - a[kind] for kind in b} for a, b in zip(before, after, strict=True)]
    if are_kept_awake:
        ticks = [core | {"idle": core["idle"] + core["nice"], "nice": 0} for core in ticks]
    return ticks, elapsed_ns
