"""MAP-E in a network."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from installed import Installed, check_both_ways, routes_of, stacks

from sixbench.lab.render import render_path
from sixbench.mechanisms import MechanismError
from sixbench.model.network import Network

pytestmark = pytest.mark.computes

HOMES = "h1-r1 h2-r2 r1-p p-r9 r2-p r9-h9"


@pytest.fixture
def domain(installed: Installed) -> Callable[..., Network]:
    def install(**options: str | int) -> Network:
        return installed("map-e", "r1", "r2", "r9", links=HOMES, between=("h2", "h9"), **options)

    return install


def test_the_rule_makes_the_addresses_of_softwires(domain: Callable[..., Network]) -> None:
    network = domain()
    assert [(leg.near, leg.far, str(leg.source), str(leg.destination)) for leg in network.legs] == [
        ("h2", "r2", "192.168.1.1", "198.18.5.2"),
        ("r2", "h9", "192.0.2.1", "198.18.5.2"),
    ]
    check_both_ways(network)
    assert stacks(network) == ["ipv4", "ipv6 ipv4", "ipv6 ipv4", "ipv4"]
    carried = network.crossings[1].ip[0]
    assert (str(carried.source), str(carried.destination)) == ("2001:db8:ce01::c000:201:1", "2001:2:0:3::2")
    assert "2001:db8:ce01::/48 via 2001:2:0:4::1 dev eth2" in routes_of(network, "p")
    assert "192.0.2.1/32 dev map-e-1" in routes_of(network, "r9")
    assert "address add 2001:db8:ce01::c000:201:1/128 dev lo nodad" in render_path(network, "user")["r2"].devices


def test_the_border_relay_finds_edges_by_the_bits_of_their_ports(domain: Callable[..., Network]) -> None:
    [stages] = domain().stages
    assert "snat to 192.0.2.1:1040-1055" in stages["r2"].nft
    table = stages["r9"].nft
    having = "th dport >= 1024 th dport & 0x03f0 == 0x0010"
    assert f"ip daddr 192.0.2.1 meta l4proto {{ tcp, udp }} {having} meta mark set 2" in table
    port_match = "th sport >= 1024 th sport & 0x03f0 == 0x0010"
    assert f'iifname "map-e-2" ip saddr 192.0.2.1 meta l4proto {{ tcp, udp }} {port_match} accept' in table
    assert 'iifname "map-e-2" meta l4proto { tcp, udp } counter drop' in table
    [stages] = domain(psid_offset=0).stages
    assert "tcp, udp } th dport & 0xfc00 == 0x0800 meta mark set 2" in stages["r9"].nft


def test_edges_may_have_whole_addresses(domain: Callable[..., Network]) -> None:
    network = domain(rule_ipv4="192.0.2.0/24", ea_bits=8)
    assert str(network.legs[-1].source) == "192.0.2.2"
    table = network.stages[0]["r9"].nft
    assert "ip daddr 192.0.2.2 meta l4proto { tcp, udp } meta mark set 2" in table
    assert "ip daddr 192.0.2.0/24 meta mark 0 counter drop" in table
    assert "sport" not in table
    check_both_ways(network)


@pytest.mark.parametrize(
    ("options", "option", "words"),
    [
        ({"ea_bits": 23}, "ea-bits", "of 65 bits, and it has at most 64"),
        ({"ea_bits": 11}, "psid-offset", "a PSID of 11 bits behind an offset of 6 leaves no ports"),
        ({"ea_bits": 0}, "ea-bits", "2 CEs need as many values of the 0 EA bits, and 1 can be used"),
        ({"rule_prefix": "2001:2::/42"}, "rule-prefix", 'overlaps 2001:2::/64 of the link "h1-r1"'),
        ({"rule_ipv4": "198.18.5.1/32"}, "rule-ipv4", 'overlaps 198.18.5.0/24 of the link "r9-h9"'),
    ],
)
def test_a_rule_that_does_not_fit_is_refused(
    domain: Callable[..., Network], options: dict[str, str | int], option: str, words: str
) -> None:
    with pytest.raises(MechanismError, match=words) as raised:
        domain(**options)
    assert raised.value.option == option


def test_customer_edges_are_routers_and_named_once(installed: Installed) -> None:
    with pytest.raises(MechanismError, match='"h1" is a host; a CE is a router'):
        installed("map-e", "h1", "r2")
    with pytest.raises(MechanismError, match='"h2" is a host; the border relay is a router and named last'):
        installed("map-e", "r1", "h2")
    with pytest.raises(MechanismError, match="twice"):
        installed("map-e", "r1", "r1", "r2")
