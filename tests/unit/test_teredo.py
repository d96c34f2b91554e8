"""Teredo: its addresses, who is a client, a server or a relay, and what is started where."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from installed import Installed, check_both_ways, ends, of, routes_of, stacks

from sixbench.lab.render import render_path
from sixbench.mechanisms import install
from sixbench.mechanisms.miredo import MIREDO
from sixbench.mechanisms.teredo import PREFIX, SERVER_DEVICE, learned, teredo_address
from sixbench.model.experiment import Experiment
from sixbench.model.node_names import addresses_by_name
from sixbench.model.stage import NodeRequest, Stage

pytestmark = pytest.mark.computes

OVER = "ipv4 udp teredo ipv6"
CLIENT, OTHER = "2001:0:c633:6402:0:f226:39ed:fffe", "2001:0:c633:6402:0:f226:39ed:fdfd"
"""Teredo addresses of h1, 198.18.0.1, and of h2, 198.18.2.2."""
RELAY = "2001:0:c633:6402:0:f226:39ed:fefd"


def test_an_address_has_server_flags_port_and_address() -> None:
    """RFC 4380 section 4: server, flags, and all bits of port and address inverted."""
    address = teredo_address(IPv4Address("65.54.227.120"), IPv4Address("192.0.2.45"), 40000, 0x8000)
    assert str(address) == "2001:0:4136:e378:8000:63bf:3fff:fdd2"


@given(st.ip_addresses(v=4), st.ip_addresses(v=4), st.integers(0, 65535), st.integers(0, 65535))
def test_pythons_library_takes_addresses_apart(server: IPv4Address, mapped: IPv4Address, port: int, flags: int) -> None:
    address = teredo_address(server, mapped, port, flags)
    assert address in PREFIX
    assert address.teredo == (server, mapped)
    groups = address.exploded.split(":")
    assert (int(groups[4], 16), 0xFFFF - int(groups[5], 16)) == (flags, port)


def test_a_client_reaches_ipv6_through_the_relay(installed: Installed) -> None:
    network = installed("teredo", "h1", "r2")
    assert stacks(network) == [OVER, OVER, "ipv6"]
    assert ends(network) == (CLIENT, "2001:2:0:2::2")
    assert {tunnel.mtu_bytes for tunnel in network.tunnels} == {1280}
    assert of(network, "h1") == {"eth0": ("198.18.0.1/24", None), "teredo-1": (None, f"{CLIENT}/32")}
    assert of(network, "r2")["teredo-1"] == (None, f"{RELAY}/32")
    assert routes_of(network, "h1")[-1] == f"default via {RELAY} dev teredo-1"
    check_both_ways(network)


def test_clients_reach_one_another_directly(installed: Installed) -> None:
    network = installed("teredo", "h1", "h2", server="r1")
    assert stacks(network) == [OVER] * 3
    assert ends(network) == (CLIENT, OTHER)
    assert {ip.destination for crossing in network.crossings for ip in crossing.ip[:1]} == {IPv4Address("198.18.2.2")}
    check_both_ways(network)
    three = installed("teredo", "h1", "h2", "r2", links="h1-r1 h2-r1 r1-r2 r2-h3", between=("h1", "h2"))
    assert stacks(three) == [OVER] * 2
    check_both_ways(three)


def test_every_node_reaches_both_addresses_of_the_server(installed: Installed) -> None:
    network = installed("teredo", "h1", "r2", server="r3", links="h1-r1 r1-r2 r2-r3 r3-h2")
    assert "198.51.100.2/31 via 198.18.1.2 dev eth1" in routes_of(network, "r1")
    assert "198.51.100.2/31 via 198.18.2.2 dev eth1" in routes_of(network, "r2")
    assert f"198.51.100.2/31 dev {SERVER_DEVICE}" in routes_of(network, "r3")
    [*_, server] = network.devices
    make = MIREDO.make(server)
    assert [line for line in make.ip if "address" in line] == [
        f"address add 198.51.100.{last}/32 dev {SERVER_DEVICE}" for last in (2, 3)
    ]
    [program] = make.programs
    assert (program.name, program.package) == ("miredo-server", "miredo-server")
    assert program.stdin == "ServerBindAddress 198.51.100.2\nServerBindAddress2 198.51.100.3\n"


def test_the_server_comes_first_and_then_who_asks_it(installed: Installed) -> None:
    network = installed("teredo", "h1", "r2", server="r2")
    scripts = render_path(network, "miredo")
    names = [
        {name: [program.name for program in script.stages[step].programs] for name, script in scripts.items()}
        for step in range(3)
    ]
    assert names[0] == {"h1": [], "r1": [], "r2": ["miredo-server"], "h2": []}
    assert names[1] == {"h1": ["miredo"], "r1": [], "r2": ["miredo"], "h2": []}
    assert names[2] == {"h1": [], "r1": [], "r2": [], "h2": []}
    client, relay = (scripts[name].stages[1].programs[0].stdin.splitlines() for name in ("h1", "r2"))
    assert client == [
        "RelayType client",
        "InterfaceName teredo-1",
        "ServerAddress 198.51.100.2",
        "BindAddress 198.18.0.1",
        "BindPort 3545",
    ]
    assert relay == ["RelayType relay", "InterfaceName teredo-1", "BindAddress 198.18.1.2", "BindPort 3545"]
    [listening] = scripts["r2"].stages[1].requests
    assert ":0DD8 " in listening.fields["argv"][-1]
    assert listening.check({"exit": 1, "stdout": ""}) == "the Teredo server did not begin within 15 s"


def qualified(stage: Stage) -> NodeRequest:
    [request] = stage.requests
    return request


def test_the_flags_are_learned_once_a_client_is_qualified(installed: Installed) -> None:
    network = installed("teredo", "h1", "r2")
    request = qualified(network.stages[2]["h1"])
    described, actual = IPv6Address(CLIENT), IPv6Address("2001:0:c633:6402:3cb1:f226:39ed:fffe")
    answer = {"exit": 0, "stdout": f"inet6 {actual}/32\n"}
    assert request.check(answer) is None
    assert request.learns(answer) == {described: actual}
    actual_learned = network.with_learned(request.learns(answer))
    assert ends(actual_learned) == (str(actual), "2001:2:0:2::2")
    assert of(actual_learned, "h1")["teredo-1"] == (None, f"{actual}/32")
    assert of(actual_learned, "r2") == of(network, "r2")
    assert {ip.source for crossing in actual_learned.crossings for ip in crossing.ip[-1:]} == {actual}
    assert addresses_by_name(actual_learned.blueprint)["h1"][-1] == actual
    assert network.blueprint.with_learned(request.learns(answer)) == actual_learned.blueprint
    assert network.with_learned({}) is network


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"exit": 1, "stdout": ""}, "the Teredo client got no address by the server 198.51.100.2 within 15 s"),
        (
            {"exit": 0, "stdout": "inet6 2001:0:c633:6402:3cb1:f227:39ed:fffe/32\n"},
            f"the Teredo client got inet6 2001:0:c633:6402:3cb1:f227:39ed:fffe/32, where {CLIENT} was expected but for "
            "its flags",
        ),
    ],
)
def test_a_client_without_its_address_is_told(installed: Installed, answer: dict[str, object], words: str) -> None:
    request = qualified(installed("teredo", "h1", "r2").stages[2]["h1"])
    assert request.check(answer) == words


def test_no_other_address_is_taken_for_the_clients() -> None:
    described = IPv6Address(CLIENT)
    assert learned(described, "") is None
    assert learned(described, "inet6") is None
    assert learned(described, "inet6 2001:db8::1/64 inet6 2001:0:c633:6402:1:f226:39ed:fffe/32") == IPv6Address(
        "2001:0:c633:6402:1:f226:39ed:fffe"
    )


def test_miredo_makes_nothing_else(installed: Installed) -> None:
    [tunnel, *_] = installed("6in4", "r1", "r2").tunnels
    assert MIREDO.unfit(tunnel) == "miredo carries Teredo only: its client, relay and server"
    teredo = installed("teredo", "h1", "r2")
    assert [MIREDO.unfit(device) for device in teredo.devices] == [None] * 3
    assert len({device.kind for device in teredo.devices}) == 3


TEXT = """
topology:
  nodes: {{h1: host, r1: router, r2: router, h2: host}}
  links:
    - {{endpoints: [h1, r1]{link}}}
    - {{endpoints: [r1, r2]}}
    - {{endpoints: [r2, h2]}}
