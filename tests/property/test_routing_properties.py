"""Properties of every network: its addresses, and the routes that follow from its links."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sixbench.lab.render import render
from sixbench.model.routing import all_routes, routes
from sixbench.model.topology import Interface, Link, Node, Topology
from sixbench.plan.addressing import link_ipv4, link_ipv6

pytestmark = pytest.mark.computes


@given(st.sets(st.integers(0, 1999), min_size=2, max_size=60))
def test_addresses_are_unique(indices: set[int]) -> None:
    links = max(indices) + 1
    addresses = [end.ip for index in indices for end in (*link_ipv4(index, links), *link_ipv6(index))]
    assert len(set(addresses)) == len(addresses)
    networks = {end.network for index in indices for end in (*link_ipv4(index, links), *link_ipv6(index))}
    assert len(networks) == 2 * len(indices)


@st.composite
def networks(draw: st.DrawFn) -> Topology:
    """Routers that are connected in one way or another, some of them twice, and hosts with one or two links each."""
    routers = draw(st.integers(1, 7))
    pairs = [(draw(st.integers(0, index - 1)), index) for index in range(1, routers)]
    if routers > 1:
        ends = st.integers(0, routers - 1)
        pairs += [pair for pair in draw(st.lists(st.tuples(ends, ends), max_size=8)) if pair[0] != pair[1]]
    named = [(f"r{item}", f"r{other}") for item, other in pairs]
    hosts = draw(st.integers(2, 4))
    for host in range(hosts):
        for router in draw(st.lists(st.integers(0, routers - 1), min_size=1, max_size=2)):
            named.append((f"h{host}", f"r{router}"))
    links = draw(st.permutations([draw(st.permutations(pair)) for pair in named]))
    nodes = {f"r{index}": Node(name=f"r{index}", kind="router") for index in range(routers)}
    nodes |= {f"h{index}": Node(name=f"h{index}", kind="host") for index in range(hosts)}
    networks = []
    count = dict.fromkeys(nodes, 0)
    for index, (item, other) in enumerate(links):
        both = []
        for name, ipv4, ipv6 in zip((item, other), link_ipv4(index), link_ipv6(index), strict=True):
            both.append(Interface(node=name, name=f"eth{count[name]}", ipv4=ipv4, ipv6=ipv6))
            count[name] += 1
        networks.append(Link(name=f"l{index}", ends=(both[0], both[1]), mtu_bytes=1500))
    return Topology(nodes=nodes, links=tuple(networks))


@given(networks())
def test_the_routes_of_all_nodes_at_once_are_those_of_each_by_itself(topology: Topology) -> None:
    """Also with one link alone for each host, where bridges are used."""
    kept = {}
    for link in topology.links:
        for end in link.ends:
            kept.setdefault(end.node, link)
    hosts = {name for name, node in topology.nodes.items() if node.kind == "host"}
    links = tuple(
        link for link in topology.links if all(end.node not in hosts or kept[end.node] is link for end in link.ends)
    )
    for item in (topology, replace(topology, links=links)):
        assert all_routes(item) == {name: [*routes(item, name, 4), *routes(item, name, 6)] for name in item.nodes}


class Forwarding:
    """Follows the addresses and routes that the rendered scripts give every node, and nothing else."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.device_by_address: dict[str, dict[Any, str]] = {}
        self.table: dict[str, list[tuple[IPv4Network | IPv6Network, Any, str]]] = {}
        for name, script in render(topology).items():
            self.device_by_address[name] = {}
            self.table[name] = []
            for line in script.devices:
                match line.split():
                    case ["address", "add", address, "dev", device, *_]:
                        self.device_by_address[name][ip_address(address.split("/")[0])] = device
                        self.table[name].append((ip_network(address, strict=False), None, device))
            for line in script.routes:
                match line.split():
                    case ["route", "add", prefix, "via", gateway, "dev", device]:
                        via = ip_address(gateway)
                        anywhere = "0.0.0.0/0" if via.version == 4 else "::/0"
                        self.table[name].append((ip_network(anywhere if prefix == "default" else prefix), via, device))
                    case _:
                        raise AssertionError(f"no route: {line}")

    def follow(self, source: str, destination: Any) -> list[str]:
        """The links from a node to an address."""
        at, links = source, []
        while destination not in self.device_by_address[at]:
            assert at == source or self.topology.nodes[at].kind == "router", f"{at} does not forward"
            assert len(links) < 30, "in a circle"
            fitting = [
                entry for entry in self.table[at] if entry[0].version == destination.version and destination in entry[0]
            ]
            assert fitting, f"{at} has no route to {destination}"
            _, via, device = max(fitting, key=lambda entry: entry[0].prefixlen)
            link = next(link for link in self.topology.links_of(at) if link.end_of(at).name == device)
            at = link.other_end(at).node
            assert via is None or via in self.device_by_address[at], (
                f"the gateway {via} is not at the other end of {link.name}"
            )
            links.append(link.name)
        return links


@settings(max_examples=60)
@given(networks())
def test_every_host_reaches_every_host_and_the_answer_takes_the_same_way(topology: Topology) -> None:
    forwarding = Forwarding(topology)
    hosts = [name for name, node in topology.nodes.items() if node.kind == "host"]
    for client in hosts:
        for server in hosts:
            if client == server:
                continue
            route = topology.route(client, server)
            assert route is not None
            names = [link.name for link in route]
            near, far = route[0].end_of(client), route[-1].end_of(server)
            for family in ("ipv4", "ipv6"):
                assert forwarding.follow(client, getattr(far, family).ip) == names
                assert forwarding.follow(server, getattr(near, family).ip) == names[::-1]


@settings(max_examples=60)
@given(networks())
def test_every_host_reaches_every_address(topology: Topology) -> None:
    forwarding = Forwarding(topology)
    for client in (name for name, node in topology.nodes.items() if node.kind == "host"):
        for link in topology.links:
            for end in link.ends:
                assert end.ipv6 is not None
                forwarding.follow(client, end.ipv4.ip)
                forwarding.follow(client, end.ipv6.ip)
