"""What the benches share: trials without a scheduler, and lines of the table."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from intervals import Aim, geometric, judge

from sixbench.agent import Agent
from sixbench.model.topology import Topology
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
"""Of what is measured by itself, not in pairs (`paired`)."""
SECONDS = 0.1
"""Of a trial. One of a second scatters as much, so many short ones tell more in the same time."""
WARMUP_S = 0.05
DRAIN_S = 0.02
"""A server waits so long at most for what is still under way."""


def our_trial(
    h1: Agent,
    h2: Agent,
    client: str,
    server: str,
    workload: str,
    params: dict[str, object],
    client_seen: str | None = None,
    server_own: str | None = None,
    *,
    seconds: float = SECONDS,
    warmup_s: float = WARMUP_S,
) -> tuple[dict, dict]:
    """One trial without a scheduler: the client's and the server's result."""
    params = params | {"duration_ns": int(seconds * 1e9), "warmup_ns": int(warmup_s * 1e9)}
    session, running = begin_trial(h1, h2, client, server, workload, params, client_seen, server_own)
    result = h1.wait(running, "run", seconds + 20)
    return result, h2.call("finish", session=session, timeout_ns=int(DRAIN_S * 1e9))


def begin_trial(
    h1: Agent,
    h2: Agent,
    client: str,
    server: str,
    workload: str,
    params: dict[str, object],
    client_seen: str | None = None,
    server_own: str | None = None,
) -> tuple[str, Future[dict]]:
    """Begins one: its session, which the server has to finish, and the client's result to come. `client_seen` and
    `server_own` are the addresses that the server knows, where they are others than those that the client knows."""
    session = f"bench-{time.monotonic_ns()}"
    common = {"session": session, "workload": workload, "token": "5a" * 16, "params": params}
    port = h2.call("serve", address=server_own or server, peer=client_seen or client, **common)["port"]
    return session, h1.submit("run", address=client, peer=server, port=port, **common)


def topology_of(text: str) -> Topology:
    """A topology from its text."""
    return read_topology_only(parse_yaml(text, "bench.yaml"))


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def show_figures(name: str, values: Sequence[float], target: str) -> None:
    """One line: the trimmed geometric mean of the values, its interval, and whether the target (`< 0.4`, `>= 0.9`) is
    met. Values of which one is zero or less have no such mean: the line then has the middle one without an interval."""
    if min(values) <= 0:
        show(name, _number(sorted(values)[len(values) // 2]), "", "", target)
        return
    found = geometric(values)
    ends = ["" if end is None else _number(end) for end in (found.low, found.high)]
    aim = aim_of(target)
    verdict = judge(aim, found.low, found.high) if aim and found.n > 1 else ""
    show(name, _number(found.value), *ends, target, str(found.n), verdict)


def aim_of(target: str) -> Aim | None:
    """What the target's text says; None of an empty one."""
    said = re.fullmatch(r"([<>])=? ?([0-9.]+)", target)
    return Aim(bound=float(said[2]), lower_is_better=said[1] == "<") if said else None


def show(name: str, value: str, low: str, high: str, target: str, n: str = "", verdict: str = "") -> None:
    """One line of the table."""
    print(f"{name:<63} {value:>8} {low:>8} {high:>8} {n:>3}  {target:<8} {verdict}".rstrip(), flush=True)


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.0f}"