between: [h1, h2]
paths:
  p: {path}
workloads: [ping]
"""


@pytest.mark.parametrize(
    ("link", "path", "words"),
    [
        ("", "{teredo: [r1, r2]}", '"r1" is a router; Teredo clients are hosts, and the relay is named last'),
        ("", "{teredo: [h1]}", "teredo is installed on 2 to 8 nodes"),
        ("", "{teredo: [h1, h2]}", "Teredo clients without a relay need a server: name a router"),
        ("", "{teredo: {nodes: [h1, h2], server: h2}}", '"h2" is a host; a Teredo server is a router'),
        ("", "{teredo: {nodes: [h1, h2], server: r9}}", 'there is no node "r9"'),
        (
            "",
            "{teredo: {nodes: [h1, r2], server: r1}}",
            'the Teredo server "r1" does not reach "h2" over IPv6, so that clients do not find their relay (RFC 4380 '
            'section 5.2.9): name a router beyond the carrier, such as "r2"',
        ),
        (
            ", ipv4: [10.0.0.1/30, 10.0.0.2/30]",
            "{teredo: [h1, r2]}",
            'Teredo at "h1" would use the private address 10.0.0.1',
        ),
        (", mtu: 1307", "{teredo: [h1, r2]}", "give the link an MTU of at least 1308"),
        (", ipv4: [198.51.100.1/24, 198.51.100.4/24]", "{teredo: [h1, r2]}", "overlaps 198.51.100.0/24"),
        ("", "{teredo: {nodes: [h1, r2], mtu: 1400B}}", 'unknown option of teredo "mtu"'),
        ("", "{teredo: {nodes: [h1, r2], engine: user}}", "miredo"),
    ],
)
def test_what_cannot_be_installed_is_told_with_its_line(
    problems: Callable[[str], list[str]], link: str, path: str, words: str
) -> None:
    [problem] = problems(TEXT.format(link=link, path=path))
    assert problem.startswith("test.yaml:10: ")
    assert words in problem


NATS = """
topology:
  nodes: {{h1: host, n1: {{kind: router, masquerade: true}}, r1: {r1}, r2: {r2}, h2: host}}
  links:
    - {{endpoints: [h1, n1], ipv4: [192.168.1.2/24, 192.168.1.1/24]}}
    - {{endpoints: [n1, r1]}}
    - {{endpoints: [r1, r2]}}
    - {{endpoints: [r2, h2]}}
