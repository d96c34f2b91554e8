"""Building and taking down networks of many nodes, beside mininet with as many namespaces and veth pairs; and the plan
of very many trials. (`sweep.py` has a run of as many.)

Mininet gives its hosts an IPv4 address and nothing else; ours have addresses and routes of both families, and reach one
another.
"""

from __future__ import annotations

import json
import random
import shutil
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from measure import ROUNDS, show, show_figures, timed, topology_of

from sixbench.agent import AgentHub
from sixbench.mechanisms import MECHANISMS
from sixbench.model.network import Blueprint
from sixbench.model.routing import all_routes
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.schedule import all_trials
from sixbench.plan.yaml_source import parse_yaml
from sixbench.run.laboratory import Laboratory

SIZES = (2, 15, 20, 40, 100, 1000)
PEER_SIZES = (2, 20, 40)
TARGETS = {15: "< 1", 40: "< 2", 1000: "< 60"}
OTHER_SIZES = (1000,)
"""Of networks of other shapes."""
MEMORY_TARGET_MIB = 4096
MANY_NODES = 100
"""A network of more is built once: the smaller ones tell how much that scatters."""

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
        for _ in range(ROUNDS if nodes <= MANY_NODES else 1):
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
    bench_shapes(hub)
    bench_large_plan()
    if not has_peer:
        show("mininet is not installed: not compared", "", "", "", "")


def bench_shapes(hub: AgentHub) -> None:
    """A star, a tree and a network like the internet's: the work of their routes, and the time and memory of all."""
    for name, text_of in OTHER_SHAPES.items():
        for nodes in OTHER_SIZES:
            topology = topology_of(text_of(nodes))
            what = f"{name} of {len(topology.nodes)} nodes"
            show_figures(f"{what}: routes, s", [timed(lambda topology=topology: all_routes(topology))], "")
            up, down, used_mib = our_network(hub, text_of(nodes))
            show_figures(f"{what} up, s", [up], TARGETS[nodes])
            show_figures(f"{what} down, s", [down], TARGETS[nodes])
            show_figures(f"{what}: memory, MiB", [used_mib], f"< {MEMORY_TARGET_MIB}")


def bench_large_plan() -> None:
    """From the file's text to the last of 100,000 trials."""

    def expand() -> None:
        count = sum(1 for _ in all_trials(read_experiment(parse_yaml(LARGE_PLAN, "bench.yaml"), MECHANISMS)))
        assert count == 100_000, count

    show_figures("plan of 100,000 trials, s", [timed(expand) for _ in range(ROUNDS)], "< 1")


LARGE_PLAN = f"""
topology:
  nodes: {{h1: host, r1: router, h2: host}}
  links:
    - {{endpoints: [h1, r1], rate: [{", ".join(f"{rate}Mbit" for rate in range(1, 21))}]}}
    - {{endpoints: [r1, h2]}}
paths: {{ipv4: native4, again: native4, ipv6: native6, ipv6-again: native6}}
workloads: [{{tcp-rr: {{message: [{", ".join(f"{size}B" for size in range(2, 52))}]}}}}]
blocks: 25
"""


def _tree(nodes: int) -> str:
    """A tree of some more nodes than that, two below each."""
    return f"tree: {{depth: {nodes.bit_length() - 1}, fanout: 2}}\n"


def _internet(nodes: int) -> str:
    """Nodes whose numbers of links follow a power law with exponent 3: each new node links to a node that is there,
    chosen by how many links that has (A.-L. Barabasi, R. Albert, Emergence of scaling in random networks, Science 286,
    1999; m = 1, as B. Bollobas, O. Riordan, The diameter of a scale-free random graph, Combinatorica 24, 2004, define
    it, without loops). Those with one link, which are most, are hosts."""
    dice = random.Random(1)
    ends = [0]
    links: list[tuple[int, int]] = []
    for node in range(1, nodes):
        chosen = dice.choice(ends)
        links.append((chosen, node))
        ends += [chosen, node]
    links.sort()
    count = Counter(end for link in links for end in link)
    kinds = ", ".join(f"n{node}: {'host' if count[node] == 1 else 'router'}" for node in range(nodes))
    lines = "".join(f"  - {{endpoints: [n{one}, n{other}]}}\n" for one, other in links)
    return f"nodes: {{{kinds}}}\nlinks:\n{lines}"


OTHER_SHAPES: dict[str, Callable[[int], str]] = {
    "star": lambda nodes: f"star: {nodes - 1}\n",
    "tree": _tree,
    "internet": _internet,
}


def our_chain(hub: AgentHub, nodes: int) -> tuple[float, float, float]:
    """Seconds to build and take down a chain, and the memory that it took."""
    return our_network(hub, f"chain: {nodes}\n")


def our_network(hub: AgentHub, text: str) -> tuple[float, float, float]:
    """The same of any network. It is down when the kernel has removed its namespaces, so that a node can be made."""
    before_mib = available_mib()
    started = time.perf_counter()
    laboratory = Laboratory(hub, Blueprint(topology=topology_of(text)))
    up = time.perf_counter() - started
    used_mib = before_mib - available_mib()

    def take_down() -> None:
        laboratory.close()
        hub.stop(list(hub.start(["next"]).values()))

    return up, timed(take_down), used_mib


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
