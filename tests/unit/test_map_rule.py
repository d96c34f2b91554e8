"""The address arithmetic of MAP, by vectors that the agent's tests run too, and for any rule."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path
from random import Random

import pytest

from sixbench.model.map_rule import Psid, Rule, RuleError

pytestmark = pytest.mark.computes

VECTORS = sorted((Path(__file__).parents[2] / "vectors" / "map").glob("*.json"))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda path: path.stem)
def test_every_vector_holds(vector: Path) -> None:
    document = json.loads(vector.read_text())
    psid = Psid(**document["rule"]["psid"]) if "psid" in document["rule"] else None
    rule = Rule(
        ipv6=IPv6Network(document["rule"]["ipv6"]),
        ipv4=IPv4Network(document["rule"]["ipv4"]),
        ea_bits=document["rule"]["ea_bits"],
        psid_offset=document["rule"]["psid_offset"],
        psid=psid,
    )
    rule.check(128)
    assert rule.protocol_form == document["rule"]
    ipv4, ipv6 = IPv4Address(document["ipv4"]), IPv6Address(document["ipv6"])
    assert rule.address(ipv4, document["psid"]) == ipv6
    assert rule.to_ipv4(ipv6) == (ipv4, document["psid"])
    ranges = [[ports[0], ports[-1]] for ports in rule.ports(document["psid"])]
    assert len(ranges) == document["range_count"]
    assert ranges[: len(document["first_ranges"])] == document["first_ranges"]
    assert ranges[-len(document["last_ranges"]) :] == document["last_ranges"]
    assert all(rule.to_ipv6(ipv4, port) == ipv6 for ends in ranges for port in ends)
    assert all(rule.to_ipv6(ipv4, port) is None for port in document["nobodys_ports"])


def drawn(numbers: Random) -> tuple[Rule, IPv4Address, int]:
    """A rule that is right, an IPv4 address and a PSID in it."""
    ipv4_bits, psid_bits = numbers.randint(0, 32), numbers.randint(0, 16)
    address, psid = numbers.getrandbits(32), numbers.randrange(2**psid_bits)
    is_provisioned = numbers.random() < 0.5
    ea_bits = 32 - ipv4_bits + (0 if is_provisioned else psid_bits)
    rule = Rule(
        ipv6=IPv6Network((numbers.getrandbits(128), numbers.randint(0, 128 - ea_bits)), strict=False),
        ipv4=IPv4Network((address, ipv4_bits), strict=False),
        ea_bits=ea_bits,
        psid_offset=numbers.randint(0, min(15, 16 - psid_bits)),
        psid=Psid(bits=psid_bits, value=psid) if is_provisioned else None,
    )
    return rule, IPv4Address(address), psid


def test_what_two_thousand_rules_map_comes_back() -> None:
    numbers = Random(17)
    for _ in range(2000):
        rule, ipv4, psid = drawn(numbers)
        rule.check(128)
        ipv6 = rule.address(ipv4, psid)
        assert ipv6 in rule.ipv6
        assert rule.to_ipv4(ipv6) == (ipv4, psid)
        port = numbers.randrange(65536)
        actual_ipv6 = rule.to_ipv6(ipv4, port)
        assert (actual_ipv6 and rule.to_ipv4(actual_ipv6)) == (
            None if rule.psid_of(port) is None else (ipv4, rule.psid_of(port))
        )


def test_a_port_is_in_the_set_that_the_algorithm_says() -> None:
    numbers = Random(18)
    for _ in range(200):
        rule, ipv4, psid = drawn(numbers)
        port, sets = numbers.randrange(65536), rule.ports(psid)
        assert any(port in ports for ports in sets) == (rule.psid_of(port) == psid)
        assert rule.address(ipv4, psid) in rule.end_user_prefix(ipv4, psid)


@pytest.mark.parametrize(
    ("ipv6", "ipv4", "ea_bits", "offset", "part", "words"),
    [
        ("2001::/8", "0.0.0.0/0", 49, 0, "ea_bits", "at most 48 EA bits"),
        ("2001:db8::/40", "192.0.2.0/24", 25, 0, "ea_bits", "of 65 bits, and it has at most 64"),
        ("2001:db8::/80", "192.0.2.0/24", 8, 6, "ea_bits", "has at most 64: give a shorter rule prefix"),
        ("2001:db8::/40", "192.0.2.0/24", 16, 9, "psid_offset", "leaves no ports"),
        ("2001:db8::/40", "192.0.2.1/32", 17, 0, "ea_bits", "leaves no ports"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(
    ipv6: str, ipv4: str, ea_bits: int, offset: int, part: str, words: str
) -> None:
    rule = Rule(ipv6=IPv6Network(ipv6, strict=False), ipv4=IPv4Network(ipv4), ea_bits=ea_bits, psid_offset=offset)
    with pytest.raises(RuleError, match=words) as raised:
        rule.check()
    assert raised.value.part == part
