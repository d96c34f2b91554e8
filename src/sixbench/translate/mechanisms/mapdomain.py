"""Parts that MAP-T and MAP-E share: the options for a domain's rules and its customer edges, and what follows from
them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from ...mechanisms import mapdomain
from ...mechanisms.mapdomain import EA_BITS, RULE_IPV4, RULE_PREFIX
from ...mechanisms.mapt import DMR_PREFIX
from ...model.errors import UsageError
from ...model.map_rule import MAX_PSID_OFFSET, Rule, RuleError
from ..option import Given, PacketOption, option_of, reader_of, value_of
from ..readers import fields, ipv4_net, ipv6_prefix

IPV6_BITS = 128
"""The longest End-user IPv6 prefix: here there are no subnets that need a place in it."""
PSID_OFFSET = replace(mapdomain.PSID_OFFSET, maximum=MAX_PSID_OFFSET)
"""Here there is no ruleset that has a chain for each range of ports."""

_FURTHER_RULE = PacketOption(
    name="rule",
    metavar="PREFIX,IPV4/N,EA-BITS[,OFFSET]",
    read=fields(
        "PREFIX,IPV4/N,EA-BITS[,OFFSET], such as 2001:db8:100::/40,203.0.113.0/24,16",
        ipv6_prefix,
        ipv4_net,
        reader_of(EA_BITS),
        reader_of(PSID_OFFSET),
        optional=1,
    ),
    is_repeated=True,
    help="A further rule of the domain, such as 2001:db8:100::/40,203.0.113.0/24,16; may be repeated.",
)
CUSTOMER_EDGE = PacketOption(
    name="ce",
    read=ipv6_prefix,
    help="Be the customer edge with this End-user IPv6 prefix; default: the border relay.",
)
MESH = PacketOption(
    name="mesh", help="A customer edge: send to the others directly, by the rule, and take what they send."
)
DOMAIN_OPTIONS = (
    option_of(RULE_PREFIX, is_required=True),
    option_of(RULE_IPV4, is_required=True),
    option_of(EA_BITS, is_required=True),
    option_of(PSID_OFFSET),
    _FURTHER_RULE,
    CUSTOMER_EDGE,
    MESH,
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


def map_node(given: Given) -> MapNode:
    """The border relay, or a customer edge. Raises `UsageError` where it cannot be."""
    rules = rules_of(given)
    if CUSTOMER_EDGE.name not in given:
        return MapNode(domain={"own": None, "rules": [rule.protocol_form for rule in rules]}, address=None)
    rule, ipv4, psid = edge_of(given)
    others = [rule.protocol_form for rule in rules] if given.get(MESH.name) else []
    provisioned = rule.provisioned(ipv4, psid).protocol_form
    return MapNode(domain={"own": provisioned, "rules": others}, address=rule.address(ipv4, psid))


def edge_of(given: Given) -> tuple[Rule, IPv4Address, int]:
    """The rule of the customer edge, its IPv4 address or the first of its prefix, and its PSID. Raises `UsageError`
    where no customer edge has its prefix."""
    prefix, rules = IPv6Network(given[CUSTOMER_EDGE.name]), rules_of(given)
    for rule in rules:
        pair = rule.of_prefix(prefix)
        if pair is not None:
            return rule, *pair
    ways = " or ".join(f"{rule.end_user_bits} bits and begins with {rule.ipv6}" for rule in rules)
    raise UsageError(f"{prefix} is the prefix of no customer edge: one has {ways}")


def rules_of(given: Given) -> list[Rule]:
    """The rules of the domain, the one that has options of its own first. Raises `UsageError`."""
    first = [given[option] for option in (RULE_PREFIX.name, RULE_IPV4.name, EA_BITS.name)]
    offset = value_of(given, PSID_OFFSET)
    rules = []
    for prefix, net, ea_bits, *own_offset in [first, *given.get(_FURTHER_RULE.name, [])]:
        [psid_offset] = own_offset or [offset]
        rule = Rule(ipv6=IPv6Network(prefix), ipv4=IPv4Network(net), ea_bits=ea_bits, psid_offset=psid_offset)
        try:
            rule.check(IPV6_BITS)
            rule.check_hosts(allow_reserved=given.get("allow-reserved", False))
            if DMR_PREFIX.name in given:
                rule.check_apart(IPv6Network(given[DMR_PREFIX.name]))
        except RuleError as error:
            raise UsageError(str(error)) from error
        rules.append(rule)
    return rules
