"""NAT64 and 464XLAT in a network."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sixbench.agent.requests import REQUESTS
from sixbench.lab.names import hosts_file, nsswitch_conf, resolv_confs
from sixbench.mechanisms import install
from sixbench.model.experiment import Experiment
from sixbench.model.network import Network
from sixbench.model.stage import Stage

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]
Problems = Callable[[str], list[str]]

TEXT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links: [{{endpoints: [h1, r1]}}, {{endpoints: [r1, r2]}}, {{endpoints: [r2, h2]}}]
between: [h1, h2]
paths:
  p: {path}
workloads: [ping]
"""


def network(read: Read, path: str) -> Network:
    experiment = read(TEXT.format(path=path))
    return install(experiment.paths[0], experiment.topologies[0], experiment.between)


def test_the_server_sees_the_router_that_translates(read: Read) -> None:
    actual_network = network(read, "{nat64: [r1]}")
    assert [(leg.family, leg.near, leg.far, str(leg.source), str(leg.destination)) for leg in actual_network.legs] == [
        (6, "h1", "r1", "2001:2::1", "2001:db8:64::c612:202"),
        (4, "r1", "h2", "198.18.1.1", "198.18.2.2"),
    ]
    [device] = actual_network.translators
    assert device.through_node
    assert device.mapping["explicit"] == [["100.64.0.1/32", "2001:2::1/128"]]
    [stages] = actual_network.stages
    assert 'ip saddr { 100.64.0.0/16 } oifname != "nat64-1" masquerade' in stages["r1"].nft
    assert stages["r1"].tracks == {4}


def test_the_clat_has_no_state_and_the_plat_has(read: Read) -> None:
    actual_network = network(read, "{464xlat: [r1, r2]}")
    assert [(leg.family, str(leg.source), str(leg.destination)) for leg in actual_network.legs] == [
        (4, "198.18.0.1", "198.18.2.2"),
        (6, "2001:db8:c1a7::c612:1", "2001:db8:64::c612:202"),
        (4, "198.18.2.1", "198.18.2.2"),
    ]
    clat, plat = actual_network.translators
    assert (clat.through_node, plat.through_node) == (False, True)
    assert [set(stages) for stages in actual_network.stages] == [{"r2"}]


def test_ports_that_are_given_are_those_of_tcp_and_udp(read: Read) -> None:
    [stages] = network(read, "{nat64: {nodes: [r1], ports: 1000}}").stages
    assert "meta l4proto { tcp, udp } masquerade to :1024-2023" in stages["r1"].nft


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("{nat64: [r1, r2]}", "nat64 is installed on 1 nodes"),
        ("{nat64: [h1]}", '"h1" is a host'),
        ("{nat64: {nodes: [r1], ports: 0}}", "0 is too small"),
        ("{nat64: {nodes: [r1], prefix: '2001:db8::/50'}}", "another length"),
        ("{nat64: {nodes: [r1], dns64: r9}}", 'there is no node "r9"; known here: h1, r1, r2, h2'),
        ("{nat64: {nodes: [r1], dns64: {a: r1}}}", "is not a name"),
        (
            "{nat64: {nodes: [r1], dns64: r2}}",
            'the client "h1" does not reach the resolver "r2" over IPv6: name a node on its side of the translator, '
            'such as "r1"',
        ),
        ("{native6: {dns64: r1}}", "unknown option of native6"),
        ("{464xlat: [r1]}", "464xlat is installed on 2 nodes"),
        ("{464xlat: [r2, r1]}", "named from the client on"),
        ("{464xlat: {nodes: [r1, r2], clat-prefix: '2001:db8::/50'}}", "another length"),
        ("{464xlat: {nodes: [r1, r2], clat-prefix: 'ff05::/96'}}", "is for no hosts"),
        ("{464xlat: {nodes: [r1, r2], clat-prefix: '2001:2::/32'}}", "overlaps"),
    ],
)
def test_what_cannot_be_installed_is_told_with_its_line(problems: Problems, path: str, words: str) -> None:
    [problem] = problems(TEXT.format(path=path))
    assert problem.startswith("test.yaml:7: ")
    assert words in problem