between: {between}
paths:
  p: {path}
workloads: [ping]
"""
ROUTER, NAT = "router", "{kind: router, masquerade: true}"


@pytest.mark.parametrize(
    ("path", "last"),
    [("{teredo: [h1, r2]}", "198.18.2.2"), ("{teredo: {nodes: [h1, h2], server: r1}}", "198.18.3.2")],
)
def test_others_know_a_client_by_the_address_of_its_nat(
    read: Callable[[str], Experiment], path: str, last: str
) -> None:
    """RFC 4380 section 4: the mapped address is in the client's, and outer packets have it beyond the NAT."""
    content = read(NATS.format(r1=ROUTER, r2=ROUTER, between="[h1, h2]", path=path))
    network = install(content.paths[0], content.topologies[0], content.between)
    assert IPv6Address(str(network.legs[0].source)).teredo == (IPv4Address("198.51.100.2"), IPv4Address("198.18.1.1"))
    outer = [crossing.ip[0] for crossing in network.crossings if crossing.tunnels]
    sources = ["192.168.1.2", *["198.18.1.1"] * (len(outer) - 1)]
    assert [(str(ip.source), str(ip.destination)) for ip in outer] == [(source, last) for source in sources]
    back = [crossing.ip[0] for crossing in network.reversed.crossings if crossing.tunnels]
    assert [(ip.source, ip.destination) for ip in back] == [(ip.destination, ip.source) for ip in reversed(outer)]


@pytest.mark.parametrize(
    ("r1", "r2", "between", "path", "words"),
    [
        (NAT, ROUTER, "[h1, h2]", "[h1, r2]", '"n1" and "r1", between "h1" and the server "r2", masquerade; '),
        (ROUTER, ROUTER, "[h2, h1]", "{nodes: [h1, h2], server: r1}", 'can be behind a NAT, and that is "h2"'),
        (NAT, ROUTER, "[h1, h2]", "{nodes: [h1, h2], server: r1}", '"r1", between "h1" and "h2", masquerades, and is'),
        (ROUTER, NAT, "[h1, h2]", "{nodes: [h1, h2], server: r1}", 'can be behind a NAT, and that is "h1"'),
    ],
)
def test_a_nat_that_cannot_be_is_told(
    problems: Callable[[str], list[str]], r1: str, r2: str, between: str, path: str, words: str
) -> None:
    [problem] = problems(NATS.format(r1=r1, r2=r2, between=between, path=f"{{teredo: {path}}}"))
    assert problem.startswith("test.yaml:11: ")
    assert words in problem


def test_a_symmetric_nat_is_told(problems: Callable[[str], list[str]]) -> None:
    text = NATS.replace("masquerade: true", "masquerade: true, nat-ports: random")
    [problem] = problems(text.format(r1=ROUTER, r2=ROUTER, between="[h1, h2]", path="{teredo: [h1, r2]}"))
    assert '"h1" is behind "n1", a symmetric NAT, which forgets its sessions before each trial' in problem
    assert problem.endswith("leave nat-ports out")
