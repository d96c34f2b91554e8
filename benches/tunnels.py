"""Tunnels against native forwarding of the packets that they carry, through two routers, in alternation."""

from __future__ import annotations

from collections.abc import Callable

from measure import ROUNDS, our_trial, show, show_figures, topology_of

from sixbench.agent import AgentHub
from sixbench.mechanisms import MECHANISMS, install
from sixbench.model.network import Network
from sixbench.model.path import Path
from sixbench.model.topology import Topology
from sixbench.run.engines import why_not
from sixbench.run.laboratory import Laboratory

BETWEEN = ("h1", "h2")
ENDPOINTS = ("[h1, r1]", "[r1, r2]", "[r2, h2]")

STREAM_TARGETS = {"6in4": ">= 0.93"}
OTHER_STREAM_TARGET = ">= 0.90"
PACKETS_TARGET = ">= 0.85"
SLOW_PATH_TARGET = ">= 100"
INSTALL_TARGET = "< 0.1"

DATAGRAM_BYTES = 64
MIN_RUNS = 1000
"""Of fewer packets no mean is told."""
FLOOD_PPS = 10_000_000
"""More than any sender here reaches."""


def bench_tunnels(hub: AgentHub) -> None:
    """Every mechanism by every engine that works here: TCP with offloads; packets, run times, slow path without."""
    with_offload, without = (row_of_routers(word) for word in ("true", "false"))
    for path in working_paths(hub, with_offload):
        fast = path.engine != "user"
        native = Path(name="native", mechanism=f"native{path.family}", family=path.family)
        if fast:
            target = STREAM_TARGETS.get(path.mechanism, OTHER_STREAM_TARGET)
            alternate(hub, with_offload, path, native, f"{path.name}, TCP / native", goodput_bps, target)
            alternate(hub, without, path, native, f"{path.name}, packets / native", packets_pps, PACKETS_TARGET)
        else:
            slow_path(hub, without, path)


def row_of_routers(offload: str) -> Topology:
    """Two hosts and two routers between them, on links as fast as the machine."""
    links = ", ".join(f"{{endpoints: {ends}, offload: {offload}}}" for ends in ENDPOINTS)
    return topology_of(f"nodes: {{h1: host, r1: router, r2: router, h2: host}}\nlinks: [{links}]\n")


def working_paths(hub: AgentHub, topology: Topology) -> list[Path]:
    """A path of each mechanism by each engine that this machine has."""
    probe = hub.start(["probe"])["probe"]
    paths = []
    for mechanism in MECHANISMS.values():
        for engine in mechanism.engines if mechanism.headers else ():
            path = Path(
                name=f"{mechanism.name} by {engine}",
                mechanism=mechanism.name,
                family=mechanism.family({}),
                nodes=mechanism.sample,
                engine=engine,
            )
            reason = why_not(probe, install(path, topology, BETWEEN).tunnels[0], engine)
            if reason is None:
                paths.append(path)
            elif engine != "kernel":
                show(f"{path.name}: {reason}", "", "", "", "")
    hub.stop([probe])
    return paths


def alternate(
    hub: AgentHub,
    topology: Topology,
    path: Path,
    native: Path,
    name: str,
    measure: Callable[[Laboratory, Network], float],
    target: str,
) -> None:
    """Both paths up at the same time, measured in turn, the order swapped each round."""
    networks = [install(one, topology, BETWEEN) for one in (path, native)]
    labs = [Laboratory(hub, network, path.engine or "kernel") for network in networks]
    try:
        for lab, network in zip(labs, networks, strict=True):
            lab.check_reachable(*BETWEEN, network.ends)
        ratios = []
        for round_ in range(ROUNDS):
            order = (0, 1) if round_ % 2 else (1, 0)
            values = {index: measure(labs[index], networks[index]) for index in order}
            ratios.append(values[0] / values[1])
        show_figures(name, ratios, target)
        if measure is packets_pps:
            show_figures(f"{path.name}, installing, s", [labs[0].install_ns / 1e9], INSTALL_TARGET)
            program_times(labs[0], networks[0], path)
    finally:
        for lab in labs:
            lab.close()


def goodput_bps(lab: Laboratory, network: Network) -> float:
    """Of one TCP stream."""
    _, served = trial(lab, network, "tcp-stream", {"message_bytes": 131072})
    receiver = served["forward_receiver"]
    return receiver["measured_bytes"] * 8e9 / receiver["measured_ns"]


def packets_pps(lab: Laboratory, network: Network) -> float:
    """Datagrams of 64 bytes that arrive, of a flood."""
    _, served = trial(lab, network, "udp-stream", {"datagram_bytes": DATAGRAM_BYTES, "rate_pps": FLOOD_PPS})
    return served["measured_bytes"] / DATAGRAM_BYTES * 1e9 / served["measured_ns"]


def program_times(lab: Laboratory, network: Network, path: Path) -> None:
    """Mean run time of the BPF programs over a flood of datagrams."""
    if path.engine != "ebpf":
        return
    agents = [lab.agents[node] for node in network.encapsulators()]
    for agent in agents:
        agent.call("tunnel-counters", run_time="start")
    packets_pps(lab, network)
    measured = [agent.call("tunnel-counters", run_time="stop")["tunnels"] for agent in agents]
    for program in ("encapsulate", "decapsulate"):
        times = [device["programs"][program] for devices in measured for device in devices.values()]
        times_ns = [time["run_time_ns"] / time["runs"] for time in times if time["runs"] > MIN_RUNS]
        if times_ns:
            show_figures(f"{path.name}, {program}, ns a run", times_ns, "")


def slow_path(hub: AgentHub, topology: Topology, path: Path) -> None:
    """Datagrams of 64 bytes through both ends in user space."""
    network = install(path, topology, BETWEEN)
    lab = Laboratory(hub, network, "user")
    try:
        lab.check_reachable(*BETWEEN, network.ends)
        values = [packets_pps(lab, network) / 1000 for _ in range(ROUNDS)]
        show_figures(f"{path.name}, thousand packets/s", values, SLOW_PATH_TARGET)
    finally:
        lab.close()


def trial(lab: Laboratory, network: Network, workload: str, params: dict[str, object]) -> tuple[dict, dict]:
    """One trial between the ends of a path."""
    ends = network.ends
    agents = (lab.agents[name] for name in BETWEEN)
    return our_trial(*agents, str(ends.client), str(ends.server), workload, params, str(ends.client_seen))
