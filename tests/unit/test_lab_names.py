"""The names of nodes, as a hosts file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sixbench.lab.names import hosts_file
from sixbench.mechanisms import install
from sixbench.model.experiment import Experiment
from sixbench.model.network import Blueprint
from sixbench.model.node_names import viewers

pytestmark = pytest.mark.computes

TEXT = """\
topology:
  nodes: {client: host, r1: router, r2: router, server: host}
  links:
    - {endpoints: [client, r1]}
    - {endpoints: [r1, r2]}
    - {endpoints: [r2, server]}
between: [client, server]
paths: {ipv4: native4, routers: {6in4: [r1, r2]}, hosts: {6in4: [client, server]}}
workloads: [ping]
"""


def names_of(text: str) -> dict[str, list[str]]:
    """The addresses of each name, in the order of the file."""
    collected: dict[str, list[str]] = {}
    for line in text.splitlines():
        address, *names = line.split()
        for name in names:
            collected.setdefault(name, []).append(address)
    return collected


@pytest.fixture
def network(read: Callable[[str], Experiment]) -> Callable[[str], Any]:
    experiment = read(TEXT)
    return lambda path: install(experiment.path(path), experiment.topologies[0], experiment.between)


def test_a_node_has_an_address_of_each_family_and_a_name_for_each_interface(
    read: Callable[[str], Experiment],
) -> None:
    names = names_of(hosts_file(Blueprint(topology=read(TEXT).topologies[0]), "thishost"))
    assert names["server"] == ["198.18.2.2", "2001:2:0:2::2"]
    assert names["r1"] == ["198.18.0.2", "2001:2::2"]
    assert names["r1-eth1"] == ["198.18.1.1", "2001:2:0:1::1"]
    assert names["localhost"] == ["127.0.0.1", "::1"]
    assert names["thishost"] == ["127.0.1.1"]


def test_the_ends_of_an_installed_path_come_first(network: Callable[[str], Any]) -> None:
    actual_network = network("hosts")
    names = names_of(hosts_file(actual_network, ""))
    assert str(actual_network.legs[-1].destination) in names["server"]
    assert str(actual_network.legs[0].source) in names["client"]
    assert [len(names[node]) for node in ("client", "server")] == [2, 2]
    routers = names_of(hosts_file(network("routers"), ""))
    assert (
        routers["server"] == ["198.18.2.2", "2001:2:0:2::2"]
        or str(network("routers").legs[0].destination) in routers["server"]
    )


def test_a_node_that_is_called_like_this_machine_is_meant(read: Callable[[str], Experiment]) -> None:
    names = names_of(hosts_file(Blueprint(topology=read(TEXT).topologies[0]), "server"))
    assert names["server"] == ["198.18.2.2", "2001:2:0:2::2"]


TRANSLATED = """\
topology:
  nodes: {h1: host, r1: router, r2: router, h2: host}
  links: [{endpoints: [h1, r1]}, {endpoints: [r1, r2]}, {endpoints: [r2, h2]}]
between: [h1, h2]
paths:
  nat64: {nat64: [r2]}
  siit: {siit: [r1]}
  clat: {464xlat: [h1, r2]}
  map-t: {map-t: [r1, r2]}
workloads: [ping]
"""


@pytest.mark.parametrize(
    ("path", "viewer", "name", "addresses"),
    [
        ("nat64", "h1", "h2", ["2001:db8:64::c612:202"]),
        ("nat64", "r1", "h2", ["2001:db8:64::c612:202"]),
        ("nat64", "h2", "h2", ["198.18.2.2"]),
        ("siit", "h1", "h2", ["2001:db8:64::c612:202"]),
        ("siit", "h2", "h1", ["192.0.2.1"]),
        ("siit", "r2", "h1", ["192.0.2.1"]),
        ("clat", "h1", "h2", ["198.18.2.2"]),
        ("map-t", "h1", "h2", ["198.18.2.2"]),
        ("map-t", "h2", "h1", ["192.0.2.1"]),
    ],
)
def test_across_a_translator_a_host_has_the_address_by_which_it_is_reached(
    read: Callable[[str], Experiment], path: str, viewer: str, name: str, addresses: list[str]
) -> None:
    experiment = read(TRANSLATED)
    network = install(experiment.path(path), experiment.topologies[0], experiment.between)
    assert names_of(hosts_file(network, "", viewer))[name] == addresses
    # Where the other side is behind a NAT, its own address stays: the NAT's would lead to another node.
    if path == "nat64":
        assert names_of(hosts_file(network, "", "h2"))["h1"] == ["2001:2::1"]


def test_only_nodes_on_a_translated_path_may_have_names_of_their_own(read: Callable[[str], Experiment]) -> None:
    """Files of other nodes are not made, so that a lab of hundreds of nodes comes up at once."""
    experiment = read(TRANSLATED)
    for path in experiment.paths:
        network = install(path, experiment.topologies[0], experiment.between)
        others = [node for node in network.topology.nodes if node not in viewers(network)]
        assert {hosts_file(network, "", node) for node in others} <= {hosts_file(network, "")}
    large = read("topology: {star: 300}\npaths: {ipv6: native6}\nworkloads: [ping]\n")
    assert viewers(install(large.paths[0], large.topologies[0], large.between)) == set()
