"""Translators against native forwarding and against tayga, through two routers, and the state that NAT64 keeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path as File
from resource import RLIMIT_NOFILE, getrlimit
from shutil import which

from table import Table, show_figures
from tunnels import Baseline, Comparing, Programs, Up, native, row_of_routers, slow_path, working_paths

from sixbench.agent import AgentHub
from sixbench.agent.requests import ConnectionTracking
from sixbench.bench.processors import Processors
from sixbench.bench.proof.sessions import session_evidence, session_memory_bytes
from sixbench.model.errors import LabError
from sixbench.model.path import Path
from sixbench.model.topology import Topology

STREAM_TARGETS = {"siit": ">= 0.9", "map-t": ">= 0.9", "nat64": ">= 0.8"}
PACKETS_TARGETS = {"siit": ">= 0.8", "map-t": ">= 0.8", "nat64": ">= 0.65"}
TAYGA_TARGET = ">= 10"

CONNECTIONS = 1500
"""Connections in a trial of their rate: fewer would be mostly the beginning."""
SESSIONS = 1_000_000
OTHER_DESCRIPTORS = 1000
"""Descriptors of an agent besides those of its connections."""
SESSIONS_TIMEOUT_S = 600
"""Longer than it takes to open them all, and to ask each."""
MOST_SESSIONS = File("/proc/sys/net/netfilter/nf_conntrack_max")
"""Limit of the sessions of each namespace; only the first namespace may set it."""


def bench_translators(hub: AgentHub, table: Table) -> None:
    """TCP with offloads and packets without, each of our translators in turn with native; and what tayga makes."""
    with_offload, without = (row_of_routers(word) for word in ("true", "false"))
    paths = {(path.mechanism, path.engine): path for path in working_paths(hub, without, STREAM_TARGETS)}
    bench = Comparing(hub, table)
    for (mechanism, engine), path in paths.items():
        if engine == "user":
            if mechanism == "siit":
                slow_path(hub, table, without, path)
            continue
        base = Baseline(name="native", path=native(path.family))
        stream_target, packets_target = STREAM_TARGETS[mechanism], PACKETS_TARGETS[mechanism]
        programs = Programs(path, without)
        bench.compare(with_offload, path, base, "TCP", Up.goodput_bps, stream_target, programs=programs)
        bench.compare(without, path, base, "packets", Up.packets_pps, packets_target, programs=programs)
        programs.tell(hub, table)
    siit, nat64 = (paths.get((mechanism, "ebpf")) for mechanism in ("siit", "nat64"))
    tayga = replace(siit, name="tayga", engine="tayga") if siit and which("tayga") else None
    if siit and tayga:
        bench.compare(without, siit, Baseline(name="tayga", path=tayga), "packets", Up.packets_pps, TAYGA_TARGET)
    if nat64:
        bases = [Baseline(name="native", path=native(6))]
        bases += [Baseline(name="tayga + NAT44", path=tayga, translates=True)] if tayga else []
        for base in bases:
            bench.compare(without, nat64, base, "connections", connections_per_s, "")
        held_sessions(hub, without, nat64)


def connections_per_s(up: Up) -> float:
    """Connections that are opened in a second, as fast as they go."""
    client = up.connections({"count": CONNECTIONS, "transport": "tcp"}, 20)
    if client["established"] < client["attempts"]:
        raise LabError(f"opening connections: {client['failed']} of {client['attempts']} failed")
    return client["established"] * 1e9 / client["establishing_ns"]


def held_sessions(hub: AgentHub, topology: Topology, path: Path) -> None:
    """As many sessions of UDP as there should be at once, how many were lost, and what one takes. The client opens them
    in parts, as many as it may have descriptors; a session stays when its socket goes."""
    with more_sessions(), closing(Processors(hub)) as processors, Up(hub, processors, topology, path) as up:
        node = up.lab.agents[path.nodes[0]]
        for timeout in ("udp_timeout", "udp_timeout_stream"):
            setting = f"net.netfilter.nf_conntrack_{timeout}={SESSIONS_TIMEOUT_S}"
            done = node.call("exec", argv=["sysctl", "-qw", setting])
            if done["exit"]:
                raise LabError(f"keeping sessions for {SESSIONS_TIMEOUT_S} s: sysctl: {done['stderr'].strip()}")
        before = {path.nodes[0]: node.answer(ConnectionTracking(forget=True))}
        lost, opened_per_s = 0, []
        held = 0
        while held < SESSIONS and not lost:
            count = min(SESSIONS - held, getrlimit(RLIMIT_NOFILE)[1] - OTHER_DESCRIPTORS)
            client = up.connections({"count": count, "transport": "udp"}, SESSIONS_TIMEOUT_S)
            lost += client["attempts"] - client["alive"]
            opened_per_s.append(client["established"] * 1e9 / client["establishing_ns"])
            after = {path.nodes[0]: node.answer(ConnectionTracking())}
            [sessions] = session_evidence(before, after).values()
            lost += sum((sessions.failed or {}).values())
            held = sessions.rise
    name = f"{path.name}, sessions"
    show_figures(f"{name} held without loss, thousands", [(held - lost) / 1000], f">= {SESSIONS / 1000:g}")
    show_figures(f"{name} opened, thousands/s", [rate / 1000 for rate in opened_per_s], "")
    memory_bytes = session_memory_bytes({path.nodes[0]: sessions})
    if memory_bytes is not None:
        show_figures(f"{name}, memory of each, bytes", [memory_bytes], "")


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
