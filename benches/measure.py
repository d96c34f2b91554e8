"""Parts that benches share: trials without a scheduler."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import Future

from sixbench.agent import Agent
from sixbench.model.errors import LabError
from sixbench.model.programs.end import ProgramEnd
from sixbench.model.topology import Topology
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.yaml_source import parse_yaml

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
"""The first ones of what is measured by itself, not in pairs (`paired`)."""
SECONDS, WARMUP_S = 0.06, 0.02
"""Length and warm-up of a trial. One of 0.1 s with a warm-up of 0.05 s came to the same rates and ratios (2026-11-28:
40 Gbit/s and 118,000 packets/s through two routers), and one of a second scatters as much. So many short ones tell more
in the same time."""
ATTEMPTS = 5
"""At a trial in which others have the processor for as long as it lasts: it says nothing of the path."""
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
    *,
    server_program: ProgramEnd | None = None,
    client_program: ProgramEnd | None = None,
) -> tuple[str, Future[dict]]:
    """Begins one: its session, which the server has to finish, and the client's result to come. `client_seen` and
    `server_own` are the addresses that the server knows, where they are others than those that the client knows."""
    session = f"bench-{time.monotonic_ns()}"
    common = {"session": session, "workload": workload, "token": "5a" * 16, "params": params}
    ends = {"address": server_own or server, "peer": client_seen or client}
    served = h2.call("serve", **ends, **common, **_program(server_program))
    parameters = {name: served[name] for name in ("port", "certificate") if name in served}
    return session, h1.submit("run", address=client, peer=server, **parameters, **common, **_program(client_program))


def _program(end: ProgramEnd | None) -> dict[str, object]:
    return {} if end is None else {"program": end.fields}


def bytes_per_s(trial: Callable[[], dict], what: str) -> float:
    """Bytes that a trial's server received in a second. Raises `LabError` where nothing arrives, however often it is
    tried.

    Args:
        trial: what the server says of a trial.
        what: is sent, for the error.
    """
    for _ in range(ATTEMPTS):
        served = trial()
        if served.get("measured_bytes"):
            return float(served["measured_bytes"] * 1e9 / served["measured_ns"])
    raise LabError(
        f"measuring {what}: in {ATTEMPTS} trials nothing arrived after the warm-up; "
        "is the machine busy with something else?"
    )


def topology_of(text: str) -> Topology:
    """A topology from its text."""
    return read_topology_only(parse_yaml(text, "bench.yaml"))


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
