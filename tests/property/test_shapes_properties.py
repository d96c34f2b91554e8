"""Shapes of any size make networks: connected, with names and addresses of their own."""

from __future__ import annotations

from ipaddress import collapse_addresses
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sixbench.model.routing import all_routes, routes
from sixbench.model.topology import Topology
from sixbench.plan.experiment_file import read_topology_only
from sixbench.plan.shapes import SHAPES
from sixbench.plan.yaml_source import parse_yaml

pytestmark = pytest.mark.computes

SIZES: dict[str, st.SearchStrategy[str]] = {
    "chain": st.integers(2, 60).map(str),
    "line": st.integers(2, 60).map(lambda nodes: f"{{nodes: {nodes}}}"),
    "star": st.integers(2, 60).map(str),
    "tree": st.tuples(st.integers(1, 3), st.integers(2, 5)).map(
        lambda size: f"{{depth: {size[0]}, fanout: {size[1]}}}"
    ),
    "ring": st.integers(3, 30).map(str),
    "mesh": st.one_of(
        st.integers(2, 12).map(str),
        st.tuples(st.integers(4, 12), st.integers(1, 2)).map(
            lambda size: f"{{routers: {size[0]}, degree: {2 * size[1] - 2 or 2}}}"
        ),
    ),
}


@st.composite
def shapes(draw: st.DrawFn) -> Topology:
    name = draw(st.sampled_from(sorted(SHAPES)))
    names = draw(st.sampled_from(["", ", names: pc", ", names: n-"]))
    prefix = draw(st.sampled_from(["", ", ipv4: 10.0.0.0/24", ", ipv4: 10.1.2.0/30", ', ipv6: "2001:db8::/56"']))
    text = f"{{{name}: {draw(SIZES[name])}{names}{prefix}}}"
    return read_topology_only(parse_yaml(text, "shape.yaml"))


def test_every_shape_is_tried() -> None:
    assert set(SIZES) == set(SHAPES)


@settings(max_examples=60)
@given(shapes())
def test_a_shape_is_a_connected_network(topology: Topology) -> None:
    first = next(iter(topology.nodes))
    assert set(topology.ways(first)) | {first} == set(topology.nodes)
    assert sum(node.kind == "host" for node in topology.nodes.values()) >= 2
    assert len({link.name for link in topology.links}) == len(topology.links)
    joined = {frozenset(end.node for end in link.ends) for link in topology.links}
    assert len(joined) == len(topology.links)


@settings(max_examples=60)
@given(shapes())
def test_its_addresses_are_disjoint(topology: Topology) -> None:
    for family in ("ipv4", "ipv6"):
        ends = [getattr(end, family) for link in topology.links for end in link.ends]
        assert len({end.ip for end in ends}) == len(ends)
        networks: list[Any] = sorted({end.network for end in ends})
        assert len(networks) == len(topology.links)
        assert all(item.broadcast_address < other.network_address for item, other in pairwise(networks))


@settings(max_examples=40)
@given(shapes())
def test_its_routes_lead_to_what_there_is_and_to_nothing_else(topology: Topology) -> None:
    """Aggregated: prefixes of the network that are not a node's own, all of them, each once."""
    for name, all_route in all_routes(topology).items():
        for version in (4, 6):
            prefixes: list[Any] = [route.prefix for route in all_route if route.family == version]
            if prefixes in ([], [None]):
                continue
            everything: set[Any] = {link.ends[0].address(version).network for link in topology.links}  # type: ignore[arg-type, union-attr]
            networks = {link.ends[0].address(version).network for link in topology.links_of(name)}  # type: ignore[arg-type, union-attr]
            assert list(collapse_addresses(prefixes)) == list(collapse_addresses(everything - networks))
            assert sum(prefix.num_addresses for prefix in prefixes) == sum(
                network.num_addresses for network in everything - networks
            )


@settings(max_examples=40)
@given(shapes())
def test_the_routes_of_all_nodes_at_once_are_those_of_each_by_itself(topology: Topology) -> None:
    assert all_routes(topology) == {
        name: [*routes(topology, name, 4), *routes(topology, name, 6)] for name in topology.nodes
    }
