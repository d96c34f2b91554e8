"""What the benches share: trials without a scheduler, and lines of the table."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import Future

from sixbench.agent import Agent
from sixbench.model.topology import Topology
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "2"))
WARMUP_S = 0.2


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
    params = params | {"duration_ns": int(SECONDS * 1e9), "warmup_ns": int(WARMUP_S * 1e9)}
    session, running = begin_trial(h1, h2, client, server, workload, params, client_seen)
    result = h1.wait(running, "run", SECONDS + 20)
    return result, h2.call("finish", session=session, timeout_ns=5_000_000_000)


def begin_trial(
    h1: Agent,
    h2: Agent,
    client: str,
    server: str,
    workload: str,
    params: dict[str, object],
    client_seen: str | None = None,
) -> tuple[str, Future[dict]]:
    """Begins one: its session, which the server has to finish, and the client's result to come."""
    session = f"bench-{time.monotonic_ns()}"
    common = {"session": session, "workload": workload, "token": "5a" * 16, "params": params}
    port = h2.call("serve", address=server, peer=client_seen or client, **common)["port"]
    return session, h1.submit("run", address=client, peer=server, port=port, **common)


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
