"""Mechanisms with services of nodes besides their tunnels: ISATAP, 6over4, DS-Lite, the tunnel broker."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Interface, IPv6Network

import pytest
from forwarding import Forwarding, steps_back, steps_of
from installed import Installed, check_both_ways, ends, of, routes_of, stacks

from sixbench.lab.render import render_path
from sixbench.mechanisms import MechanismError, install
from sixbench.mechanisms.isatap import identified
from sixbench.mechanisms.sixover4 import multicast_group, own_address
from sixbench.model.experiment import Experiment
from sixbench.model.path import Path

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]


@pytest.mark.parametrize(
    ("ipv4", "address"),
    [
        ("10.1.0.25", "2001:db8::5efe:a01:19/64"),
        ("192.168.1.1", "2001:db8::5efe:c0a8:101/64"),
        ("172.31.255.1", "2001:db8::5efe:ac1f:ff01/64"),
        ("172.32.0.1", "2001:db8::200:5efe:ac20:1/64"),
        ("198.18.0.1", "2001:db8::200:5efe:c612:1/64"),
    ],
)
def test_isatap_identifiers_tell_private_addresses_from_global_ones(ipv4: str, address: str) -> None:
    """RFC 5214 section 6.1: the universal bit is set where the IPv4 address is globally unique."""
    assert identified(IPv6Network("2001:db8::/64"), IPv4Address(ipv4)) == IPv6Interface(address)


def test_isatap_hosts_and_their_router(installed: Installed) -> None:
    links = "h1-r1 h3-r1 r1-r2 r2-h2"
    network = installed("isatap", "h1", "h3", "r2", links=links)
    assert stacks(network) == ["ipv4 ipv6", "ipv4 ipv6", "ipv6"]
    assert ends(network) == ("2001:db8::200:5efe:c612:1", "2001:2:0:3::2")
    assert {tunnel.node: tunnel.mapping["routers"] for tunnel in network.tunnels} == {
        "h1": ["198.18.2.2"],
        "h3": ["198.18.2.2"],
        "r2": [],
    }
    assert "2001:2:0:3::/64 via fe80::200:5efe:c612:202 dev isatap-1" in routes_of(network, "h1")
    check_both_ways(network)
    within = installed("isatap", "h1", "h3", "r2", links=links, between=("h1", "h3"))
    assert stacks(within) == ["ipv4 ipv6", "ipv4 ipv6"]
    check_both_ways(within)


def test_isatap_hosts_have_their_address_of_what_the_router_advertises(installed: Installed) -> None:
    network = installed("isatap", "h1", "r2")
    advertised, solicited = network.stages
    [advertise] = advertised["r2"].requests
    assert advertise.op == "router-advertise"
    assert [prefix["prefix"] for prefix in advertise.fields["prefixes"]] == ["2001:db8::/64"]
    assert advertise.fields["mtu_bytes"] == 1480
    [solicit] = solicited["h1"].requests
    assert solicit.op == "router-solicit"
    assert solicited["h1"].ip == ("address add 2001:db8::200:5efe:c612:1/64 dev isatap-1 nodad",)
    assert not render_path(network, "user")["h1"].made_addresses
    right = {
        "router": "fe80::200:5efe:c612:102",
        "prefixes": [{"prefix": "2001:db8::/64", "autonomous": True}],
    }
    assert solicit.check(right) is None
    assert "fe80::1 advertised itself" in (solicit.check(right | {"router": "fe80::1"}) or "")
    assert "advertised no prefix" in (solicit.check(right | {"prefixes": []}) or "")
    off = {"prefixes": [{"prefix": "2001:db8::/64", "autonomous": False}]}
    assert "advertised no prefix" in (solicit.check(right | off) or "")


@pytest.mark.parametrize(
    ("group", "ipv4"),
    [
        ("ff02::1", "239.192.0.1"),
        ("ff02::2", "239.192.0.2"),
        ("ff02::1:ff12:1", "239.192.0.1"),
        ("ff02::1:ff01:19", "239.192.0.25"),
        ("ff02::1:ff00:ffff", "239.192.255.255"),
        ("ff0e::1234:abcd", "239.192.171.205"),
    ],
)
def test_an_ipv6_group_is_an_ipv4_group_of_its_last_two_octets(group: str, ipv4: str) -> None:
    """RFC 2529 section 6."""
    assert multicast_group(IPv6Address(group)) == IPv4Address(ipv4)


def test_6over4_addresses_end_in_the_ipv4_address() -> None:
    """RFC 2529 section 4: the interface identifier is the IPv4 address, padded with zeros."""
    assert own_address(IPv4Address("141.217.17.26")) == IPv6Interface("2001:db8::8dd9:111a/64")


def test_6over4_between_hosts(installed: Installed) -> None:
    network = installed("6over4", "h1", "h2")
    assert stacks(network) == ["ipv4 ipv6"] * 3
    assert ends(network) == ("2001:db8::c612:1", "2001:db8::c612:202")
    assert {tunnel.node: tunnel.mapping for tunnel in network.tunnels} == {
        "h1": {"kind": "6over4", "groups": ["239.192.0.1"]},
        "h2": {"kind": "6over4", "groups": ["239.192.0.1", "239.192.2.2"]},
    }
    forwarding, routes = network.stages
    assert {node: stage.requests[0].fields for node, stage in forwarding.items()} == {
        node: {"interfaces": ["eth0", "eth1"], "groups": ["239.192.0.0/16"]} for node in ("r1", "r2")
    }
    assert {node: stage.ip for node, stage in routes.items()} == dict.fromkeys(
        ("h1", "h2"), ("route add 239.192.0.0/16 dev eth0",)
    )
    check_both_ways(network)


def test_a_router_on_the_virtual_ethernet_listens_to_all_routers(installed: Installed) -> None:
    network = installed("6over4", "h1", "r2", links="h1-r1 r1-r2 r2-h2")
    assert stacks(network) == ["ipv4 ipv6", "ipv4 ipv6", "ipv6"]
    groups = {tunnel.node: tunnel.mapping["groups"] for tunnel in network.tunnels}
    assert "239.192.0.2" in groups["r2"]
    assert "239.192.0.2" not in groups["h1"]
    assert set(network.stages[0]) == {"r1"}
    check_both_ways(network)


def test_others_reach_a_6over4_host_by_the_router_on_its_ethernet(installed: Installed) -> None:
    """The nearest link of its prefix may lead to another host, which does not forward."""
    links = "h2-r1 r0-h3 r2-r0 h0-r2 h1-r0 r0-r1"
    network = installed("6over4", "h3", "h1", "r2", links=links, between=("h0", "h3"))
    check_both_ways(network)


HOMES = "h1-r1 h2-r2 r1-r9 r2-r9 r9-h9"


def test_subscribers_with_the_same_addresses(installed: Installed) -> None:
    first = installed("ds-lite", "r1", "r2", "r9", links=HOMES, between=("h1", "h9"))
    second = installed("ds-lite", "r1", "r2", "r9", links=HOMES, between=("h2", "h9"))
    assert ends(first) == ends(second) == ("192.168.1.1", "198.18.4.2")
    assert str(first.legs[-1].source) == "198.18.4.1"
    assert of(first, "h1") == {"eth0": ("192.168.1.1/24", "2001:2::1/64")}
    assert of(first, "h2") == {"eth0": ("192.168.1.1/24", "2001:2:0:1::1/64")}
    assert of(first, "r1")["ds-lite-1"] == of(first, "r2")["ds-lite-2"] == ("192.0.0.2/29", None)
    assert of(first, "r9")["ds-lite-1"] == of(first, "r9")["ds-lite-2"] == ("192.0.0.1/29", None)
    assert stacks(first) == ["ipv4", "ipv6 ipv4", "ipv4"]
    for network, device in ((first, "ds-lite-1"), (second, "ds-lite-2")):
        inside, outside = network.legs
        assert (inside.far, outside.near) == ("r9", "r9")
        forwarding = Forwarding(network)
        assert forwarding.there() == steps_of(network.crossings)
        back = forwarding.follow("h9", outside.destination, outside.source)
        back += forwarding.follow_through(device, "r9", inside.destination, inside.source, 63)
        assert back == steps_back(network.crossings)


def test_the_aftr_translates_by_softwire(installed: Installed) -> None:
    network = installed("ds-lite", "r1", "r2", "r9", links=HOMES, between=("h1", "h9"))
    [stages] = network.stages
    assert set(stages) == {"r9"}
    aftr = stages["r9"]
    for number in (1, 2):
        assert f"route add default via 192.0.0.2 dev ds-lite-{number} table {100 + number}" in aftr.ip
        assert f"rule add fwmark {number} lookup {100 + number} priority {100 + number}" in aftr.ip
        assert f'iifname "ds-lite-{number}" ct original zone set {number}' in aftr.nft
        assert f'iifname "ds-lite-{number}" ct mark set {number}' in aftr.nft
    assert "ct mark != 0 ct direction original masquerade" in aftr.nft
    # Nobody but a subscriber's own nodes has routes to private addresses.
    for node in ("r9", "h9"):
        assert not [line for line in routes_of(network, node) if line.startswith(("192.168.", "192.0.0."))]


def test_a_home_of_several_links_and_a_subscriber_without(installed: Installed) -> None:
    home = installed("ds-lite", "r1", "r9", links="h1-r5 r5-r1 r1-r9 r9-h2")
    assert ends(home) == ("192.168.1.1", "198.18.3.2")
    assert of(home, "r1")["eth0"][0] == "192.168.2.2/24"
    assert stacks(home) == ["ipv4", "ipv4", "ipv6 ipv4", "ipv4"]
    check_both_ways(home)
    alone = installed("ds-lite", "h1", "r2")
    assert ends(alone) == ("192.0.0.2", "198.18.2.2")
    assert stacks(alone) == ["ipv6 ipv4", "ipv6 ipv4", "ipv4"]
    check_both_ways(alone)


@pytest.mark.parametrize(("client", "server"), [("h9", "h1"), ("h1", "h2")])
def test_connections_begin_at_a_subscriber_and_lead_out(installed: Installed, client: str, server: str) -> None:
    with pytest.raises(MechanismError, match="connections begin behind a B4"):
        installed("ds-lite", "r1", "r2", "r9", links=HOMES, between=(client, server))


def test_a_client_asks_a_broker_for_its_tunnel(installed: Installed) -> None:
    network = installed("tunnel-broker", "h1", "r2")
    assert ends(network) == ("2001:db8:b00::2", "2001:2:0:2::2")
    offered, asked = network.stages
    [start], [ask] = offered["r2"].requests, asked["h1"].requests
    assert (start.op, ask.op) == ("broker-start", "broker-request")
    assert start.fields["clients"] == [ask.fields["local"]] == ["198.18.0.1"]
    assert start.fields["address"] == ask.fields["broker"] == "198.18.1.2"
    assert start.fields["token"] == ask.fields["token"]
    assert len(bytes.fromhex(ask.fields["token"])) == 16
    assert start.fields["pool"] == "2001:db8:b00::/48"
    assert (ask.fields["port"].node, ask.fields["port"].op, ask.fields["port"].field) == ("r2", "broker-start", "port")
    assert start.undo is not None
    assert ask.undo is not None
    assert (start.undo.op, ask.undo.op, ask.undo.fields) == ("broker-stop", "broker-release", {"device": "broker-1"})
    assert ask.check({"device": "broker-1", "address": "2001:db8:b00::2/64"}) is None
    assert "2001:db8:b00:1::2/64" in (ask.check({"device": "broker-1", "address": "2001:db8:b00:1::2/64"}) or "")
    # Neither end is made beforehand, nor has it an address before it is there.
    assert all(tunnel.made_by for tunnel in network.tunnels)
    scripts = render_path(network, "ebpf")
    assert not any(script.first_devices or script.made_addresses for script in scripts.values())
    check_both_ways(network)


@pytest.mark.parametrize("engine", [None, "ebpf", "user"])
def test_a_broker_makes_tunnels_by_the_engine_of_the_path(installed: Installed, read: Read, engine: str | None) -> None:
    topology = installed("native4").topology
    path = Path(name="p", mechanism="tunnel-broker", family=6, nodes=("r1", "r2"), engine=engine, options={"ttl": 9})
    network = install(path, topology, ("h1", "h2"))
    for stage in network.stages:
        [request] = [stage.requests[0] for stage in stage.values()]
        assert request.fields["tunnel"].get("engine") == engine
        assert (request.fields["tunnel"]["ttl"], request.fields["tunnel"]["pmtu"]) == (9, "static")
