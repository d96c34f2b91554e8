"""The packets that a router changes or drops, as one nftables ruleset. This module runs nothing.

Each rule counts the packets that it drops or changes under a name (`nft list counters`), so that these can be told
apart from lost packets.
"""

from __future__ import annotations

from ..model.topology import Node

TABLE = "sixbench"
"""The name of the table. It is of the family inet: one table for IPv4 and IPv6."""

BEFORE_REASSEMBLY = -450
"""A priority before -400 (NF_IP_PRI_CONNTRACK_DEFRAG), where connection tracking reassembles: after it there are no
fragments."""

TOO_BIG = (
    ("too-big", "icmp type destination-unreachable icmp code frag-needed"),
    ("too-big", "icmpv6 type packet-too-big"),
)
"""RFC 1191 section 4, RFC 4443 section 3.2."""

ERRORS = (
    ("icmp-errors", "icmp type { destination-unreachable, source-quench, time-exceeded, parameter-problem }"),
    ("icmp-errors", "icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem }"),
)
"""The ICMP errors of RFC 792 and RFC 4443 section 3. Echo, neighbour discovery and the like are no errors."""

PASSING = frozenset({"clamped", "masqueraded"})
"""The counters of packets that are changed. All other counters are of packets that are dropped."""

FRAGMENTS = {
    "first-fragments": ("ip frag-off & 0x3fff == 0x2000", "frag frag-off 0 frag more-fragments 1"),
    "later-fragments": ("ip frag-off & 0x1fff != 0", "frag frag-off != 0"),
    "fragments": ("ip frag-off & 0x3fff != 0", "exthdr frag exists"),
}
"""RFC 791 section 3.1: more fragments is 0x2000, the offset 0x1fff; RFC 8200 section 4.5."""

UNTRANSLATED = "ct state invalid counter name untranslated drop"
"""Linux leaves packets as they are that are of no connection and begin none, such as a reset of a connection that it
has not seen, and would forward them with the source that they came with."""

UNMATCHED = "meta l4proto 253 drop"
"""RFC 3692 section 2.1 keeps protocol 253 for experiments; no workload is one."""


def ruleset(node: Node) -> str:
    """The ruleset for `nft -f`; empty where the node has no rules."""
    if not node.filters:
        return ""
    counters: list[str] = []
    chains: list[str] = []
    if node.drop != "none":
        counters.append(node.drop)
        rules = [f"{match} counter name {node.drop} drop" for match in FRAGMENTS[node.drop]]
        chains += _chain("fragments", f"type filter hook prerouting priority {BEFORE_REASSEMBLY}", rules)
    if node.icmp != "all":
        errors = TOO_BIG if node.icmp == "no-too-big" else ERRORS
        counters.append(errors[0][0])
        rules = [f"{match} counter name {name} drop" for name, match in errors]
        chains += _chain("errors", "", rules)
        chains += _chain("forwarded", "type filter hook forward priority filter", ["jump errors"])
        chains += _chain("sent", "type filter hook output priority filter", ["jump errors"])
    if node.filter_rules:
        chains += _chain("rules", "type filter hook forward priority filter", [UNMATCHED] * node.filter_rules)
    if node.mss_clamp:
        counters.append("clamped")
        rule = "tcp flags syn counter name clamped tcp option maxseg size set rt mtu"
        chains += _chain("clamping", "type filter hook forward priority mangle", [rule])
    if node.masquerade:
        counters += ["masqueraded", "untranslated"]
        ports = " fully-random" if node.nat_ports == "random" else ""
        rule = f'oifname != "lo" fib saddr type != local counter name masqueraded masquerade{ports}'
        chains += _chain("translation", "type nat hook postrouting priority srcnat", [rule])
        chains += _chain("untranslated", "type filter hook forward priority filter", [UNTRANSLATED])
    lines = [f"table inet {TABLE} {{", *(f"  counter {name} {{ }}" for name in counters), *chains, "}"]
    return "\n".join(lines) + "\n"


def _chain(name: str, hook: str, rules: list[str]) -> list[str]:
    first = [f"    {hook}; policy accept;"] if hook else []
    return [f"  chain {name} {{", *first, *(f"    {rule}" for rule in rules), "  }"]
