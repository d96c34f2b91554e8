"""Translators in the client itself: 464XLAT with the CLAT on the host, and the bump in the host."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sixbench.agent.requests import REQUESTS
from sixbench.lab.names import hosts_file, resolv_confs
from sixbench.lab.render import render_path
from sixbench.mechanisms import install
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network
from sixbench.theory.expected import path_mtu
from sixbench.theory.fragmentation import predict

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Problems = Callable[[str], list[str]]

TEXT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host, h3: host}}
  links:
    [{{endpoints: [h1, r1]{first}}}, {{endpoints: [r1, r2], mtu: {mtu}}}, {{endpoints: [r2, h2]}},
     {{endpoints: [h3, h1]}}{more}]
between: [h1, h2]
paths: {{p: {path}}}
workloads: [ping]
"""


def text(path: str, mtu: int = 1500, first: str = "", more: str = "") -> str:
    return TEXT.format(path=path, mtu=mtu, first=first, more=more)


@pytest.fixture
def network(read: Read) -> Callable[..., Network]:
    def make(path: str, mtu: int = 1500, first: str = "") -> Network:
        experiment = read(text(path, mtu, first))
        return install(experiment.paths[0], experiment.topologies[0], experiment.between)

    return make


Make = Callable[..., Network]


def ends_of(built: Network) -> list[tuple[int, str, str, str, str]]:
    return [(leg.family, leg.near, leg.far, str(leg.source), str(leg.destination)) for leg in built.legs]


def test_a_clat_may_be_on_the_client(network: Make) -> None:
    actual_network = network("{464xlat: [h1, r2]}")
    assert ends_of(actual_network) == [
        (4, "h1", "h1", "192.0.0.2", "198.18.2.2"),
        (6, "h1", "r2", "2001:db8:c1a7::c000:2", "2001:db8:64::c612:202"),
        (4, "r2", "h2", "198.18.2.1", "198.18.2.2"),
    ]
    clat, plat = actual_network.translators
    assert (clat.node, clat.through_node, plat.node, plat.through_node) == ("h1", True, "r2", True)
    assert "own4" not in clat.mapping, "errors come from 192.0.0.8 (RFC 7600): the host has no other IPv4 address"
    assert actual_network.tracking == ("r2",)


def test_a_bump_is_in_the_client(network: Make) -> None:
    actual_network = network("{bih: {nodes: [h1], pool: 10.9.0.0/24, host-prefix: '2001:db8:b::/64'}}")
    assert ends_of(actual_network) == [
        (4, "h1", "h1", "10.9.0.1", "10.9.0.6"),
        (6, "h1", "h2", "2001:db8:b:0:a:900:100:0", "2001:2:0:2::2"),
    ]
    [device] = actual_network.translators
    assert device.mapping["prefixes"] == []
    assert device.mapping["explicit"][0] == ["10.9.0.1/32", "2001:db8:b:0:a:900:100:0/128"]
    assert actual_network.tracking == ()


@pytest.mark.parametrize(
    ("path", "there", "back"),
    [("{464xlat: [h1, r2]}", [63, 62, 60], [61, 62, 64]), ("{bih: [h1]}", [63, 62, 61], [62, 63, 64])],
)
def test_only_ipv6_leaves_the_host_and_its_own_packets_lose_one_hop(
    network: Make, path: str, there: list[int], back: list[int]
) -> None:
    actual_network = network(path)
    assert [crossing.hop_limit for crossing in actual_network.crossings] == there
    assert [crossing.ip[0].reverse_hop_limit for crossing in actual_network.crossings] == back
    for link in actual_network.topology.links_of("h1"):
        assert (link.carries(4), link.carries(6)) == (False, True)


@pytest.mark.parametrize(("path", "address"), [("{464xlat: [h1, r2]}", "192.0.0.2"), ("{bih: [h1]}", "172.21.112.1")])
def test_the_host_has_an_address_on_no_link_and_forwards(network: Make, path: str, address: str) -> None:
    actual_network = network(path)
    device = actual_network.translators[0].device
    script = render_path(actual_network, "ebpf")["h1"]
    assert f"address add {address}/32 dev lo" in script.devices
    assert script.made_addresses == []
    assert [stage.sysctl for stage in script.stages if stage.sysctl] == [{"net.ipv6.conf.all.forwarding": "1"}]
    assert {line for line in script.made_routes if ":" not in line} >= {
        f"route add {actual_network.legs[0].destination}/32 dev {device}"
        if path.startswith("{bih")
        else f"route add 198.18.2.0/24 dev {device}"
    }


def test_segments_are_those_of_the_link_where_it_takes_no_others(network: Make) -> None:
    script = render_path(network("{bih: [h1]}", first=", rate: 10Mbit"), "ebpf")["h1"]
    assert script.made_addresses[-1] == "link set bih-1 gso_max_segs 1"


