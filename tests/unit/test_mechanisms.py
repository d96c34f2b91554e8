"""Mechanisms in a network: configured tunnels, and everything that all mechanisms share."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from installed import ROW, Installed, check_both_ways, ends, of, routes_of, stacks

from sixbench.mechanisms import MECHANISMS, MechanismError, install
from sixbench.model.device import MAX_DEVICE_NAME
from sixbench.model.experiment import Experiment
from sixbench.model.parameter import Scalar

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]


@pytest.mark.parametrize(
    ("mechanism", "options", "inner", "outer", "mtu_bytes"),
    [
        ("6in4", {}, "ipv6", "ipv4", 1480),
        ("4in6", {}, "ipv4", "ipv6", 1460),
        ("gre", {}, "ipv6", "ipv4 gre", 1476),
        ("gre", {"inner": "ipv4", "outer": "ipv6"}, "ipv4", "ipv6 gre", 1456),
        ("gre", {"key": 7}, "ipv6", "ipv4 gre gre-key", 1472),
        ("vxlan", {}, "ipv6", "ipv4 udp vxlan ethernet", 1450),
        ("vxlan", {"inner": "ipv4", "outer": "ipv6"}, "ipv4", "ipv6 udp vxlan ethernet", 1430),
        ("tunnel-broker", {}, "ipv6", "ipv4", 1480),
    ],
)
def test_a_tunnel_between_routers(
    installed: Installed, mechanism: str, options: dict[str, Scalar], inner: str, outer: str, mtu_bytes: int
) -> None:
    network = installed(mechanism, "r1", "r2", **options)
    assert stacks(network) == [inner, f"{outer} {inner}", inner]
    assert {(tunnel.node, tunnel.mtu_bytes) for tunnel in network.tunnels} == {("r1", mtu_bytes), ("r2", mtu_bytes)}
    first, second = network.tunnels
    assert (first.mapping, second.mapping) == (
        {"kind": "fixed", "remote": str(second.local)},
        {"kind": "fixed", "remote": str(first.local)},
    )
    assert (first.underlay, second.underlay) == (("eth1",), ("eth0",))
    # The carrier knows nothing of what it carries, and hosts keep their addresses.
    carried = 0 if inner == "ipv4" else 1
    assert of(network, "r1")["eth1"][carried] is None
    assert of(network, "r1")["eth1"][1 - carried] is not None
    assert ends(network) == (("198.18.0.1", "198.18.2.2") if inner == "ipv4" else ("2001:2::1", "2001:2:0:2::2"))
    check_both_ways(network)


def test_the_addresses_of_a_configured_tunnel(installed: Installed) -> None:
    six = installed("6in4", "r1", "r2")
    assert of(six, "r1")["6in4-1"] == (None, "2001:db8::1/64")
    assert of(six, "r2")["6in4-1"] == (None, "2001:db8::2/64")
    assert routes_of(six, "r1") == [
        "198.18.2.0/24 via 198.18.1.2 dev eth1",
        "2001:2:0:2::/64 via 2001:db8::2 dev 6in4-1",
    ]
    four = installed("4in6", "r2", "r1")
    assert of(four, "r2")["4in6-1"] == ("203.0.113.1/30", None)
    assert of(four, "r1")["4in6-1"] == ("203.0.113.2/30", None)


def test_a_tunnel_between_hosts(installed: Installed) -> None:
    network = installed("6in4", "h1", "h2")
    assert stacks(network) == ["ipv4 ipv6"] * 3
    assert ends(network) == ("2001:db8::1", "2001:db8::2")
    assert all(addresses[1] is None for addresses in of(network, "r1").values())
    check_both_ways(network)


def test_a_tunnel_from_a_host_to_a_router(installed: Installed) -> None:
    network = installed("6in4", "r2", "h1")
    assert stacks(network) == ["ipv4 ipv6", "ipv4 ipv6", "ipv6"]
    assert ends(network) == ("2001:db8::2", "2001:2:0:2::2")
    assert routes_of(network, "h1") == ["default via 198.18.0.2 dev eth0", "default via 2001:db8::1 dev 6in4-1"]
    check_both_ways(network)


def test_a_tunnel_through_more_routers_and_before_more_of_them(installed: Installed) -> None:
    network = installed("6in4", "r2", "r4", links="h1-r1 r1-r2 r2-r3 r3-r4 r4-r5 r5-h2")
    assert stacks(network) == ["ipv6", "ipv6", "ipv4 ipv6", "ipv4 ipv6", "ipv6", "ipv6"]
    assert of(network, "r3") == {"eth0": ("198.18.2.2/24", None), "eth1": ("198.18.3.1/24", None)}
    check_both_ways(network)


@pytest.mark.parametrize(
    ("options", "mtu", "mtu_bytes"),
    [
        ({}, {}, 1480),
        ({}, {"r1-r2": 1400}, 1380),
        ({}, {"r1-r2": 9000}, 8980),
        ({}, {"h1-r1": 1300}, 1480),
        ({}, {"r1-r2": 65535}, 65000),
        ({"mtu": 1280}, {}, 1280),
        ({"mtu": 1500}, {}, 1500),
        ({"mtu": 1480, "pmtu": "dynamic"}, {}, 1480),
    ],
)
def test_the_mtu_is_what_the_carrier_leaves_room_for(
    installed: Installed, options: dict[str, Scalar], mtu: dict[str, int], mtu_bytes: int
) -> None:
    network = installed("6in4", "r1", "r2", link_mtu=mtu, **options)
    assert {tunnel.mtu_bytes for tunnel in network.tunnels} == {mtu_bytes}
    assert [crossing.inner_mtu_bytes for crossing in network.crossings] == [None, mtu_bytes, None]


@pytest.mark.parametrize(
    ("options", "mtu", "option", "words"),
    [
        ({"mtu": 1279}, {}, "mtu", "IPv6 needs 1280 bytes (RFC 8200 section 5)"),
        ({"mtu": 1481, "pmtu": "dynamic"}, {}, "mtu", "r1-r2 leaves 1480 bytes; give at most that, or pmtu: static"),
        ({}, {"r1-r2": 1299}, None, "give the link an MTU of at least 1300"),
    ],
)
def test_an_mtu_that_cannot_be(
    installed: Installed, options: dict[str, Scalar], mtu: dict[str, int], option: str | None, words: str
) -> None:
    with pytest.raises(MechanismError) as caught:
        installed("6in4", "r1", "r2", link_mtu=mtu, **options)
    assert caught.value.option == option
    assert words in str(caught.value)


def test_an_edge_of_map_e_needs_a_device_that_ipv6_is_routed_into(installed: Installed) -> None:
    with pytest.raises(MechanismError, match=r"IPv6 needs 1280 .* give the link an MTU of at least 1320"):
        installed("map-e", "r1", "r2", link_mtu={"r1-r2": 1319})


def test_ttl_tos_and_ecn_are_those_of_the_options(installed: Installed) -> None:
    plain = installed("6in4", "r1", "r2").tunnels[0]
    assert (plain.ttl, plain.tos, plain.ecn, plain.pmtu) == (64, None, True, "static")
    given = installed("6in4", "r1", "r2", ttl=0, tos=0x2E << 2, ecn=False, pmtu="dynamic").tunnels[1]
    assert (given.ttl, given.tos, given.ecn, given.pmtu) == (None, 184, False, "dynamic")


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_sample_of_every_mechanism_works(installed: Installed, name: str) -> None:
    """`doctor` tries engines with it."""
    kind = MECHANISMS[name]
    network = installed(name, *kind.sample, **kind.sample_options)
    check_both_ways(network)
    assert bool(network.devices) == (kind.node_count != (0, 0))
    assert bool(network.tunnels) == bool(kind.headers)
    assert all(len(tunnel.device) <= MAX_DEVICE_NAME for tunnel in network.tunnels)
    widest = max(network.crossings, key=lambda crossing: len(crossing.headers))
    assert widest.headers[:-1] == kind.headers


@pytest.mark.parametrize(
    "name", [name for name, kind in MECHANISMS.items() if kind.headers and kind.node_count[1] == 2]
)
def test_links_of_a_node_in_a_row_of_many_routers(installed: Installed, name: str) -> None:
    """Ends far from one another, hosts farther away still."""
    names = ["h1", *(f"r{index}" for index in range(1, 9)), "h2"]
    network = installed(name, "r3", "r6", links=" ".join("-".join(two) for two in pairwise(names)))
    inside = [len(crossing.headers) > 1 for crossing in network.crossings]
    assert inside == [False] * 3 + [True] * 3 + [False] * 3
    check_both_ways(network)


@pytest.mark.parametrize("name", [name for name, kind in MECHANISMS.items() if kind.headers])
def test_ends_that_do_not_reach_one_another(installed: Installed, name: str) -> None:
    """r3 stands behind a host, which does not forward."""
    nodes = ("h1", "r3") if name in ("isatap", "teredo", "dstm") else ("r1", "r3")
    with pytest.raises(MechanismError, match=r'"(h|r)1" and "r3" do not reach one another over IPv[46]'):
        installed(name, *nodes, links=f"{ROW} r2-h4 h4-r3")


@pytest.mark.parametrize("name", [name for name, kind in MECHANISMS.items() if kind.node_count[0] == 2])
def test_a_node_twice(installed: Installed, name: str) -> None:
    nodes = ("h1", "h1", "r2") if name in ("isatap", "teredo") else ("r1", "r1")
    with pytest.raises(MechanismError, match=f'{name} names "(h|r)1" twice'):
        installed(name, *nodes)


def test_sit_gives_outer_packets_that_may_be_fragmented_the_hop_limit_of_the_inner_ones(read: Read) -> None:
    """ip-tunnel(8): `nopmtudisc` and a TTL of its own exclude one another."""
    limits = {}
    for engine in ("kernel", "ebpf"):
        for pmtu in ("static", "dynamic"):
            path = f"{{6in4: {{nodes: [r1, r2], engine: {engine}, pmtu: {pmtu}}}}}"
            experiment = read(f"topology: {{chain: 4}}\nbetween: [h1, h2]\npaths: {{p: {path}}}\nworkloads: [ping]\n")
            network = install(experiment.paths[0], experiment.topologies[0], experiment.between)
            limits[engine, pmtu] = [crossing.hop_limit for crossing in network.crossings if crossing.tunnels]
    assert limits == {
        ("kernel", "static"): [63],
        ("kernel", "dynamic"): [64],
        ("ebpf", "static"): [64],
        ("ebpf", "dynamic"): [64],
    }