def test_names_resolve_at_the_node_that_is_named(read: Read) -> None:
    actual_network = network(read, "{nat64: {nodes: [r2], dns64: r1, prefix: '2001:db8:7::/96'}}")
    assert actual_network.resolvers == actual_network.blueprint.resolvers
    assert list(map(str, actual_network.resolvers["h1"])) == ["2001:2::2"]
    [request] = actual_network.stages[-1]["r1"].requests
    names = {name["name"]: name["addresses"] for name in request.fields["names"]}
    assert (request.op, request.fields["prefix"]) == ("dns-start", "2001:db8:7::/96")
    assert REQUESTS["dns-start"](**request.fields).to_json(1)["names"] == request.fields["names"]
    assert request.fields["addresses"] == ["2001:2::2", "2001:2:0:1::1"]
    assert names["h1"] == ["2001:2::1"]
    assert names["h2"] == ["198.18.2.2"]
    assert names["r2-eth0"] == ["2001:2:0:1::2"]
    assert names["r2-eth1"] == ["198.18.2.1"]
    assert network(read, "{nat64: [r2]}").resolvers == {}


def test_nodes_have_the_resolver_that_they_reach(read: Read) -> None:
    actual_network = network(read, "{nat64: {nodes: [r1], dns64: r1}}")
    assert resolv_confs(actual_network) == {
        "h1": "nameserver 2001:2::2\n",
        "r1": "nameserver 2001:2::2\nnameserver 198.18.1.1\n",
        "r2": "nameserver 198.18.1.1\n",
        "h2": "nameserver 198.18.1.1\n",
    }
    lines = hosts_file(actual_network, "here", "h1").splitlines()
    assert lines[1:] == ["127.0.1.1 here", "::1 localhost ip6-localhost ip6-loopback"]
    assert resolv_confs(network(read, "{nat64: [r1]}")) == {}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a..b", 'DNS has no name "a..b"'),
        ("a.", 'DNS has no name "a."'),
        ("in-addr.ARPA", "ends neither with a dot nor with arpa"),
        ("R2", "are one name (RFC 4343)"),
    ],
)
def test_names_that_dns_has_not_are_told(problems: Problems, name: str, words: str) -> None:
    text = TEXT.format(path="{nat64: {nodes: [r1], dns64: r1}}")
    text = text.replace("h2: host}", f'"{name}": host, h2: host}}').replace(
        "[r2, h2]}]", f'[r2, h2]}}, {{endpoints: [r1, "{name}"]}}]'
    )
    [problem] = problems(text)
    assert problem.startswith("test.yaml:7: ")
    assert words in problem


@pytest.mark.parametrize("machines", ["", "passwd: files\nhosts: resolve dns\nnetworks: files\n", "hosts:files\nx: y"])
def test_commands_look_names_up_by_dns_alone(machines: str) -> None:
    lines = nsswitch_conf(machines).splitlines()
    assert [line for line in lines if line.startswith("hosts")] == ["hosts: files dns"]
    assert {line for line in lines if not line.startswith("hosts")} == {
        line for line in machines.splitlines() if not line.startswith("hosts")
    }


@pytest.mark.parametrize(
    ("path", "prefix"),
    [
        ("{nodes: [r1], %s}", "prefix"),
        ("{nodes: [r1, r2], %s}", "dmr-prefix"),
    ],
    ids=["translator", "map-t"],
)
def test_a_path_may_let_the_well_known_prefix_stand_for_private_addresses(
    read: Read, problems: Problems, path: str, prefix: str
) -> None:
    """RFC 6052 section 3.1 says that it must not."""
    mechanisms = ["map-t"] if prefix == "dmr-prefix" else ["nat64", "siit", "siit-dc", "nat-pt"]
    for mechanism in mechanisms:
        given = path % f"{prefix}: 64:ff9b::/96"
        [problem] = problems(TEXT.format(path=f"{{{mechanism}: {given}}}"))
        assert "allow-private: true" in problem
        allowed = given.replace("}", ", allow-private: true}")
        actual_network = network(read, f"{{{mechanism}: {allowed}}}")
        assert all(device.mapping["allow_non_global"] for device in actual_network.translators)


def test_a_resolver_makes_what_its_translator_takes(read: Read) -> None:
    actual_network = network(read, "{nat64: {nodes: [r1], dns64: r1, prefix: 64:ff9b::/96, allow-private: true}}")
    requests = [request for stages in actual_network.stages for request in stages.get("r1", Stage()).requests]
    assert [request.fields["allow_non_global"] for request in requests if request.op == "dns-start"] == [True]


def test_a_relay_may_have_private_addresses_in_the_well_known_prefix(read: Read, problems: Problems) -> None:
    text = TEXT.replace("[ping]", "[tcp-rr]")
    [problem] = problems(text.format(path="{trt: {nodes: [r1], prefix: 64:ff9b::/96}}"))
    assert "allow-private: true" in problem
    read(text.format(path="{trt: {nodes: [r1], prefix: 64:ff9b::/96, allow-private: true}}"))
