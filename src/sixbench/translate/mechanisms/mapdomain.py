"""Options of `sixbench translate map-t` and `map-e` for a domain's rule."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from ...model.errors import UsageError
from ...model.map_rule import DEFAULT_PSID_OFFSET, MAX_EA_BITS, MAX_PSID_OFFSET, Rule, RuleError
from ..option import Given, Option, fields, ipv4_net, ipv6, ipv6_prefix, number
from .router import refuse_router, with_router
from .translating import siit_line
from .tunnels import tunnel_line

IPV6_BITS = 128
"""The longest End-user IPv6 prefix: here there are no subnets that need a place in it."""

_EA_BITS, _PSID_OFFSET = number(0, MAX_EA_BITS), number(0, MAX_PSID_OFFSET)
_A_RULE = "PREFIX,IPV4/N,EA-BITS[,OFFSET], such as 2001:db8:100::/40,203.0.113.0/24,16"

RULE_OPTIONS = (
    Option(
        name="rule-prefix",
        read=ipv6_prefix,
        is_required=True,
        help="The Rule IPv6 prefix, with which the IPv6 prefixes of all customer edges begin.",
    ),
    Option(
        name="rule-ipv4",
        read=ipv4_net,
        is_required=True,
        help="The Rule IPv4 prefix: the addresses that the customer edges share.",
    ),
    Option(
        name="ea-bits",
        read=_EA_BITS,
        is_required=True,
        help="Number of bits after the rule prefix: those of the IPv4 address behind its prefix, then the PSID.",
    ),
    Option(
        name="psid-offset",
        read=_PSID_OFFSET,
        help=f"Number of bits of a port before the PSID; default: {DEFAULT_PSID_OFFSET}.",
    ),
    Option(
        name="rule",
        metavar="PREFIX,IPV4/N,EA-BITS[,OFFSET]",
        read=fields(_A_RULE, ipv6_prefix, ipv4_net, _EA_BITS, _PSID_OFFSET, optional=1),
        is_repeated=True,
        help="A further rule of the domain, such as 2001:db8:100::/40,203.0.113.0/24,16; may be repeated.",
    ),
    Option(
        name="ce",
        read=ipv6_prefix,
        help="Be the customer edge with this End-user IPv6 prefix; default: the border relay.",
    ),
    Option(name="mesh", help="A customer edge: send to the others directly, by the rule, and take what they send."),
)

DMR_PREFIX = Option(
    name="dmr-prefix",
    read=ipv6_prefix,
    is_required=True,
    help="The prefix of the Default Mapping Rule, in which IPv4 addresses outside are embedded (RFC 6052).",
)

HAIRPIN = Option(
    name="hairpin",
    help="The border relay: translate packets from one customer edge to another's IPv4 address twice, back to IPv6.",
)

BORDER_RELAY = Option(
    name="br",
    read=ipv6,
    is_required=True,
    help="The border relay's address: customer edges send packets to it, and accept packets only from it.",
)


@dataclass(frozen=True, kw_only=True)
class _MapNode:
    """A node of a domain.

    Attributes:
        domain: its rules, as docs/protocol.md has them.
        address: the MAP IPv6 address of a customer edge; None: it is the border relay.
    """

    domain: dict[str, Any]
    address: IPv6Address | None


def _map_node(given: Given) -> _MapNode:
    """The border relay, or a customer edge. Raises `UsageError` where it cannot be."""
    rules = rules_of(given)
    if "ce" not in given:
        return _MapNode(domain={"own": None, "rules": [rule.told for rule in rules]}, address=None)
    rule, ipv4, psid = edge_of(given)
    others = [rule.told for rule in rules] if given.get("mesh") else []
    provisioned = rule.provisioned(ipv4, psid).told
    return _MapNode(domain={"own": provisioned, "rules": others}, address=rule.address(ipv4, psid))


def edge_of(given: Given) -> tuple[Rule, IPv4Address, int]:
    """The rule of the customer edge, its IPv4 address or the first of its prefix, and its PSID. Raises `UsageError`
    where no customer edge has its prefix."""
    prefix, rules = IPv6Network(given["ce"]), rules_of(given)
    for rule in rules:
        pair = rule.of_prefix(prefix)
        if pair is not None:
            return rule, *pair
    ways = " or ".join(f"{rule.end_user_bits} bits and begins with {rule.ipv6}" for rule in rules)
    raise UsageError(f"{prefix} is the prefix of no customer edge: one has {ways}")


def rules_of(given: Given) -> list[Rule]:
    """The rules of the domain, the one that has options of its own first. Raises `UsageError`."""
    first = [given["rule-prefix"], given["rule-ipv4"], given["ea-bits"]]
    offset = given.get("psid-offset", DEFAULT_PSID_OFFSET)
    rules = []
    for prefix, net, ea_bits, *own_offset in [first, *given.get("rule", [])]:
        [psid_offset] = own_offset or [offset]
        rule = Rule(ipv6=IPv6Network(prefix), ipv4=IPv4Network(net), ea_bits=ea_bits, psid_offset=psid_offset)
        try:
            rule.check(IPV6_BITS)
            rule.check_hosts(allow_reserved=given.get("allow-reserved", False))
            if "dmr-prefix" in given:
                rule.check_apart(IPv6Network(given["dmr-prefix"]))
        except RuleError as error:
            raise UsageError(str(error)) from error
        rules.append(rule)
    return rules


def map_t_line(given: Given) -> dict[str, Any]:
    """The first line for a node of MAP-T."""
    names = {option.name for option in (*RULE_OPTIONS, DMR_PREFIX)}
    others = {name: value for name, value in given.items() if name not in names}
    line = siit_line(others | {"prefix": [given["dmr-prefix"]]})
    line["siit"]["domain"] = _map_node(given).domain
    return line


def map_e_line(given: Given) -> dict[str, Any]:
    """The first line for a node of MAP-E."""
    node = _map_node(given)
    if node.address is None:
        line = tunnel_line({**given, "local": given["br"]}, "map-e", "ipv6", "ipv4", {"kind": "map", **node.domain})
        return with_router(line, given)
    refuse_router(given, "a customer edge")
    mapping = {"kind": "map", **node.domain, "border_relay": given["br"]}
    return tunnel_line({**given, "local": str(node.address)}, "map-e", "ipv6", "ipv4", mapping)
