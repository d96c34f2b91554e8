"""What the benches share: trials without a scheduler, alternation, and lines of the table."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

from sixbench.agent import Agent
from sixbench.model.topology import Topology
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "2"))


def our_trial(
    h1: Agent,
    h2: Agent,
    client: str,
    server: str,
    workload: str,
    params: dict[str, object],
    client_seen: str | None = None,
) -> tuple[dict, dict]:
    """One trial without a scheduler: the client's and the server's result."""
    session = f"bench-{time.monotonic_ns()}"
    common = {
        "session": session,
        "workload": workload,
        "token": "5a" * 16,
        "params": params | {"duration_ns": int(SECONDS * 1e9), "warmup_ns": 200_000_000},
    }
    port = h2.call("serve", address=server, peer=client_seen or client, **common)["port"]
    result = h1.call("run", address=client, peer=server, port=port, timeout_s=SECONDS + 20, **common)
    return result, h2.call("finish", session=session, timeout_ns=5_000_000_000)


def compare(name: str, ours: Callable[[], float], theirs: Callable[[], float | None], target: str) -> None:
    """Alternates, the order swapped each round, and shows the ratios of the rounds in which the peer gave a result."""
    ratios = []
    for round_ in range(ROUNDS):
        if round_ % 2:
            their, our = theirs(), ours()
        else:
            our, their = ours(), theirs()
        if their:
            ratios.append(our / their)
    if ratios:
        show_figures(name, ratios, target)
    else:
        show(f"{name}: the peer gave no result", "", "", "", "")


def topology_of(text: str) -> Topology:
    """A topology from its text."""
    return read_topology_only(parse_yaml(text, "bench.yaml"))


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def show_figures(name: str, values: list[float], target: str) -> None:
    """One line."""
    show(name, f"{statistics.median(values):.3f}", f"{min(values):.3f}", f"{max(values):.3f}", target)


def show(name: str, median: str, least: str, greatest: str, target: str) -> None:
    """One line of the table."""
    print(f"{name:<40} {median:>9} {least:>9} {greatest:>9}  {target}", flush=True)
