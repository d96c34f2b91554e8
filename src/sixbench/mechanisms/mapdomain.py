"""Parts that MAP-T and MAP-E share: the options of a domain's rule, its customer edges, and their translation of
addresses and ports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from ..model.map_rule import (
    DEFAULT_PSID_OFFSET,
    DEFAULT_RULE_IPV4,
    DEFAULT_RULE_PREFIX,
    MAX_EA_BITS,
    Rule,
    RuleError,
)
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.stage import SourceNat, Stage
from ..model.topology import Topology
from .common import check_named_once, check_overlap
from .kind import MechanismError

DEFAULT_EA_BITS = 6
"""64 port sets, each of 1008 ports."""
MAX_PSID_OFFSET = 10
"""A port set then has 1023 ranges. A ruleset has a chain for each."""
MAX_CES = 32

RULE_PREFIX = Parameter(
    name="rule-prefix",
    kind="ipv6-prefix",
    doc="the Rule IPv6 prefix, with which the IPv6 prefixes of all customer edges begin",
    default=DEFAULT_RULE_PREFIX,
)
RULE_IPV4 = Parameter(
    name="rule-ipv4",
    kind="ipv4-prefix",
    doc="the Rule IPv4 prefix: the addresses that the customer edges share",
    default=DEFAULT_RULE_IPV4,
)
EA_BITS = Parameter(
    name="ea-bits",
    kind="count",
    doc="number of bits after the rule prefix: those of the IPv4 address behind its prefix, then the PSID",
    minimum=0,
    maximum=MAX_EA_BITS,
    default=DEFAULT_EA_BITS,
)
PSID_OFFSET = Parameter(
    name="psid-offset",
    kind="count",
    doc="number of bits of a port before the PSID; 0: a customer edge's ports are one range",
    minimum=0,
    maximum=MAX_PSID_OFFSET,
    default=DEFAULT_PSID_OFFSET,
)
RULE_OPTIONS = (RULE_PREFIX, RULE_IPV4, EA_BITS, PSID_OFFSET)
_OPTION_OF = {"ipv6": "rule-prefix", "ipv4": "rule-ipv4", "ea_bits": "ea-bits", "psid_offset": "psid-offset"}


@dataclass(frozen=True, kw_only=True)
class CustomerEdge:
    """A customer edge of a domain.

    Attributes:
        number: from 1 on.
        ipv4: the address that it has, maybe with others.
        psid: of its ports.
        rule: the domain's.
    """

    number: int
    node: str
    ipv4: IPv4Address
    psid: int
    rule: Rule

    @property
    def prefix(self) -> IPv6Network:
        """Its End-user IPv6 prefix."""
        return self.rule.end_user_prefix(self.ipv4, self.psid)

    @property
    def address(self) -> IPv6Address:
        """Its MAP IPv6 address."""
        return self.rule.address(self.ipv4, self.psid)

    @property
    def own_rule(self) -> Rule:
        """The rule that it alone has."""
        return self.rule.provisioned(self.ipv4, self.psid)

    @property
    def port_ranges(self) -> list[str]:
        """Its ports, as `1024-1039`."""
        return [f"{ports[0]}-{ports[-1]}" for ports in self.rule.ports(self.psid)]


def check_nodes(path: Path, topology: Topology) -> None:
    """Raises `MechanismError` where a node of the domain cannot be one."""
    check_named_once(path)
    for node in path.nodes:
        if topology.nodes[node].kind == "host":
            what = "the border relay is a router and named last" if node == path.nodes[-1] else "a CE is a router"
            raise MechanismError(f'"{node}" is a host; {what}')
        if topology.nodes[node].masquerade:
            raise MechanismError(f'"{node}" masquerades, and {path.mechanism} translates addresses there itself')


def rule_of(path: Path, topology: Topology) -> Rule:
    """The rule that a path's options make. Raises `MechanismError` where it cannot be.

    Args:
        topology: as the mechanism leaves it.
    """
    options = path.options
    rule = Rule(
        ipv6=IPv6Network(str(options.get("rule-prefix", DEFAULT_RULE_PREFIX))),
        ipv4=IPv4Network(str(options.get("rule-ipv4", DEFAULT_RULE_IPV4))),
        ea_bits=int(options.get("ea-bits", DEFAULT_EA_BITS)),
        psid_offset=int(options.get("psid-offset", DEFAULT_PSID_OFFSET)),
    )
    try:
        rule.check()
        rule.check_hosts()
    except RuleError as error:
        raise MechanismError(str(error), _OPTION_OF[error.part]) from error
    if rule.spare_bits:
        raise MechanismError(
            f"{rule.ea_bits} EA bits are fewer than the {rule.suffix_bits} bits of an IPv4 address that follow "
            f"{rule.ipv4}: give at least {rule.suffix_bits}, or a longer IPv4 prefix",
            "ea-bits",
        )
    check_overlap(path, topology, [rule.ipv6], "rule-prefix")
    check_overlap(path, topology, [rule.ipv4], "rule-ipv4")
    return rule


def customer_edges(rule: Rule, nodes: Sequence[str]) -> list[CustomerEdge]:
    """The customer edges of a domain, which have EA bits in order. The first IPv4 address of several is nobody's, nor
    is a first port set with the system ports. Raises `MechanismError` where they are too many."""
    bits = rule.psid_bits
    first = (1 << bits if rule.suffix_bits > 1 else 0) + (1 if bits and not rule.psid_offset else 0)
    most = (1 << rule.ea_bits) - first
    if len(nodes) > most:
        raise MechanismError(
            f"{len(nodes)} CEs need as many values of the {rule.ea_bits} EA bits, and {most} can be used: give more EA "
            "bits",
            "ea-bits",
        )
    address = rule.ipv4.network_address
    return [
        CustomerEdge(
            number=number,
            node=node,
            ipv4=address + ((first + number - 1) >> bits),
            psid=(first + number - 1) & ((1 << bits) - 1),
            rule=rule,
        )
        for number, node in enumerate(nodes, start=1)
    ]


def napt_stage(customer_edge: CustomerEdge, device: str) -> Stage:
    """A customer edge's NAPT44, as a stage of its node."""
    nat44 = SourceNat(outside=customer_edge.ipv4, ports=tuple(customer_edge.port_ranges))
    return Stage(nft=napt(customer_edge, device), tracks=frozenset({4}), nat44=nat44)


