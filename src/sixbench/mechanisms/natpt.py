"""NAT-PT (RFC 2766), as it was: the translator of `nat64` for clients of IPv6, with the DNS-ALG in the same node.

RFC 4966 made it historic. The DNS-ALG is what most of its reasons are about: it has to be where the packets pass, it
changes answers without saying so, and what it says holds only as long as that node translates (sections 3 and 4). RFC
6146 and RFC 6147 came in its place, which part the two. Here the ALG answers as DNS64 does.
"""

from __future__ import annotations

from dataclasses import replace

from ..engines import EBPF, USER
from ..model.network import Network
from ..model.path import Path
from ..model.topology import Topology
from .kind import MechanismError
from .nat64 import NAT64
from .parting import DEFAULT_PREFIX, prefix_option
from .resolving import DNS64, RESOLVER

PREFIX_BITS = 96
"""RFC 2766 section 2: the prefix and an IPv4 address, and nothing between or behind."""


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    prefix = prefix_option(path, "prefix", DEFAULT_PREFIX)
    if prefix.prefixlen != PREFIX_BITS:
        raise MechanismError(
            f"the prefix of nat-pt has {PREFIX_BITS} bits (RFC 2766 section 2), not {prefix.prefixlen}: give another "
            f"one, such as {DEFAULT_PREFIX}",
            "prefix",
        )
    [node] = path.nodes
    return NAT64.install(replace(path, options={**path.options, DNS64.name: node}), topology, between)


NAT_PT = replace(
    NAT64,
    name="nat-pt",
    doc="Translation with a DNS-ALG in the same node (RFC 2766), which RFC 4966 made historic: names resolve only "
    "where the packets pass, and answers are changed unseen.",
    install=_install,
    executed_by=(EBPF, USER),
    held_against="RFC 4966 made it historic. One node must do both, and must see all packets and all questions. Its "
    "DNS-ALG changes answers unseen, against what DNSSEC proves. Its state bounds how many clients there can be. NAT64 "
    "and DNS64 part the two (RFC 6146, RFC 6147).",
    options=tuple(option for option in NAT64.options if option not in (DNS64, RESOLVER)),
)
