"""Trials without rest: memory, descriptors, namespaces and BPF objects must not grow."""

from __future__ import annotations

import os
import signal
import statistics
import time
from pathlib import Path
from typing import Any

from sixbench.store import read_run

from . import host
from .keeping import STOPS, Keep
from .runs import Running, has_ended

HOUR_S = 3600.0
EVERY_S = 5.0

EXPERIMENT = """
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2], delay: 200us}, {endpoints: [r2, h2]}]
between: [h1, h2]
paths: {ipv4: native4, ipv6: native6, tunnel: {6in4: [r1, r2]}}
baseline: ipv4
workloads:
  - {ping: {count: 3, interval: 1ms}}
  - {tcp-rr: {duration: 50ms, warmup: 0s}}
  - {udp-stream: {datagram: 200B, duration: 50ms, warmup: 0s, rate: 1Mbit}}
  - {tcp-stream: {duration: 50ms, warmup: 0s}}
blocks: 10000
"""
"""More blocks than there is time for: the run is stopped."""

MOST_GROWTH = 0.05
"""Share by which the median of the last quarter may exceed that of the second, of what must not grow."""


def soak(scratch: Path, scale: float, seed: int, only: list[str], keep: Keep) -> dict[str, Any]:
    """Runs trials for an hour, and looks at everything every five seconds."""
    experiment, directory = scratch / "experiment.yaml", scratch / "run"
    experiment.write_text(EXPERIMENT)
    running = Running("run", str(experiment), "--out", str(directory), "--quiet", scratch=scratch)
    samples: list[dict[str, float]] = []
    stopped = {}
    try:
        while running.wait_until(len(samples) * EVERY_S) and len(samples) * EVERY_S < HOUR_S * scale:
            samples.append(_sample(running.process.pid, directory))
            keep(_growth(samples) | {"trials": int(samples[-1]["trials"]), "valid": None})
    except STOPS:  # the shorter time counts
        stopped = {"stopped": True}
    if running.process.poll() is not None:
        raise SystemExit(f"the run ended early: {running.end()}")
    running.process.send_signal(signal.SIGTERM)
    deadline_s = time.monotonic() + 120  # a report of so many trials takes its time, and is not what is looked at
    while not has_ended(directory) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    running.process.kill()
    running.end()
    trials = read_run(directory).trials
    return _growth(samples) | {
        "trials": len(trials),
        "valid": sum(trial.status == "ok" for trial in trials),
        **stopped,
    }


def _growth(samples: list[dict[str, float]]) -> dict[str, Any]:
    quarters = {name: [sample[name] for sample in samples] for name in samples[0]} if samples else {}
    return {
        "length_s": round(len(samples) * EVERY_S),
        "second_quarter": {name: _median(values, 0.25, 0.5) for name, values in quarters.items()},
        "last_quarter": {name: _median(values, 0.75, 1.0) for name, values in quarters.items()},
    }


def wrong(result: dict[str, Any]) -> list[str]:
    """Quantities that grew. The orchestrator's memory may: it keeps each trial's record, for the rule to stop by."""
    problems = []
    for name, early in result["second_quarter"].items():
        late = result["last_quarter"][name]
        if name not in _MAY_GROW and late > early * (1 + MOST_GROWTH) + 1:
            problems.append(f"{name}: {early:.1f}, then {late:.1f}")
    return problems


_MAY_GROW = {"trials", "orchestrator_mib"}


def _sample(orchestrator: int, directory: Path) -> dict[str, float]:
    agents = [pid for pid, name in host.processes() if name.startswith("sixbench-agent")]
    return {
        "trials": len(trials_in(directory)),
        "orchestrator_mib": _resident_mib(orchestrator),
        "orchestrator_descriptors": _entries(orchestrator, "fd"),
        "orchestrator_threads": _entries(orchestrator, "task"),
        "agents": len(agents),
        "agents_mib": sum(map(_resident_mib, agents)),
        "agents_descriptors": sum(_entries(pid, "fd") for pid in agents),
        "agents_threads": sum(_entries(pid, "task") for pid in agents),
        "namespaces": host.namespaces(),
        "processes": len(host.processes()),
        **{f"bpf_{name}": count for name, count in host.bpf_objects().items()},
    }


def trials_in(directory: Path) -> list[str]:
    """The trials that are there."""
    place = directory / "trials"
    return [name for name in os.listdir(place) if not name.endswith(".partial")] if place.is_dir() else []


def _resident_mib(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _entries(pid: int, folder: str) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/{folder}"))
    except OSError:
        return 0


def _median(values: list[float], start: float, end: float) -> float:
    part = values[int(start * len(values)) : max(int(end * len(values)), int(start * len(values)) + 1)]
    return round(statistics.median(part), 1)
