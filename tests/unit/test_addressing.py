"""Automatic addresses: predictable, from the benchmarking prefixes."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Interface, IPv4Network, IPv6Interface, IPv6Network

import pytest

from sixbench.model.experiment import Experiment
from sixbench.plan.addressing import link_ipv4, link_ipv6

pytestmark = pytest.mark.computes


def test_the_first_links() -> None:
    assert link_ipv4(0) == (IPv4Interface("198.18.0.1/24"), IPv4Interface("198.18.0.2/24"))
    assert link_ipv4(256) == (IPv4Interface("198.19.0.1/24"), IPv4Interface("198.19.0.2/24"))
    assert link_ipv6(0) == (IPv6Interface("2001:2::1/64"), IPv6Interface("2001:2::2/64"))
    assert link_ipv6(16) == (IPv6Interface("2001:2:0:10::1/64"), IPv6Interface("2001:2:0:10::2/64"))


@pytest.mark.parametrize(("links", "length"), [(1, 24), (512, 24), (513, 25), (1024, 25), (1025, 26), (2000, 26)])
def test_every_link_has_a_prefix_of_its_own_in_the_benchmarking_pools(links: int, length: int) -> None:
    networks = [link_ipv4(index, links)[0].network for index in range(links)]
    assert len(set(networks)) == links
    assert {network.prefixlen for network in networks} == {length}
    assert all(network.subnet_of(IPv4Network("198.18.0.0/15")) for network in networks)
    networks6 = [link_ipv6(index)[1].network for index in range(links)]
    assert len(set(networks6)) == links
    assert all(network.subnet_of(IPv6Network("2001:2::/48")) for network in networks6)


def test_a_thousand_nodes_need_no_addresses_by_hand(read: Callable[[str], Experiment]) -> None:
    topology = read("topology: {chain: 1000}\npaths: {a: native4}\nworkloads: [ping]\n").topologies[0]
    addresses = [str(end.ipv4) for link in topology.links for end in link.ends]
    assert addresses[:3] == ["198.18.0.1/25", "198.18.0.2/25", "198.18.0.129/25"]
    assert len(set(addresses)) == 2 * 999


HAND = """
topology:
  nodes: {{h1: host, r1: router, h2: host}}
  links:
    - {{endpoints: [h1, r1], {first}}}
    - {{endpoints: [r1, h2], {second}}}