@pytest.mark.parametrize(
    ("path", "mtu", "most_bytes"),
    [("{464xlat: [h1, r2]}", 1500, 1480), ("{bih: [h1]}", 1500, 1480), ("{bih: [h1]}", 1300, 1280)],
)
def test_the_translator_in_the_host_tells_it_what_fits(network: Make, path: str, mtu: int, most_bytes: int) -> None:
    actual_network = network(path, mtu)
    assert path_mtu(actual_network) == most_bytes
    prediction = predict(actual_network, most_bytes - 28 + 1, "kernel")
    assert [attempt.outcome for attempt in prediction.attempts] == ["lost", "delivered"]
    assert prediction.attempts[0].learned_mtus == {("h1", "h2"): most_bytes}
    assert len(prediction.settled.loads[0].sizes_bytes) > 1
    [attempt] = predict(actual_network, most_bytes - 28, "kernel").attempts
    assert attempt.outcome == "delivered"


def test_names_have_the_addresses_of_the_pool_in_the_host_alone(network: Make) -> None:
    actual_network = network("{bih: [h1]}")
    [request] = actual_network.stages[-1]["h1"].requests
    assert REQUESTS["dns-start"](**request.fields).to_json(1)["addresses"] == ["172.21.112.1"]
    assert "prefix" not in request.fields
    names = {name["name"]: name["addresses"] for name in request.fields["names"]}
    assert names["h2"] == names["h2-eth0"] == ["2001:2:0:2::2", "172.21.112.6"]
    assert names["h1"] == ["2001:2::1"]
    assert resolv_confs(actual_network.blueprint) == {"h1": "nameserver 172.21.112.1\n"}
    first_hosts_file, others = (hosts_file(actual_network, "", node) for node in ("h1", "r1"))
    assert "h2" not in first_hosts_file
    assert "2001:2:0:2::2 h2 h2-eth0" in others
    assert "172.21" not in others


def test_names_that_dns_has_not_are_told(problems: Problems) -> None:
    [problem] = problems(text("{bih: [h1]}").replace("h3", "a..b"))
    assert problem.startswith("test.yaml:8: ")
    assert 'DNS has no name "a..b"' in problem


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("{464xlat: [h2, r2]}", '"h2" is a host; a translator is a router, or, named first, the client "h1"'),
        ("{464xlat: [h1, h2]}", '"h2" is a host'),
        ("{464xlat: [r1, h1]}", '"h1" is a host'),
        ("{464xlat: [h1, h1]}", '"h1" is a host'),
        ("{464xlat: [h1]}", "464xlat is installed on 2 nodes"),
        ("{464xlat: {nodes: [h1, r2], clat-prefix: '2001:2::/32'}}", "overlaps"),
        ("{siit: {nodes: [h1, r2], client: ipv4}}", '"h1" is a host; a translator is a router'),
        ("{bih: [r1]}", '"r1" is not the client: the bump is in the host whose programs speak IPv4; name "h1"'),
        ("{bih: [h2]}", '"h2" is not the client'),
        ("{bih: [h1, r1]}", "bih is installed on 1 nodes"),
        (
            "{bih: {nodes: [h1], pool: 10.0.0.0/31}}",
            "the pool 10.0.0.0/31 has no two addresses, for the host and a node",
        ),
        (
            "{bih: {nodes: [h1], pool: 10.0.0.0/30}}",
            "more IPv6 nodes need an address of the pool than it has: 6, and 10.0.0.0/30 has 1; give a larger one",
        ),
        ("{bih: {nodes: [h1], pool: 224.0.0.0/8}}", "is for no hosts; give another one, such as 172.21.112.0/20"),
        ("{bih: {nodes: [h1], pool: '2001:db8::/96'}}", "is not an IPv4 prefix"),
        ("{bih: {nodes: [h1], host-prefix: '2001:db8::/50'}}", "another length"),
        ("{bih: {nodes: [h1], host-prefix: '2001:2::/32'}}", "overlaps"),
        ("{bih: {nodes: [h1], prefix: '2001:db8::/96'}}", 'unknown option of bih "prefix"'),
        ("{bih: {nodes: [h1], engine: tayga}}", "engine of bih"),
    ],
)
def test_what_cannot_be_installed_is_told_with_its_line(problems: Problems, path: str, words: str) -> None:
    [problem] = problems(text(path))
    assert problem.startswith("test.yaml:8: ")
    assert words in problem


def test_an_address_of_the_host_that_a_link_has_is_told(problems: Problems) -> None:
    given = text("{464xlat: [h1, r2]}").replace("[r2, h2]", "[r2, h2], ipv4: [192.0.0.3/29, 192.0.0.4/29]")
    [problem] = problems(given)
    assert "464xlat uses the prefix 192.0.0.2/32, which overlaps 192.0.0.0/29" in problem
