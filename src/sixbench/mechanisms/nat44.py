"""The ruleset of the NAT44 behind a translator: what goes out by it, and what does not come in.

Linux's connection tracking translates back what answers a connection. All else from outside it leaves as it is, and the
node would route it: into the translator, if it has an address that stands for an IPv6 host there. RFC 6146 section 3.5
has all such packets dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network

_SOURCE_ROUTE_FAILED = 5
"""The code of Destination Unreachable (RFC 792, RFC 1122 section 3.2.2.1). nft(8) has no name for it."""


def nat44(device: str, inside: Sequence[IPv4Network], *targets: str, pool: IPv4Network | None = None) -> str:
    """The ruleset: what connections from inside become, by the first target that takes them.

    The addresses inside are nobody's outside: what is sent to them is dropped, and what pretends to come from there. So
    is all that goes into the translator and is of no connection. What has a source route is refused, as the translator
    would refuse it (RFC 7915 section 4.1); the node would follow it to the next address before the translator sees it.
    nftables reads source routes that nobody has followed yet. Others have no answer of their own.

    What Linux does not translate goes no further: packets that are of no connection and begin none, and those whose
    source is not inside, such as one of the translator's own prefix (RFC 6146 section 3.5). Errors of routers have
    other sources (RFC 6791).

    Args:
        device: the translator's.
        inside: the addresses of IPv6 hosts between translator and NAT44.
        pool: the addresses of the NAT44 that are the translator's alone; None: it has the node's own address. Then what
            is sent to this and answers no connection is for the node.
    """
    within = f"{{ {', '.join(map(str, inside))} }}"
    rule = f'ip saddr {within} oifname != "{device}"'
    lines = "\n".join(f"    {rule} {target}" for target in targets)
    return f"""table ip sixbench_nat64 {{
  chain outside {{
    type filter hook prerouting priority raw; policy accept;
    ip daddr {within} counter drop
    iifname "{device}" accept
    ip saddr {within} counter drop
{_only_to(pool)}    ip option lsrr exists counter reject with icmp type {_SOURCE_ROUTE_FAILED}
    ip option ssrr exists counter reject with icmp type {_SOURCE_ROUTE_FAILED}
  }}
  chain translation {{
    type nat hook postrouting priority srcnat; policy accept;
{lines}
  }}
  chain untranslated {{
    type filter hook forward priority filter; policy accept;
    oifname "{device}" ct state != {{ established, related }} counter drop
    {rule} ct state invalid counter drop
    iifname "{device}" ip saddr != {within} ct state != related counter drop
  }}
{_unbound(pool)}}}
"""


def _only_to(pool: IPv4Network | None) -> str:
    """Packets from outside are for the pool, and not from there (RFC 6146 section 3.5)."""
    return "" if pool is None else f"    ip daddr != {pool} counter drop\n    ip saddr {pool} counter drop\n"


def _unbound(pool: IPv4Network | None) -> str:
    """Drops packets that still have an address of the pool when Linux has translated back what answers a connection:
    its source is
    told of a host that is not there (RFC 6146 section 3.5.1.2), unless it asks for a connection (section 3.5.2.2) or is
    an error, or of a protocol without sessions (section 3.4)."""
    if pool is None:
        return ""
    to = f"ip daddr {pool}"
    return f"""  chain unbound {{
    type filter hook prerouting priority filter; policy accept;
    {to} tcp flags & (syn | rst) == syn counter drop
    {to} meta l4proto {{ tcp, udp }} counter reject with icmp type host-unreachable
    {to} icmp type {{ echo-request, echo-reply }} counter reject with icmp type host-unreachable
    {to} meta l4proto icmp counter drop
    {to} counter reject with icmp type prot-unreachable
  }}
"""
