"""The routes of a node: one default route where there is one way out, else to every prefix that is not its own, those
that lie side by side together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from sixbench.mechanisms import MECHANISMS, install
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network
from sixbench.model.path import Path
from sixbench.model.routing import all_routes, routes
from sixbench.model.topology import Family, NodeRoute, Topology

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]


@pytest.fixture
def network(read: Read) -> Callable[..., Topology]:
    """A network from links such as `h1-r1`; hosts are those with an h. Link n has the name `ln`."""

    def make(links: str, mtu: dict[str, int] | None = None) -> Topology:
        names = dict.fromkeys(name for link in links.split() for name in link.split("-"))
        kinds = ", ".join(f"{name}: {'host' if name[0] == 'h' else 'router'}" for name in names)
        lines = [
            f"{{endpoints: [{link.replace('-', ', ')}], name: l{index}, mtu: {(mtu or {}).get(link, 1500)}}}"
            for index, link in enumerate(links.split())
        ]
        text = f"topology: {{nodes: {{{kinds}}}, links: [{', '.join(lines)}]}}\nbetween: [h1, h2]\n"
        return read(f"{text}paths: {{a: native4}}\nworkloads: [ping]\n").topologies[0]

    return make


Make = Callable[..., Topology]


def route_table(topology: Topology, node: str, family: Family = 4) -> dict[str, str]:
    """Prefix to gateway and device."""
    collected = {}
    for route in routes(topology, node, family):
        assert route.family == family
        assert route.link.end_of(node).name == route.device
        collected[str(route.prefix or "default")] = f"{route.gateway} {route.device}"
    return collected


def test_a_node_with_one_way_out_has_a_default_route(network: Make) -> None:
    topology = network("h1-r1 r1-r2 r2-h2 r3-r2")
    assert route_table(topology, "h1") == {"default": "198.18.0.2 eth0"}
    assert route_table(topology, "h1", 6) == {"default": "2001:2::2 eth0"}
    assert route_table(topology, "r3") == {"default": "198.18.3.2 eth0"}


def test_a_node_with_several_has_routes_to_the_prefixes_that_are_not_its_own(network: Make) -> None:
    topology = network("h1-r1 r1-r2 r2-h2 r2-r3 r3-r4")
    assert route_table(topology, "r1") == {"198.18.2.0/23": "198.18.1.2 eth1", "198.18.4.0/24": "198.18.1.2 eth1"}
    assert route_table(topology, "r1", 6) == {
        "2001:2:0:2::/63": "2001:2:0:1::2 eth1",
        "2001:2:0:4::/64": "2001:2:0:1::2 eth1",
    }


def test_prefixes_by_different_links_stay_apart(network: Make) -> None:
    topology = network("h1-r1 r1-r2 r2-h2 r3-h3 r1-r3")
    assert route_table(topology, "r1") == {"198.18.2.0/24": "198.18.1.2 eth1", "198.18.3.0/24": "198.18.4.2 eth2"}


def test_the_gateway_is_on_the_shortest_way_to_the_nearest_end(network: Make) -> None:
    topology = network("h1-r1 r1-r2 r2-r3 r3-r1 r3-h2")
    assert route_table(topology, "r1")["198.18.4.0/24"] == "198.18.3.1 eth2"
    # r2-r3 is as far by either; the way whose last link comes earliest in the file is taken.
    assert route_table(topology, "r1")["198.18.2.0/24"] == "198.18.1.2 eth1"


def test_hosts_are_no_gateways(network: Make) -> None:
    topology = network("h1-r1 r1-h2 h1-r2 r2-h2 r1-r2")
    assert route_table(topology, "r1") == {"198.18.2.0/23": "198.18.4.2 eth2"}
    assert route_table(network("h1-h2"), "h1") == {}
    # A host of two routers asks each for what is nearest to it.
    assert route_table(topology, "h1") == {
        "198.18.1.0/24": "198.18.0.2 eth0",
        "198.18.3.0/24": "198.18.2.2 eth1",
        "198.18.4.0/24": "198.18.0.2 eth0",
    }


def test_each_family_has_its_own_ways(network: Make) -> None:
    """A link too small for IPv6 (RFC 8200 section 5) is no way for it."""
    topology = network("h1-r1 r1-r2 r2-h2 r1-r3 r3-r2", mtu={"r1-r2": 1279})
    assert route_table(topology, "r1")["198.18.2.0/24"] == "198.18.1.2 eth1"
    assert route_table(topology, "r1", 6)["2001:2:0:2::/64"] == "2001:2:0:3::2 eth2"
    assert "2001:2:0:1::/64" not in route_table(topology, "h1", 6) | route_table(topology, "r3", 6)
    assert route_table(network("h1-r1 r1-h2", mtu={"h1-r1": 1000}), "h1", 6) == {}


def test_what_is_out_of_reach_has_no_route(network: Make) -> None:
    topology = network("h1-r1 r1-r2 r2-h2 r3-r4")
    assert "198.18.3.0/24" not in route_table(topology, "r1")
    assert route_table(topology, "r3") == {"default": "198.18.3.2 eth0"}


def test_networks_behind_a_host_have_routes_of_their_own(network: Make) -> None:
    plain = network("h1-r1 r1-r2 r2-h2")
    nodes = {name: replace(node, networks=4 if name in ("h1", "h2") else 1) for name, node in plain.nodes.items()}
    topology = replace(plain, nodes=nodes)
    assert route_table(topology, "h1") == {"default": "198.18.0.2 eth0"}
    behind = {name: route_table(topology, name) for name in ("r1", "r2")}
    for name, gateway, other in (
        ("r1", "198.18.0.1 eth0", "198.18.1.2 eth1"),
        ("r2", "198.18.1.1 eth0", "198.18.2.2 eth1"),
    ):
        for prefix in ("198.19.0.0/25", "198.19.0.128/25", "198.19.1.0/25"):
            assert behind[name][prefix] == gateway
        for prefix in ("198.19.128.0/25", "198.19.128.128/25", "198.19.129.0/25"):
            assert behind[name][prefix] == other
    assert route_table(topology, "r1", 6)["2001:2:0:ff02::/64"] == "2001:2:0:1::2 eth1"
    assert {str(route.prefix) for route in all_routes(topology)["r1"] if route.family == 4} == set(behind["r1"])


def path_in(topology: Topology, mechanism: str, *nodes: str) -> Network:
    path = Path(name="p", mechanism=mechanism, family=MECHANISMS[mechanism].family({}), nodes=nodes)
    return install(path, topology, ("h1", "h2"))


def test_a_gateway_that_is_in_no_prefix_of_the_device_is_on_link(network: Make) -> None:
    """ip-route(8): `onlink`, without which the kernel refuses it; a link-local one needs none."""
    through_relay = path_in(network("h1-r1 r1-r2 r2-h2"), "6rd", "r1", "r2").topology
    assert [(str(route.gateway), route.is_onlink) for route in routes(through_relay, "r1", 6)] == [("::c612:102", True)]
    assert [route.is_onlink for route in routes(through_relay, "r2", 6)] == [False]
    isatap = path_in(network("h1-r1 r1-r2 r2-h2"), "isatap", "h1", "r2").topology
    [default] = routes(isatap, "h1", 6)
    assert (default.prefix, default.gateway.is_link_local, default.is_onlink) == (None, True, False)


def test_a_prefix_that_several_tunnels_share_is_reached_by_a_router(network: Make) -> None:
    """The first link of the prefix here is one between hosts."""
    topology = network("h1-r1 h3-r1 r1-r2 r2-h2")
    shared = path_in(topology, "isatap", "h1", "h3", "r2").topology
    assert route_table(shared, "r2", 6) == {}
    assert route_table(shared, "h2", 6) == {"default": "2001:2:0:3::1 eth0"}
    wider = path_in(network("h1-r1 h3-r1 r1-r2 r2-r3 r3-h2"), "isatap", "h1", "h3", "r2").topology
    assert route_table(wider, "r3", 6)["2001:db8::/64"] == "2001:2:0:3::1 eth0"


def test_private_prefixes_are_known_in_their_own_network_alone(network: Make) -> None:
    topology = path_in(network("h1-r1 h3-r2 r1-r9 r2-r9 r9-h2"), "ds-lite", "r1", "r2", "r9").topology
    assert route_table(topology, "r9") == {}
    assert route_table(topology, "r1") == {"198.18.4.0/24": "192.0.0.1 ds-lite-1"}
    assert route_table(topology, "h1") == {"default": "192.168.1.2 eth0"}
    assert route_table(topology, "h2") == {"default": "198.18.4.1 eth0"}


def test_a_node_without_links_of_a_family_has_no_routes_of_it(network: Make) -> None:
    topology = path_in(network("h1-r1 r1-r2 r2-r3 r3-h2"), "6in4", "r1", "r3").topology
    assert route_table(topology, "r2", 6) == {}
    assert set(route_table(topology, "r2", 4)) == {"198.18.0.0/24", "198.18.3.0/24"}


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ("chain: 100", "chain: 1000"),
        ("star: 100", "star: 1000"),
        ("tree: {depth: 6, fanout: 2}", "tree: {depth: 9, fanout: 2}"),
    ],
)
def test_the_work_grows_with_the_network_and_not_with_its_square(
    read: Read, monkeypatch: pytest.MonkeyPatch, small: str, large: str
) -> None:
    """Ten times (eight times) as many nodes: no search from any of them, and little more than as many routes."""

    def no_search(*_: object) -> dict[str, NodeRoute]:
        raise AssertionError("a search through the whole network, for one node")

    def at(shape: str) -> tuple[int, int]:
        text = f"topology: {{{shape}}}\npaths: {{a: native4}}\nworkloads: [ping]\n"
        topology = read(text).topologies[0]
        with monkeypatch.context() as patch:
            patch.setattr(Topology, "ways", no_search)
            return len(topology.nodes), sum(map(len, all_routes(topology).values()))

    (few, few_routes), (many, many_routes) = at(small), at(large)
    assert many_routes / few_routes < 2 * many / few
