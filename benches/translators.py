"""Translators against native forwarding and against tayga, through two routers, and the state that NAT64 keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path as File
from resource import RLIMIT_NOFILE, prlimit
from shutil import which

from measure import show_figures
from tunnels import Baseline, Up, compare, installing, native, row_of_routers, slow_path, working_paths

from sixbench.agent import AgentHub
from sixbench.model.errors import LabError
from sixbench.model.path import Path
from sixbench.model.topology import Topology
from sixbench.run.processors import Processors
from sixbench.run.proof.sessions import session_evidence, session_memory_bytes

STREAM_TARGETS = {"siit": ">= 0.9", "map-t": ">= 0.9", "nat64": ">= 0.8"}
PACKETS_TARGETS = {"siit": ">= 0.8", "map-t": ">= 0.8", "nat64": ">= 0.65"}
TAYGA_TARGET = ">= 10"

CONNECTIONS = 3000
"""Of a trial of their rate: fewer would be mostly the beginning."""
SESSIONS = 1_000_000
DESCRIPTORS = 1 << 20
"""A session is one at the client. The kernel gives no more unless it is told to (`fs.nr_open`)."""
SESSIONS_TIMEOUT_S = 600
"""Longer than it takes to open them all, and to ask each."""
MOST_SESSIONS = File("/proc/sys/net/netfilter/nf_conntrack_max")
"""Of each namespace; only the first one may set it."""


def bench_translators(hub: AgentHub) -> None:
    """TCP with offloads and packets without, each of our translators in turn with native; and what tayga makes."""
    with_offload, without = (row_of_routers(word) for word in ("true", "false"))
    paths = {(path.mechanism, path.engine): path for path in working_paths(hub, without, STREAM_TARGETS)}
    for (mechanism, engine), path in paths.items():
        if engine == "user":
            if mechanism == "siit":
                slow_path(hub, without, path)
            continue
        base = Baseline(name="native", path=native(path.family))
        compare(hub, with_offload, path, base, "TCP", Up.goodput_bps, STREAM_TARGETS[mechanism])
        compare(hub, without, path, base, "packets", Up.packets_pps, PACKETS_TARGETS[mechanism])
        installing(hub, without, path)
    siit, nat64 = (paths.get((mechanism, "ebpf")) for mechanism in ("siit", "nat64"))
    tayga = replace(siit, name="tayga", engine="tayga") if siit and which("tayga") else None
    if siit and tayga:
        compare(hub, without, siit, Baseline(name="tayga", path=tayga), "packets", Up.packets_pps, TAYGA_TARGET)
    if nat64:
        bases = [Baseline(name="native", path=native(6))]
        bases += [Baseline(name="tayga + NAT44", path=tayga, translates=True)] if tayga else []
        for base in bases:
            compare(hub, without, nat64, base, "connections", connections_per_s, "")
        held_sessions(hub, without, nat64)


def connections_per_s(up: Up) -> float:
    """How many are opened in a second, as fast as they go."""
    client = up.connections({"count": CONNECTIONS, "transport": "tcp"}, 20)
    if client["established"] < client["attempts"]:
        raise LabError(f"opening connections: {client['failed']} of {client['attempts']} failed")
    return client["established"] * 1e9 / client["establishing_ns"]


def held_sessions(hub: AgentHub, topology: Topology, path: Path) -> None:
    """As many sessions of UDP as there should be, each of which has to answer at the end; and what one takes."""
    with more_sessions(), closing(Processors(hub)) as processors, Up(hub, processors, topology, path, "free") as up:
        node = path.nodes[0]
        for agent in up.lab.agents.values():
            prlimit(agent.pid, RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        track = partial(up.lab.agents[node].call, "connection-tracking")
        for timeout in ("udp_timeout", "udp_timeout_stream"):
            setting = f"net.netfilter.nf_conntrack_{timeout}={SESSIONS_TIMEOUT_S}"
            done = up.lab.agents[node].call("exec", argv=["sysctl", "-qw", setting])
            if done["exit"]:
                raise LabError(f"keeping sessions for {SESSIONS_TIMEOUT_S} s: sysctl: {done['stderr'].strip()}")
        before = {node: track(forget=True)}
        client = up.connections({"count": SESSIONS, "transport": "udp"}, SESSIONS_TIMEOUT_S)
        sessions = session_evidence(before, {node: track()})
    show_figures(f"{path.name}, sessions held, thousands", [client["alive"] / 1000], f">= {SESSIONS / 1000:g}")
    show_figures(
        f"{path.name}, sessions opened, thousand/s", [client["established"] * 1e6 / client["establishing_ns"]], ""
    )
    memory_bytes = session_memory_bytes(sessions)
    if memory_bytes is not None:
        show_figures(f"{path.name}, memory of a session, bytes", [memory_bytes], "")


@contextmanager
def more_sessions() -> Iterator[None]:
    """Room for all sessions in the kernel's table, for the time being."""
    most = MOST_SESSIONS.read_text()
    if int(most) >= 2 * SESSIONS:
        yield
        return
    MOST_SESSIONS.write_text(str(2 * SESSIONS))
    try:
        yield
    finally:
        MOST_SESSIONS.write_text(most)
