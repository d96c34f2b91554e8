"""What `sixbench translate map-t` and `map-e` are told of a domain's rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network
from typing import Any

from ..model.errors import UsageError
from ..model.map_rule import DEFAULT_PSID_OFFSET, MAX_EA_BITS, MAX_PSID_OFFSET, Rule, RuleError
from .packet_options import Option, ipv4_net, ipv6, ipv6_prefix, number

IPV6_BITS = 128
"""The longest End-user IPv6 prefix: here there are no subnets that need a place in it."""

RULE_OPTIONS = (
    Option(
        name="rule-prefix",
        metavar="PREFIX",
        read=ipv6_prefix,
        is_required=True,
        help="The Rule IPv6 prefix: what the IPv6 prefixes of all customer edges begin with.",
    ),
    Option(
        name="rule-ipv4",
        metavar="IPV4/N",
        read=ipv4_net,
        is_required=True,
        help="The Rule IPv4 prefix: the addresses that the customer edges share.",
    ),
    Option(
        name="ea-bits",
        metavar="N",
        read=number(0, MAX_EA_BITS),
        is_required=True,
        help="How many bits follow the rule prefix: those of the IPv4 address behind its prefix, then the PSID.",
    ),
    Option(
        name="psid-offset",
        metavar="N",
        read=number(0, MAX_PSID_OFFSET),
        help=f"How many bits of a port precede the PSID; default: {DEFAULT_PSID_OFFSET}.",
    ),
    Option(
        name="ce",
        metavar="PREFIX",
        read=ipv6_prefix,
        help="Be the customer edge with this End-user IPv6 prefix; default: the border relay.",
    ),
    Option(name="mesh", help="A customer edge: send to the others directly, by the rule, and take what they send."),
)

DMR_PREFIX = Option(
    name="dmr-prefix",
    metavar="PREFIX",
    read=ipv6_prefix,
    is_required=True,
    help="The prefix of the Default Mapping Rule, in which IPv4 addresses outside are embedded (RFC 6052).",
)


BORDER_RELAY = Option(
    name="br",
    metavar="ADDRESS",
    read=ipv6,
    is_required=True,
    help="The border relay's address: where customer edges send packets, and from where they take them.",
)


@dataclass(frozen=True, kw_only=True)
class MapNode:
    """A node of a domain.

    Attributes:
        domain: its rules, as docs/protocol.md has them.
        address: the MAP IPv6 address of a customer edge; None: it is the border relay.
    """

    domain: dict[str, Any]
    address: IPv6Address | None


def map_node(given: Mapping[str, Any]) -> MapNode:
    """The border relay, or a customer edge. Raises `UsageError` where it cannot be."""
    rule = Rule(
        ipv6=IPv6Network(given["rule-prefix"]),
        ipv4=IPv4Network(given["rule-ipv4"]),
        ea_bits=given["ea-bits"],
        psid_offset=given.get("psid-offset", DEFAULT_PSID_OFFSET),
    )
    try:
        rule.check(IPV6_BITS)
    except RuleError as error:
        raise UsageError(str(error)) from error
    if "ce" not in given:
        return MapNode(domain={"own": None, "rules": [rule.told]}, address=None)
    found = rule.of_prefix(IPv6Network(given["ce"]))
    if found is None:
        raise UsageError(
            f"{given['ce']} is the prefix of no customer edge: one has {rule.end_user_bits} bits and begins with "
            f"{rule.ipv6}"
        )
    rules = [rule.told] if given.get("mesh") else []
    return MapNode(domain={"own": rule.provisioned(*found).told, "rules": rules}, address=rule.address(*found))
