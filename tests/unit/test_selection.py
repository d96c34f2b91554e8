"""Which pair of addresses a host with both families takes, and the path that shows it."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv6Network, ip_address

import pytest
from installed import Installed, ends

from sixbench.mechanisms import MechanismError, install
from sixbench.mechanisms.selection import DEFAULT_POLICY, by_preference
from sixbench.model.experiment import Experiment
from sixbench.model.leg import Address
from sixbench.model.path import Path

pytestmark = pytest.mark.computes

Read = Callable[[str], Experiment]


def pair(source: str, destination: str) -> tuple[Address, Address]:
    return ip_address(source), ip_address(destination)


V4 = pair("198.51.100.1", "198.51.100.2")


@pytest.mark.parametrize(
    ("others", "prefers_ipv4", "chosen"),
    [
        (pair("2001:db8::1", "2001:db8::2"), False, "other"),
        (pair("2001:db8::1", "2001:db8::2"), True, "ipv4"),
        # 6to4 is below IPv4 in the table of RFC 6724 section 2.1, and matches its own label.
        (pair("2002:c633:6401::1", "2002:c633:6402::1"), False, "ipv4"),
        (pair("2001:db8::1", "2002:c633:6402::1"), False, "ipv4"),
        # Teredo and unique local addresses too.
        (pair("2001::1", "2001::2"), False, "ipv4"),
        (pair("fd00::1", "fd00::2"), False, "ipv4"),
        # Rule 5: labels match before precedence counts.
        (pair("2002:c633:6401::1", "2001:db8::2"), False, "ipv4"),
        # Rule 2: a source of another scope.
        (pair("fe80::1", "2001:db8::2"), False, "ipv4"),
    ],
)
def test_which_destination_a_host_takes(others: tuple[Address, Address], prefers_ipv4: bool, chosen: str) -> None:
    """RFC 6724 section 6."""
    expected = V4 if chosen == "ipv4" else others
    assert by_preference([others, V4], prefers_ipv4)[0] == expected
    assert by_preference([V4, others], prefers_ipv4)[0] == expected


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # Examples of RFC 6724 section 10.2, the one that is taken first.
        (pair("2001:db8:1::2", "2001:db8:1::1"), pair("169.254.13.78", "198.51.100.121")),
        (pair("198.51.100.117", "198.51.100.121"), pair("fe80::1", "2001:db8:1::1")),
        (pair("2001:db8:1::2", "2001:db8:1::1"), pair("10.1.2.4", "10.1.2.3")),
        (pair("fe80::2", "fe80::1"), pair("2001:db8:1::2", "2001:db8:1::1")),
        (pair("2001:db8:1::2", "2001:db8:1::1"), pair("2001:db8:3f44::2", "2001:db8:3ffe::1")),
        (pair("2002:c633:6401::2", "2002:c633:6401::1"), pair("2002:c633:6401::2", "2001:db8:1::1")),
        (pair("2001:db8:1::2", "2001:db8:1::1"), pair("2002:c633:6401::2", "2002:c633:6401::1")),
    ],
)
def test_the_examples_of_rfc_6724(first: tuple[Address, Address], second: tuple[Address, Address]) -> None:
    assert by_preference([second, first]) == [first, second]
    assert by_preference([first, second]) == [first, second]


RFC_6724_POLICY = [
    ("::1/128", 50, 0),
    ("::/0", 40, 1),
    ("::ffff:0:0/96", 35, 4),
    ("2002::/16", 30, 2),
    ("2001::/32", 5, 5),
    ("fc00::/7", 3, 13),
    ("::/96", 1, 3),
    ("fec0::/10", 1, 11),
    ("3ffe::/16", 1, 12),
]
"""Section 2.1: prefix, precedence, label."""


def test_the_policy_table_is_that_of_the_rfc() -> None:
    # Compared as prefixes: Python 3.13 writes ::ffff:0:0/96 in another way than 3.11.
    assert [(prefix, precedence, label) for prefix, precedence, label in DEFAULT_POLICY] == [
        (IPv6Network(prefix), precedence, label) for prefix, precedence, label in RFC_6724_POLICY
    ]


def test_dual_stack_prefers_ipv6_unless_told_otherwise(installed: Installed) -> None:
    assert ends(installed("dual-stack")) == ("2001:2::1", "2001:2:0:2::2")
    assert ends(installed("dual-stack", prefer="ipv4")) == ("198.18.0.1", "198.18.2.2")


def test_dual_stack_over_6to4_addresses_would_take_ipv4(read: Read) -> None:
    text = """
        topology:
          nodes: {h1: host, h2: host}
          links: [{endpoints: [h1, h2], ipv6: ["2002:c612:1:1::1/64", "2002:c612:1:1::2/64"]}]
        paths: {a: native6}
        workloads: [ping]
    """
    topology = read(text).topologies[0]
    path = Path(name="p", mechanism="dual-stack", family=6)
    with pytest.raises(MechanismError, match=r"address selection takes IPv4") as caught:
        install(path, topology, ("h1", "h2"))
    assert caught.value.option == "prefer"