def napt(customer_edge: CustomerEdge, device: str) -> str:
    """A customer edge's NAPT44 within its port set (RFC 7597 section 8.1). A target of Linux's NAT has one range of
    ports, so there is a chain for each range, and connections take one after the other. Echoes have identifiers in the
    place of ports (section 8.2). What nobody asked for is dropped; otherwise it would go back to where it came from.
    So is what Linux calls invalid and does not translate; otherwise it would go out with its private address."""
    return napt_within(customer_edge.ipv4, customer_edge.port_ranges, device)


def napt_within(ipv4: IPv4Address, ranges: Sequence[str], device: str) -> str:
    """The same for ranges of ports, such as `1024-1039`."""
    chains = "\n".join(
        f"""  chain range-{index} {{
    meta l4proto {{ tcp, udp }} snat to {ipv4}:{ports}
    meta l4proto icmp snat to {ipv4}:{ports}
    counter drop
  }}"""
        for index, ports in enumerate(ranges)
    )
    targets = ", ".join(f"{index} : goto range-{index}" for index in range(len(ranges)))
    return f"""table ip sixbench_map {{
{chains}
  chain translation {{
    type nat hook postrouting priority srcnat; policy accept;
    oifname "{device}" numgen inc mod {len(ranges)} vmap {{ {targets} }}
  }}
  chain unasked {{
    type filter hook forward priority filter; policy accept;
    iifname "{device}" ct state {{ new, invalid }} counter drop
    oifname "{device}" ct state invalid counter drop
  }}
}}
"""
