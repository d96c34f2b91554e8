"""MAP-T in a network."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from installed import Installed, check_both_ways, routes_of

from sixbench.mechanisms import MechanismError
from sixbench.model.map_rule import Rule
from sixbench.model.network import Network

pytestmark = pytest.mark.computes

HOMES = "h1-r1 h2-r2 r1-p p-r9 r2-p r9-h9"


@pytest.fixture
def domain(installed: Installed) -> Callable[..., Network]:
    def install(**options: str | int) -> Network:
        return installed("map-t", "r1", "r2", "r9", links=HOMES, between=("h2", "h9"), **options)

    return install


def test_two_edges_share_an_address_and_have_their_ports(domain: Callable[..., Network]) -> None:
    network = domain()
    assert [(leg.near, leg.far, str(leg.source), str(leg.destination)) for leg in network.legs] == [
        ("h2", "r2", "192.168.1.1", "198.18.5.2"),
        ("r2", "r9", "2001:db8:ce01::c000:201:1", "2001:db8:64::c612:502"),
        ("r9", "h9", "192.0.2.1", "198.18.5.2"),
    ]
    check_both_ways(network)
    [stages] = network.stages
    assert set(stages) == {"r1", "r2"}, "the border relay has no state"
    assert "snat to 192.0.2.1:1024-1039" in stages["r1"].nft
    assert "snat to 192.0.2.1:64512-64527" in stages["r1"].nft
    assert "snat to 192.0.2.1:1040-1055" in stages["r2"].nft
    assert "numgen inc mod 63 vmap { 0 : goto range-0," in stages["r2"].nft
    edge, _, relay = network.translators
    assert edge.mapping["domain"] == {
        "own": {
            "ipv6": "2001:db8:ce00::/48",
            "ipv4": "192.0.2.1/32",
            "ea_bits": 0,
            "psid_offset": 6,
            "psid": {"bits": 6, "value": 0},
        },
        "rules": [],
    }
    assert relay.mapping["domain"] == {
        "own": None,
        "rules": [{"ipv6": "2001:db8:ce00::/42", "ipv4": "192.0.2.1/32", "ea_bits": 6, "psid_offset": 6}],
    }
    assert "2001:db8:ce01::/48 via 2001:2:0:4::1 dev eth2" in routes_of(network, "p")
    assert "192.0.2.1/32 dev map-t-3" in routes_of(network, "r9")


def test_an_offset_of_zero_makes_one_range_without_the_system_ports(domain: Callable[..., Network]) -> None:
    [stages] = domain(psid_offset=0).stages
    assert "snat to 192.0.2.1:1024-2047" in stages["r1"].nft
    assert "snat to 192.0.2.1:2048-3071" in stages["r2"].nft
    assert "range-1" not in stages["r2"].nft


def test_edges_have_addresses_of_their_own_where_no_bits_are_left_for_ports(domain: Callable[..., Network]) -> None:
    network = domain(rule_ipv4="192.0.2.0/24", ea_bits=8)
    assert str(network.legs[-1].source) == "192.0.2.2"
    assert str(network.legs[1].source) == "2001:db8:ce00:8000:0:c000:202:0"
    assert "snat to 192.0.2.2:0-65535" in network.stages[0]["r2"].nft
    check_both_ways(network)


def test_answers_to_every_port_of_an_edge_have_its_address(domain: Callable[..., Network]) -> None:
    network = domain()
    rule = Rule(ipv6=IPv6Network("2001:db8:ce00::/42"), ipv4=IPv4Network("192.0.2.1/32"), ea_bits=6, psid_offset=6)
    source = network.legs[1].source
    assert isinstance(source, IPv6Address)
    for ports in rule.ports(1):
        assert {rule.to_ipv6(IPv4Address("192.0.2.1"), port) for port in ports} == {source}


@pytest.mark.parametrize(
    ("options", "option", "words"),
    [
        ({"ea_bits": 23}, "ea-bits", "of 65 bits, and it has at most 64"),
        ({"rule_ipv4": "192.0.2.0/24"}, "ea-bits", "6 EA bits are fewer than the 8 bits"),
        ({"ea_bits": 11}, "psid-offset", "a PSID of 11 bits behind an offset of 6 leaves no ports"),
        ({"ea_bits": 0}, "ea-bits", "2 CEs need as many values of the 0 EA bits, and 1 can be used"),
        ({"ea_bits": 1, "psid_offset": 0}, "ea-bits", "2 CEs need as many values of the 1 EA bits, and 1 can be used"),
        ({"rule_prefix": "2001:2::/42"}, "rule-prefix", 'overlaps 2001:2:0:2::/64 of the link "r1-p"'),
        ({"rule_prefix": "ff02::/42"}, "rule-prefix", "is for no hosts"),
        ({"rule_ipv4": "198.18.5.1/32"}, "rule-ipv4", 'overlaps 198.18.5.0/24 of the link "r9-h9"'),
        ({"rule_ipv4": "127.0.0.1/32"}, "rule-ipv4", "is for no hosts"),
        ({"dmr_prefix": "2001:db8:ce00::/48"}, "dmr-prefix", "overlaps the rule prefix"),
        ({"dmr_prefix": "64:ff9b::/96"}, "dmr-prefix", "must not stand for the addresses of a lab"),
        ({"dmr_prefix": "2001:db8::/33"}, "dmr-prefix", "another length"),
    ],
)
def test_a_rule_that_does_not_fit_is_refused(
    domain: Callable[..., Network], options: dict[str, str | int], option: str, words: str
) -> None:
    with pytest.raises(MechanismError, match=words) as raised:
        domain(**options)
    assert raised.value.option == option


def test_the_border_relay_alone_turns_packets_back(domain: Callable[..., Network]) -> None:
    assert [item.mapping.get("hairpin") for item in domain(hairpin=True).translators] == [None, None, True]
    assert not any("hairpin" in translator.mapping for translator in domain().translators)


def test_a_host_is_no_edge(installed: Installed) -> None:
    with pytest.raises(MechanismError, match='"h1" is a host; a CE is a router'):
        installed("map-t", "h1", "r2")
    with pytest.raises(MechanismError, match='"h2" is a host; the border relay is a router and named last'):
        installed("map-t", "r1", "h2")


def test_connections_lead_from_an_edge_through_the_relay(installed: Installed) -> None:
    with pytest.raises(MechanismError, match='"h1" is not behind a CE of map-t alone'):
        installed("map-t", "r2", "r1")
    with pytest.raises(MechanismError, match='"h2" is not beyond "r9" alone'):
        installed("map-t", "r1", "r2", "r9", links=HOMES, between=("h1", "h2"))
    with pytest.raises(MechanismError, match='"h1" is not behind a CE of map-t alone'):
        installed("map-t", "r1", "r2", links="h1-r1 r1-r2 r2-h2 h1-r2")
