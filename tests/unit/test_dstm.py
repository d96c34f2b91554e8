"""DSTM in a network: who leases which address, and when tunnels are made."""

from __future__ import annotations

import pytest
from forwarding import Forwarding
from installed import Installed, check_both_ways, ends, of, routes_of, stacks

from sixbench.lab.render import render_path
from sixbench.mechanisms import MechanismError
from sixbench.model.network import Network

pytestmark = pytest.mark.computes

SITE = "h1-r1 h3-r1 r1-r2 r2-r3 r3-h2"


@pytest.fixture
def two(installed: Installed) -> Network:
    """Two hosts behind a router, the tunnel end point, and the IPv4 network behind it."""
    return installed("dstm", "h1", "h3", "r2", links=SITE)


def test_hosts_have_addresses_of_the_pool_and_servers_see_them(installed: Installed, two: Network) -> None:
    assert stacks(two) == ["ipv6 ipv4", "ipv6 ipv4", "ipv4", "ipv4"]
    assert ends(two) == ("192.0.2.2", "198.18.4.2")
    assert len(two.legs) == 1
    assert of(two, "h1") == {"eth0": (None, "2001:2::1/64"), "dstm-1": ("192.0.2.2/32", None)}
    assert of(two, "h3")["dstm-2"] == ("192.0.2.3/32", None)
    assert of(two, "r2")["dstm-1"] == of(two, "r2")["dstm-2"] == ("192.0.2.1/28", None)
    assert {(tunnel.node, str(tunnel.local), tunnel.mapping["remote"]) for tunnel in two.tunnels} == {
        ("h1", "2001:2::1", "2001:2:0:2::2"),
        ("r2", "2001:2:0:2::2", "2001:2::1"),
        ("h3", "2001:2:0:1::1", "2001:2:0:2::2"),
        ("r2", "2001:2:0:2::2", "2001:2:0:1::1"),
    }
    assert {tunnel.mtu_bytes for tunnel in two.tunnels} == {1460}
    check_both_ways(two)
    check_both_ways(installed("dstm", "h1", "h3", "r2", links=SITE, between=("h2", "h3")))
    within = installed("dstm", "h1", "h3", "r2", links=SITE, between=("h1", "h3"))
    assert ends(within) == ("192.0.2.2", "192.0.2.3")
    check_both_ways(within)


def test_the_ipv4_network_has_one_route_to_the_pool_and_the_end_point_one_to_each_host(two: Network) -> None:
    assert [line for line in routes_of(two, "h1") if ":" not in line] == ["default via 192.0.2.1 dev dstm-1 onlink"]
    assert [line for line in routes_of(two, "r3") if line.startswith("192.")] == [
        "192.0.2.0/28 via 198.18.3.1 dev eth0"
    ]
    routes = [line for line in routes_of(two, "r2") if line.startswith("192.")]
    assert routes == ["192.0.2.2/32 dev dstm-1", "192.0.2.3/32 dev dstm-2"]
    assert "route replace unreachable 192.0.2.0/28" in two.stages[-1]["r2"].ip
    assert not [line for line in routes_of(two, "r1") if ":" not in line]
    assert Forwarding(two).there()[-1][2] == "h2"


def test_tunnels_are_made_when_their_host_has_its_address(two: Network) -> None:
    scripts = render_path(two, "user")
    assert not any(script.first_devices or script.made_addresses for script in scripts.values())
    done = [
        (name, *(request.op for request in stage.requests), *stage.ip)
        for stages in zip(*(script.stages for script in scripts.values()), strict=True)
        for name, stage in zip(scripts, stages, strict=True)
        if stage.requests or stage.ip
    ]
    assert done == [
        ("r2", "broker-start"),
        ("h1", "broker-request"),
        ("h1", "tunnel-add", "address add 192.0.2.2/32 dev dstm-1"),
        ("r2", "tunnel-add", "address add 192.0.2.1/28 dev dstm-1"),
        ("h3", "broker-request"),
        ("h3", "tunnel-add", "address add 192.0.2.3/32 dev dstm-2"),
        ("r2", "tunnel-add", "address add 192.0.2.1/28 dev dstm-2"),
        ("r2", "route replace unreachable 192.0.2.0/28"),
    ]
    linux = render_path(two, "kernel")["h1"].stages[2]
    assert linux.ip[0].startswith("link add dstm-1 type ip6tnl mode ipip6 local 2001:2::1 remote 2001:2:0:2::2 ")
    assert linux.ip[-1] == "address add 192.0.2.2/32 dev dstm-1"


def test_hosts_ask_the_server_that_is_named(installed: Installed) -> None:
    network = installed("dstm", "h1", "h3", "r2", links=SITE, server="r1", pool="203.0.113.0/29", lease=90_000_000_000)
    [start] = network.stages[0]["r1"].requests
    assert start.fields["address"] == "2001:2::2"
    assert start.fields["clients"] == ["2001:2::1", "2001:2:0:1::1"]
    assert start.fields["addresses"] == {
        "first": "203.0.113.2",
        "last": "203.0.113.6",
        "gateway": "203.0.113.1",
        "end_points": {"2001:2::1": "2001:2:0:2::2", "2001:2:0:1::1": "2001:2:0:2::2"},
    }
    assert (start.fields["lifetime_s"], start.fields["max_clients"]) == (90, 5)
    [ask] = network.stages[2]["h3"].requests
    assert (ask.fields["broker"], ask.fields["local"]) == ("2001:2::2", "2001:2:0:1::1")
    assert "tunnel" not in ask.fields
    assert start.fields["token"] == ask.fields["token"]
    right = {"address": "203.0.113.3/32", "remote": "2001:2:0:2::2"}
    assert ask.check(right) is None
    assert "203.0.113.2/32, where 203.0.113.3/32 was expected" in (
        ask.check(right | {"address": "203.0.113.2/32"}) or ""
    )
    assert "end point 2001:2::9, where" in (ask.check(right | {"remote": "2001:2::9"}) or "")
    assert ask.undo is not None
    assert start.undo is not None
    assert (ask.undo.op, ask.undo.fields, start.undo.op) == ("broker-release", {"device": "dstm-2"}, "broker-stop")


@pytest.mark.parametrize(("count", "pool"), [(1, "192.0.2.0/30"), (2, "192.0.2.0/29"), (5, "192.0.2.0/29")])
def test_a_pool_has_room_or_is_refused(installed: Installed, count: int, pool: str) -> None:
    hosts = [f"h{number}" for number in range(1, count + 1)]
    links = " ".join([f"{host}-r1" for host in hosts] + ["r1-r2", "r2-h9"])
    network = installed("dstm", *hosts, "r2", links=links, between=("h1", "h9"), pool=pool)
    assert len({end.ipv4 for link in network.topology.links if link.is_tunnel for end in link.ends}) == count + 1
    small = pool.replace("/29", "/30") if count > 1 else pool.replace("/30", "/31")
    with pytest.raises(MechanismError, match=f"give a pool of {pool[-3:]} or larger"):
        installed("dstm", *hosts, "r2", links=links, between=("h1", "h9"), pool=small)


def test_the_end_point_may_be_reached_by_several_of_its_interfaces(installed: Installed) -> None:
    network = installed("dstm", "h1", "h3", "r1", links="h1-r1 h3-r1 r1-h2", between=("h3", "h2"))
    [start] = network.stages[0]["r1"].requests
    assert start.fields["addresses"]["end_points"] == {"2001:2::1": "2001:2::2", "2001:2:0:1::1": "2001:2:0:1::2"}
    assert ends(network) == ("192.0.2.3", "198.18.2.2")
    check_both_ways(network)
