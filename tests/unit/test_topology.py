"""Networks: which way traffic takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sixbench.model.experiment import Experiment
from sixbench.model.topology import Topology

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]


def network(read: Read, nodes: str, *links: str, between: str = "[h1, h2]") -> Topology:
    """A network from `h1 h2 r1` (hosts are those with an h) and links such as `h1 r1`."""
    kinds = ", ".join(f"{name}: {'host' if name[0] == 'h' else 'router'}" for name in nodes.split())
    lines = [f"{{endpoints: [{', '.join(link.split())}], name: l{index}}}" for index, link in enumerate(links)]
    text = f"topology: {{nodes: {{{kinds}}}, links: [{', '.join(lines)}]}}\nbetween: {between}\n"
    return read(text + "paths: {a: native4, b: native6}\nworkloads: [ping]\n").topologies[0]


def names(topology: Topology, source: str, destination: str) -> list[str] | None:
    route = topology.route(source, destination)
    return None if route is None else [link.name for link in route]


def test_the_way_is_the_shortest(read: Read) -> None:
    topology = network(read, "h1 h2 r1 r2 r3", "h1 r1", "r1 r2", "r2 r3", "r3 h2", "r1 r3")
    assert names(topology, "h1", "h2") == ["l0", "l4", "l3"]
    assert names(topology, "h1", "h1") == []
    assert names(topology, "r2", "h1") == ["l1", "l0"]


@pytest.mark.parametrize("order", [(1, 2, 3, 4), (1, 2, 4, 3), (4, 1, 3, 2), (3, 4, 1, 2), (2, 3, 4, 1)])
def test_of_equally_short_ways_the_same_is_taken_there_and_back(read: Read, order: tuple[int, ...]) -> None:
    """Else a trial would see one direction only on its middle link."""
    square = {1: "r1 r2", 2: "r1 r3", 3: "r2 r4", 4: "r3 r4"}
    topology = network(read, "h1 h2 r1 r2 r3 r4", "h1 r1", *(square[number] for number in order), "r4 h2")
    there, back = names(topology, "h1", "h2"), names(topology, "h2", "h1")
    assert there is not None
    assert back == there[::-1]


def test_of_parallel_links_the_first_is_taken(read: Read) -> None:
    topology = network(read, "h1 h2 r1", "h1 r1", "h1 r1", "r1 h2", "h2 r1")
    assert names(topology, "h1", "h2") == ["l0", "l2"]


def test_hosts_do_not_forward(read: Read) -> None:
    topology = network(read, "h1 h2 h3 r1 r2", "h1 h3", "h3 h2", "h1 r1", "r1 r2", "r2 h2")
    assert names(topology, "h1", "h2") == ["l2", "l3", "l4"]
    assert names(topology, "h1", "h3") == ["l0"]


def test_where_no_way_leads(read: Read) -> None:
    topology = network(read, "h1 h2 h3 r1 r2", "h1 r1", "r1 h2", "r2 h3")
    assert names(topology, "h1", "h3") is None
    assert set(topology.ways("h1")) == {"r1", "h2"}


def test_ends_of_a_link(read: Read) -> None:
    topology = network(read, "h1 h2 r1", "h1 r1", "r1 h2")
    link = topology.links[1]
    assert (link.end_of("r1").name, link.other_end("r1").node) == ("eth1", "h2")
    assert (link.end_of("h2").name, link.other_end("h2").node) == ("eth0", "r1")
    assert [link.name for link in topology.links_of("r1")] == ["l0", "l1"]


@pytest.mark.parametrize(
    ("link", "on"),
    [("", True), ("rate: 1Gbit", False), ("rate: 1Gbit, offload: true", True), ("offload: false", False)],
)
def test_what_crosses_a_link_with_a_rate_is_packets(read: Read, link: str, on: bool) -> None:
    text = f"topology: {{nodes: {{h1: host, h2: host}}, links: [{{endpoints: [h1, h2], {link}}}]}}\n"
    experiment = read(text.replace(", }", "}") + "paths: {a: native4}\nworkloads: [ping]\n")
    assert experiment.topologies[0].links[0].offload_on is on


FOUR_ALONE = "topology: {nodes: {h1: host, r1: router, h2: host}, links: [{endpoints: [h1, r1]}, "


@pytest.mark.parametrize(
    "text",
    [
        FOUR_ALONE + "{endpoints: [r1, h2], mtu: 905, ipv6: none}]}\npaths: {nat64: {nat64: [r1]}}\n",
        FOUR_ALONE + "{endpoints: [r1, h2], mtu: [905, 1500], ipv6: none}]}\npaths: {nat64: {nat64: [r1]}}\n",
        "topology: {nodes: {h1: host, h2: host}, links: [{endpoints: [h1, h2], mtu: 905, ipv6: none, name: four}, "
        "{endpoints: [h1, h2], ipv4: none}]}\npaths: {a: native4, b: native6}\n",
    ],
)
def test_a_link_that_carries_no_ipv6_may_be_under_1280(read: Read, text: str) -> None:
    experiment = read(text + "workloads: [ping]\n")
    assert 905 in {link.mtu_bytes for topology in experiment.topologies for link in topology.links}


def test_a_link_that_carries_ipv6_may_not(problems: Callable[[str], list[str]]) -> None:
    text = FOUR_ALONE + "{endpoints: [r1, h2], mtu: 905}]}\npaths: {nat64: {nat64: [r1]}}\nworkloads: [ping]\n"
    [problem] = problems(text)
    assert "too small for IPv6" in problem
