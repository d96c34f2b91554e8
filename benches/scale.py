"""Building and taking down networks of many nodes, beside mininet with as many namespaces and veth pairs.

Mininet gives its hosts an IPv4 address and nothing else; ours have addresses and routes of both families, and reach one
another.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from measure import ROUNDS, show, show_figures, timed, topology_of

from sixbench.agent import AgentHub
from sixbench.model.network import Blueprint
from sixbench.run.laboratory import Laboratory

SIZES = (2, 15, 20, 40, 100, 500)
PEER_SIZES = (2, 20, 100, 500)
TARGETS = {15: "< 1", 40: "< 2", 500: "< 30"}
MEMORY_TARGET_MIB = 4096
MANY_NODES = 100
ROUNDS_OF_MANY = min(ROUNDS, 2)
"""Of networks with more nodes than that."""

PYTHON_OF_THE_SYSTEM = "/usr/bin/python3"
"""Debian's mininet is a package of its Python."""

MININET = """
import json, sys, time
from mininet.link import Link
from mininet.net import Mininet
from mininet.log import setLogLevel

setLogLevel("critical")
count = int(sys.argv[1])
started = time.perf_counter()
net = Mininet(controller=None, link=Link, build=False)
hosts = [net.addHost(f"n{number}") for number in range(count)]
for one, other in zip(hosts, hosts[1:]):
    net.addLink(one, other)
net.build()
up = time.perf_counter() - started
started = time.perf_counter()
net.stop()
print(json.dumps([up, time.perf_counter() - started]))
"""


def bench_scale(hub: AgentHub) -> None:
    """Both, in alternation; the seconds, their ratio, and milliseconds for each further node."""
    ours: dict[int, list[tuple[float, float]]] = {}
    theirs: dict[int, list[tuple[float, float]]] = {}
    memory_mib = []
    has_peer = shutil.which("mnexec") is not None
    for nodes in SIZES:
        for _ in range(ROUNDS if nodes <= MANY_NODES else ROUNDS_OF_MANY):
            up, down, used_mib = our_chain(hub, nodes)
            ours.setdefault(nodes, []).append((up, down))
            if nodes == max(SIZES):
                memory_mib.append(used_mib)
            if has_peer and nodes in PEER_SIZES:
                theirs.setdefault(nodes, []).append(mininet_chain(nodes))
        for index, word in enumerate(("up", "down")):
            show_figures(f"{nodes} nodes {word}, s", [one[index] for one in ours[nodes]], TARGETS.get(nodes, ""))
            if nodes in theirs:
                pairs = zip(ours[nodes], theirs[nodes], strict=True)
                ratios = [one[index] / other[index] for one, other in pairs]
                show_figures(f"{nodes} nodes {word} / mininet", ratios, "< 1")
    for index, word in enumerate(("up", "down")):
        show_figures(f"each further node {word}, ms", [slope_ms(ours, index)], "")
        if theirs:
            show_figures(f"each further node {word}, mininet, ms", [slope_ms(theirs, index)], "")
    show_figures(f"memory of {max(SIZES)} nodes, MiB", memory_mib, f"< {MEMORY_TARGET_MIB}")
    if not has_peer:
        show("mininet is not installed: not compared", "", "", "", "")


def our_chain(hub: AgentHub, nodes: int) -> tuple[float, float, float]:
    """Seconds to build and take down a chain, and the memory that it took."""
    before_mib = available_mib()
    started = time.perf_counter()
    laboratory = Laboratory(hub, Blueprint(topology=topology_of(f"chain: {nodes}\n")))
    up = time.perf_counter() - started
    used_mib = before_mib - available_mib()
    return up, timed(laboratory.close), used_mib


def mininet_chain(nodes: int) -> tuple[float, float]:
    """Seconds to build and take down as many namespaces in a row."""
    done = subprocess.run([PYTHON_OF_THE_SYSTEM, "-c", MININET, str(nodes)], capture_output=True, text=True, check=True)
    up, down = json.loads(done.stdout)
    return up, down


def slope_ms(seconds: dict[int, list[tuple[float, float]]], index: int) -> float:
    """Of the straight line through the medians."""
    sizes = list(seconds)
    medians = [statistics.median(one[index] for one in seconds[size]) for size in sizes]
    return statistics.linear_regression(sizes, medians).slope * 1000


def available_mib() -> float:
    """Of the machine."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]) / 1024