paths: {{a: native4}}
workloads: [ping]
"""


def test_addresses_by_hand(read: Callable[[str], Experiment]) -> None:
    topology = read(
        HAND.format(first="ipv4: [10.0.0.1/31, 10.0.0.0/31]", second='ipv6: ["fd00::1/64", "fd00::2/64"]')
    ).topologies[0]
    assert [str(end.ipv4) for link in topology.links for end in link.ends] == [
        *("10.0.0.1/31", "10.0.0.0/31", "198.18.1.1/24", "198.18.1.2/24"),
    ]
    assert [str(end.ipv6) for link in topology.links for end in link.ends] == [
        *("2001:2::1/64", "2001:2::2/64", "fd00::1/64", "fd00::2/64"),
    ]


@pytest.mark.parametrize(
    ("addresses", "message"),
    [
        ("ipv4: [10.0.0.1/24, 10.0.0.1/24]", "ipv4: both ends have the address 10.0.0.1; give them two"),
        ("ipv4: [10.0.0.1/24, 10.0.1.1/24]", "ipv4: 10.0.0.1/24 and 10.0.1.1/24 are not in one prefix"),
        ("ipv4: [10.0.0.1/24, 10.0.0.2/25]", "are not in one prefix"),
        ("ipv4: [10.0.0.1, 10.0.0.2/24]", 'ipv4.0: "10.0.0.1" has no prefix length; write it as 10.0.0.1/24'),
        ("ipv4: [10.0.0.1/255.255.255.0, 10.0.0.2/24]", "a mask instead of a prefix length; write it as 10.0.0.1/24"),
        ("ipv4: [10.0.0.1/0.0.0.255, 10.0.0.2/24]", "a mask instead of a prefix length; write it as 10.0.0.1/24"),
        ("ipv4: [10.0.0.1/33, 10.0.0.2/33]", 'ipv4.0: "10.0.0.1/33" is not an address with a prefix length: '),
        ("ipv4: [10.0.0.1/0, 10.0.0.2/0]", "ipv4.0: a link cannot have a prefix length of 0; give 8 to 31"),
        ("ipv4: [10.0.0.1/32, 10.0.0.2/32]", "a link cannot have a prefix length of 32"),
        ("ipv4: [10.0.0.0/24, 10.0.0.2/24]", "ipv4.0: 10.0.0.0 cannot be the address of one end of a link"),
        ("ipv4: [10.0.0.255/24, 10.0.0.2/24]", "10.0.0.255 cannot be"),
        ("ipv4: [224.0.0.1/24, 224.0.0.2/24]", "224.0.0.1 cannot be"),
        ("ipv4: [127.0.0.1/8, 127.0.0.2/8]", "127.0.0.1 cannot be"),
        ("ipv4: [0.0.0.1/8, 0.0.0.2/8]", "0.0.0.1 cannot be"),
        ("ipv4: [10.0.0.1/24]", "ipv4: two addresses with prefix lengths, in the order of endpoints, such as"),
        ("ipv4: 10.0.0.1/24", "ipv4: two addresses with prefix lengths, in the order of endpoints, such as"),
        ("ipv4: ", "not nothing"),
        ("ipv4: [1, 2]", "ipv4.0: 1 is not an address with a prefix length"),
        ("ipv4: [[], null]", "ipv4.0: a list is not an address with a prefix length"),
        ('ipv4: ["fd00::1/64", "fd00::2/64"]', 'ipv4.0: "fd00::1/64" is not an address with a prefix length: '),
        ("ipv6: [10.0.0.1/24, 10.0.0.2/24]", "ipv6.0: "),
        ('ipv6: ["fd00::1", "fd00::2"]', "write it as fd00::1/64"),
        ('ipv6: ["fe80::1/64", "fe80::2/64"]', "ipv6.0: fe80::1 cannot be the address of one end of a link"),
        ('ipv6: ["fe80::1%eth0/64", "fe80::2/64"]', "ipv6.0: "),
        ('ipv6: ["ff02::1/64", "ff02::2/64"]', "ff02::1 cannot be"),
        ('ipv6: ["::1/64", "::2/64"]', "::1 cannot be"),
        ('ipv6: ["::ffff:1.2.3.4/96", "::ffff:1.2.3.5/96"]', "cannot be the address of one end"),
        ('ipv6: ["fd00::/64", "fd00::2/64"]', "fd00:: cannot be"),
        ("ipv4: [198.18.1.5/24, 198.18.1.6/24]", 'the prefix 198.18.1.0/24 overlaps 198.18.1.0/24 of the link "r1-h2"'),
        ("ipv4: [198.18.9.5/15, 198.18.1.6/15]", 'the prefix 198.18.0.0/15 overlaps 198.18.1.0/24 of the link "r1-h2"'),
        ('ipv6: ["2001:2:0:1::8/80", "2001:2:0:1::9/80"]', "overlaps 2001:2:0:1::/64 of the link"),
    ],
)
def test_addresses_that_cannot_be(problems: Callable[[str], list[str]], addresses: str, message: str) -> None:
    actual_problems = problems(HAND.format(first=addresses, second="mtu: 1500"))
    assert 1 <= len(actual_problems) <= 2, "one for each address at most"
    assert all(line.startswith("test.yaml:5: topology.links.0.ip") for line in actual_problems)
    assert message in actual_problems[0]


def test_of_two_that_overlap_the_later_is_told(problems: Callable[[str], list[str]]) -> None:
    [problem] = problems(HAND.format(first="ipv4: [10.1.0.1/24, 10.1.0.2/24]", second="ipv4: [10.0.0.1/8, 10.0.0.2/8]"))
    assert problem.startswith(
        "test.yaml:6: topology.links.1.ipv4: the prefix 10.0.0.0/8 overlaps 10.1.0.0/24 of the link"
    )
