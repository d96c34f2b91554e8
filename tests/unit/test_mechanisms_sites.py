"""Sites whose prefix follows from an IPv4 address: 6to4 and 6rd."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Network

import pytest
from installed import Installed, check_both_ways, ends, of, routes_of, stacks

from sixbench.mechanisms import MechanismError
from sixbench.mechanisms.sixrd import delegated
from sixbench.mechanisms.sixtofour import site_prefix
from sixbench.model.parameter import Scalar

pytestmark = pytest.mark.computes

PAPER = {"r1-r2": "10.1.0.25/30, 10.1.0.26/30", "r2-r3": "172.26.1.2/30, 172.26.1.1/30"}
"""Two links of herrera-6to4-tunnel."""


@pytest.mark.parametrize(
    ("ipv4", "prefix"),
    [
        ("10.1.0.25", "2002:a01:19::/48"),
        ("192.0.2.1", "2002:c000:201::/48"),
        ("255.255.255.255", "2002:ffff:ffff::/48"),
    ],
)
def test_the_prefix_of_a_6to4_site_embeds_its_address(ipv4: str, prefix: str) -> None:
    """The first is herrera-6to4-tunnel's own. Python's standard library takes the address out again."""
    site = site_prefix(IPv4Address(ipv4))
    assert str(site) == prefix
    assert site.network_address.sixtofour == IPv4Address(ipv4)


def test_6to4_with_the_addresses_and_the_mtu_of_the_paper(installed: Installed) -> None:
    links = "h1-r1 r1-r2 r2-r3 r3-h2"
    network = installed("6to4", "r1", "r3", links=links, ipv4=PAPER, private=True, mtu=1280)
    assert stacks(network) == ["ipv6", "ipv4 ipv6", "ipv4 ipv6", "ipv6"]
    assert ends(network) == ("2002:a01:19:1::1", "2002:ac1a:101:1::2")
    assert of(network, "r1")["6to4-1"] == (None, "2002:a01:19::1/16")
    assert {tunnel.mtu_bytes for tunnel in network.tunnels} == {1280}
    assert [tunnel.mapping for tunnel in network.tunnels] == [
        {"kind": "6to4", "relay": None, "allow_private": True}
    ] * 2
    assert "2002:ac1a:101:1::/64 via 2002:ac1a:101::1 dev 6to4-1" in routes_of(network, "r1")
    check_both_ways(network)


def test_6to4_takes_no_private_addresses_unasked(installed: Installed) -> None:
    with pytest.raises(MechanismError, match=r"private address 10\.1\.0\.25") as caught:
        installed("6to4", "r1", "r2", ipv4=PAPER)
    assert caught.value.option == "private"


def test_6to4_through_a_relay(installed: Installed) -> None:
    network = installed("6to4", "r1", relay="r2")
    assert ends(network) == ("2002:c612:101:1::1", "2001:2:0:2::2")
    site, relay = network.tunnels
    assert (site.mapping["relay"], relay.mapping["relay"]) == ("198.18.1.2", None)
    # Linux names an outer destination that the inner one does not embed by a next hop ::V4.
    assert "2001:2:0:2::/64 via ::c612:102 dev 6to4-1 onlink" in routes_of(network, "r1")
    assert "2002:c612:101:1::/64 via 2002:c612:101::1 dev 6to4-1" in routes_of(network, "r2")
    check_both_ways(network)


def test_a_6to4_site_of_several_links_and_routers(installed: Installed) -> None:
    links = "h1-r5 r5-r1 h3-r5 r1-r2 r2-h2"
    network = installed("6to4", "r1", "r2", links=links)
    assert ends(network) == ("2002:c612:301:1::1", "2002:c612:302:1::2")
    prefixes = [str(link.ends[0].ipv6.network) for link in network.topology.wires if link.ends[0].ipv6]
    assert prefixes == [
        "2002:c612:301:1::/64",
        "2002:c612:301:2::/64",
        "2002:c612:301:3::/64",
        "2002:c612:302:1::/64",
    ]
    assert "2002:c612:302:1::/64 via 2002:c612:301:2::2 dev eth1" in routes_of(network, "r5")
    check_both_ways(network)


def test_three_6to4_sites_reach_one_another_directly(installed: Installed) -> None:
    links = "h1-r1 h2-r2 h3-r3 r1-r9 r2-r9 r3-r9"
    for between in (("h1", "h2"), ("h2", "h3"), ("h3", "h1")):
        network = installed("6to4", "r1", "r2", "r3", links=links, between=between)
        assert stacks(network) == ["ipv6", "ipv4 ipv6", "ipv4 ipv6", "ipv6"]
        check_both_ways(network)


def test_a_site_with_a_way_around_the_carrier_is_refused(installed: Installed) -> None:
    with pytest.raises(MechanismError, match='"r2" is in the site behind "r1"'):
        installed("6to4", "r1", "r2", links="h1-r1 r1-r2 r2-h2 r1-r3 r3-r2")


@pytest.mark.parametrize(
    ("domain", "mask_bits", "ipv4", "prefix"),
    [
        ("2001:db8::/32", 0, "10.100.100.1", "2001:db8:a64:6401::/64"),
        ("2001:db8::/32", 8, "10.100.100.1", "2001:db8:6464:100::/56"),
        ("2001:db8::/40", 8, "10.100.100.1", "2001:db8:64:6401::/64"),
        ("2001:db8::/32", 16, "10.1.0.25", "2001:db8:19::/48"),
        ("2001:d00::/24", 24, "192.0.2.130", "2001:d82::/32"),
    ],
)
def test_the_prefix_of_a_6rd_site_embeds_the_end_of_its_address(
    domain: str, mask_bits: int, ipv4: str, prefix: str
) -> None:
    """The second is like the example of RFC 5969 section 4."""
    assert str(delegated(IPv6Network(domain), mask_bits, IPv4Address(ipv4))) == prefix


def test_6rd_between_a_customer_and_the_border_relay(installed: Installed) -> None:
    network = installed("6rd", "r1", "r2")
    assert ends(network) == ("2001:db8:c612:101::1", "2001:2:0:2::2")
    customer, relay = network.tunnels
    assert customer.mapping == {
        "kind": "6rd",
        "prefix": "2001:db8::/32",
        "ipv4_mask_bits": 0,
        "border_relay": "198.18.1.2",
        "is_border_relay": False,
    }
    assert (relay.mapping["border_relay"], relay.mapping["is_border_relay"]) == (None, True)
    assert of(network, "r1")["6rd-1"] == (None, "2001:db8:c612:101::ff/32")
    assert "2001:2:0:2::/64 via ::c612:102 dev 6rd-1 onlink" in routes_of(network, "r1")
    check_both_ways(network)


def test_6rd_with_fewer_bits_has_room_for_more_links(installed: Installed) -> None:
    links = "h1-r5 r5-r1 r1-r2 r2-h2"
    with pytest.raises(MechanismError, match="room for 1 link, and the site has more"):
        installed("6rd", "r1", "r2", links=links)
    with pytest.raises(MechanismError, match="room for 1 link, and the site has more"):
        installed("6rd", "r1", "r2", links=links, ipv4_mask=15, prefix="2a00:1000::/46")
    network = installed("6rd", "r1", "r2", links=links, ipv4_mask=24)
    assert ends(network) == ("2001:db8:100:1::1", "2001:2:0:3::2")
    assert of(network, "r1")["6rd-1"] == (None, "2001:db8:100::ff/32")
    check_both_ways(network)


def test_6rd_customers_reach_one_another_directly_and_the_world_by_the_relay(installed: Installed) -> None:
    links = "h1-r1 h2-r2 h3-r3 r1-r9 r2-r9 r3-r9"
    direct = installed("6rd", "r1", "r2", "r3", links=links)
    assert [crossing.link.name for crossing in direct.crossings] == ["h1-r1", "r1-r9", "r2-r9", "h2-r2"]
    check_both_ways(direct)
    world = installed("6rd", "r1", "r2", links=links, br="r3", between=("h1", "h3"))
    assert stacks(world) == ["ipv6", "ipv4 ipv6", "ipv4 ipv6", "ipv6"]
    check_both_ways(world)


@pytest.mark.parametrize(
    ("options", "option", "words"),
    [
        ({"prefix": "2001:db8::/33"}, "prefix", "give a prefix of at most /32, or an ipv4-mask of at least 1"),
        ({"prefix": "2001:db8::/63"}, "prefix", "give a prefix of at most /32, or an ipv4-mask of at least 31"),
        ({"prefix": "2001:db8::/64"}, "prefix", "/64 for a link (RFC 5969 section 4): give a prefix of at most /32"),
        ({"prefix": "2001:2::/32"}, "prefix", 'overlaps 2001:2:0:2::/64 of the link "r2-h2"'),
        ({"prefix": "2002::/16"}, "prefix", "overlaps 6to4"),
        ({"br": "h2"}, "br", '"h2" is a host'),
    ],
)
def test_6rd_that_cannot_be(installed: Installed, options: dict[str, Scalar], option: str, words: str) -> None:
    with pytest.raises(MechanismError) as caught:
        installed("6rd", "r1", "r2", **options)
    assert caught.value.option == option
    assert words in str(caught.value)
