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

from measure import ROUNDS, timed, topology_of
from table import MOST_ROUNDS, Figure, Table, show, show_figures

from sixbench.agent import AgentHub
from sixbench.bench.laboratory import brought_up
from sixbench.mechanisms import MECHANISMS
from sixbench.model.network import Blueprint
from sixbench.model.routing import all_routes
from sixbench.plan.experiment_file import read_experiment
from sixbench.plan.schedule import all_trials
from sixbench.plan.yaml_source import parse_yaml

SIZES = (2, 15, 20, 40, 100, 1000)
PEER_SIZES = (2, 20, 40)
TARGETS = {15: "< 1", 40: "< 2", 1000: "< 60"}
OTHER_SIZES = (1000,)
"""Sizes of networks of other shapes."""
WORDS = ("up", "down")
MEMORY_TARGET_MIB = 4096
MANY_NODES = 100
"""A network of more is built once: the smaller ones tell how much that scatters."""

SETTLING_S, SETTLED_MIB, MOST_SETTLING_S = 0.3, 2, 10
"""Memory has settled where no more than that comes back in such a time; after the longest it is taken as it is."""

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


def bench_scale(hub: AgentHub, table: Table) -> None:
    """Both, in alternation; the seconds, their ratio, and milliseconds for each further node."""
    has_peer = shutil.which("mnexec") is not None
    chains = [Chain(hub, nodes, has_peer and nodes in PEER_SIZES) for nodes in SIZES]
    for chain in chains:
        table.measure(chain.lines, chain.measure, ROUNDS if chain.nodes <= MANY_NODES else 1)
    for word in WORDS:
        show_figures(
            f"each further node {word}, ms", [slope_ms({chain.nodes: chain.ours[word] for chain in chains})], ""
        )
        if theirs := {chain.nodes: chain.theirs[word] for chain in chains if chain.theirs[word]}:
            show_figures(f"each further node {word}, mininet, ms", [slope_ms(theirs)], "")
    show_figures(f"memory of {max(SIZES)} nodes, MiB", chains[-1].memory_mib, f"< {MEMORY_TARGET_MIB}")
    bench_shapes(hub)
    bench_large_plan(table)
    if not has_peer:
        show("mininet is not installed: not compared", "", "", "", "")


class Chain:
    """A chain of so many nodes, ours and mininet's: seconds by word, a value a round.

    Args:
        has_peer: whether mininet builds one, too.
    """

    def __init__(self, hub: AgentHub, nodes: int, has_peer: bool) -> None:
        self.nodes = nodes
        self.ours: dict[str, list[float]] = {word: [] for word in WORDS}
        self.theirs: dict[str, list[float]] = {word: [] for word in WORDS}
        self.memory_mib: list[float] = []
        self._hub = hub
        self._has_peer = has_peer
        # A network that is built once has a line without a verdict, and no further rounds.
        target, most = TARGETS.get(nodes, ""), MOST_ROUNDS if nodes <= MANY_NODES else 1
        self._seconds = {word: Figure(f"{nodes} nodes {word}, s", target, most) for word in WORDS}
        self._ratios = {word: Figure(f"{nodes} nodes {word} / mininet", "< 1") for word in WORDS}

    @property
    def lines(self) -> list[Figure]:
        """All of it."""
        return [figures[word] for word in WORDS for figures in (self._seconds, self._ratios)]

    def measure(self) -> None:
        """A round."""
        if self.nodes > MANY_NODES:
            settle_memory()
        up, down, used_mib = our_chain(self._hub, self.nodes)
        self.memory_mib.append(used_mib)
        theirs = mininet_chain(self.nodes) if self._has_peer else (None, None)
        for word, seconds, other in zip(WORDS, (up, down), theirs, strict=True):
            self.ours[word].append(seconds)
            self._seconds[word].values.append(seconds)
            if other is not None:
                self.theirs[word].append(other)
                self._ratios[word].values.append(seconds / other)


def bench_shapes(hub: AgentHub) -> None:
    """A star, a tree and a network like the internet's: the work of their routes, and the time and memory of all."""
    for name, text_of in OTHER_SHAPES.items():
        for nodes in OTHER_SIZES:
            topology = topology_of(text_of(nodes))
            what = f"{name} of {len(topology.nodes)} nodes"
            show_figures(f"{what}: routes, s", [timed(lambda topology=topology: all_routes(topology))], "")
            settle_memory()
            up, down, used_mib = our_network(hub, text_of(nodes))
            show_figures(f"{what} up, s", [up], TARGETS[nodes])
            show_figures(f"{what} down, s", [down], TARGETS[nodes])
            show_figures(f"{what}: memory, MiB", [used_mib], f"< {MEMORY_TARGET_MIB}")


def bench_large_plan(table: Table) -> None:
    """From the file's text to the last of 100,000 trials."""

    def expand() -> None:
        count = sum(1 for _ in all_trials(read_experiment(parse_yaml(LARGE_PLAN, "bench.yaml"), MECHANISMS)))
        assert count == 100_000, count

    took = Figure("plan of 100,000 trials, s", "< 1")
    table.measure([took], lambda: took.values.append(timed(expand)), ROUNDS)


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
    lines = "".join(f"  - {{endpoints: [n{item}, n{other}]}}\n" for item, other in links)
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
    blueprint = Blueprint(topology=topology_of(text))
    before_mib = available_mib()
    started = time.perf_counter()
    laboratory = brought_up(hub, blueprint)
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


def slope_ms(seconds: dict[int, list[float]]) -> float:
    """Slope of the straight line through the medians, by nodes."""
    return statistics.linear_regression([*seconds], [*map(statistics.median, seconds.values())]).slope * 1000


def settle_memory() -> None:
    """Waits until the kernel has given back what the network before had: it frees namespaces after they are gone."""
    before_mib, deadline_s = available_mib(), time.monotonic() + MOST_SETTLING_S
    while time.monotonic() < deadline_s:
        time.sleep(SETTLING_S)
        now_mib = available_mib()
        if now_mib < before_mib + SETTLED_MIB:
            return
        before_mib = now_mib


def available_mib() -> float:
    """Memory that the machine has available."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("MemAvailable")).split()[1]) / 1024
