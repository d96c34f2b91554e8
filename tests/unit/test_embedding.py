"""Addresses of one family in the other."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sixbench.mechanisms.embedding import (
    PREFIX_LENGTHS,
    Mapping,
    check_prefix,
    embed,
    embed_network,
    find,
    parse_table,
    table_of,
)

pytestmark = pytest.mark.computes


@pytest.mark.parametrize(
    ("prefix", "address"),
    [
        ("2001:db8::/32", "2001:db8:c000:221::"),
        ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
        ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
        ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
        ("64:ff9b::/96", "64:ff9b::192.0.2.33"),
    ],
)
def test_the_examples_of_rfc_6052(prefix: str, address: str) -> None:
    """Section 2.4, tables 2 and 3."""
    assert embed(IPv6Network(prefix), IPv4Address("192.0.2.33")) == IPv6Address(address)


@pytest.mark.parametrize(
    ("prefix", "words"), [("2001:db8::/33", "another length"), ("2001:db8:1:2:f00::/96", "octet 8")]
)
def test_prefixes_that_cannot_embed(prefix: str, words: str) -> None:
    assert words in (check_prefix(IPv6Network(prefix)) or "")


@given(
    st.sampled_from(PREFIX_LENGTHS),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 32),
)
def test_an_address_is_in_the_prefix_of_its_network(length: int, first: int, other: int, bits: int) -> None:
    prefix = IPv6Network(("2001:db8::", length))
    network = IPv4Network((first, bits), strict=False)
    embedded = embed_network(prefix, network)
    assert embed(prefix, IPv4Address(first)) in embedded
    assert (embed(prefix, IPv4Address(other)) in embedded) == (IPv4Address(other) in network)


@pytest.mark.parametrize(
    ("ipv4", "ipv6"),
    [
        ("192.0.2.1", "2001:db8:aaaa::"),
        ("192.0.2.2", "2001:db8:bbbb::b"),
        ("192.0.2.16", "2001:db8:cccc::"),
        ("192.0.2.24", "2001:db8:cccc::8"),
        ("192.0.2.31", "2001:db8:cccc::f"),
        ("192.0.2.128", "2001:db8:dddd::"),
        ("192.0.2.152", "2001:db8:dddd:0:6000::"),
        ("192.0.2.183", "2001:db8:dddd:0:dc00::"),
        ("192.0.2.191", "2001:db8:dddd:0:fc00::"),
    ],
)
def test_the_table_of_rfc_7757(ipv4: str, ipv6: str) -> None:
    """Section 3.1, figure 1, and section 3.3."""
    table = table_of(
        parse_table(
            {
                "192.0.2.1": "2001:db8:aaaa::",
                "192.0.2.2/32": "2001:db8:bbbb::b/128",
                "192.0.2.16/28": "2001:db8:cccc::/124",
                "192.0.2.128/26": "2001:db8:dddd::/64",
            }
        )
    )
    assert find(table, IPv4Address(ipv4)) == IPv6Address(ipv6)
    assert find(table, IPv6Address(ipv6)) == IPv4Address(ipv4)


def test_suffixes_beyond_those_of_ipv4_are_dropped() -> None:
    """RFC 7757 section 3.3.1: a longer IPv6 suffix loses its last bits."""
    row = Mapping(IPv4Network("192.0.2.128/26"), IPv6Network("2001:db8:dddd::/64"))
    assert row.to_ipv4(IPv6Address("2001:db8:dddd:0:6000::7")) == IPv4Address("192.0.2.152")
    assert find([row], IPv6Address("2001:db8:eeee::1")) is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (7, "is not a table of address mappings"),
        ({}, "1 to 1024 rows"),
        ({"192.0.2.1/33": "2001:db8::1"}, "maps no IPv4 address"),
        ({"192.0.2.0/24": "2001:db8::/121"}, "fewer addresses than 192.0.2.0/24"),
        ({"192.0.2.1": "2001:db8::1", "192.0.2.2": "2001:db8::1"}, "overlap"),
        ({"192.0.2.0/24": "2001:db8::/120", "192.0.2.2": "2001:db8:1::1"}, "overlap"),
        ("192.0.2.1", "maps no IPv4 address"),
        ({"192.0.2.1": "fe80::1%eth0"}, "maps no IPv4 address"),
    ],
)
def test_tables_that_are_wrong(value: object, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        parse_table(value)


def test_a_table_is_kept_in_one_form() -> None:
    kept = parse_table({"192.0.2.1": "2001:DB8::1", "198.51.100.0/24": "2001:db8:1::/120"})
    assert kept == "192.0.2.1/32=2001:db8::1/128 198.51.100.0/24=2001:db8:1::/120"
    assert parse_table(kept) == kept
