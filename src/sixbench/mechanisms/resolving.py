"""Name resolution for mechanisms with a translator: a resolver in one of the nodes, with DNS64 (RFC 6147) for all, or
in a host for its own IPv4 programs (RFC 6535)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Network
from typing import Any

from ..engines.agent import DISCOVER
from ..model.leg import Address
from ..model.network import Network
from ..model.node_names import addresses_by_name, resolver_addresses
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.stage import NodeRequest, Stage
from ..model.topology import Topology
from .common import check_node, legs_of
from .kind import MechanismError
from .parting import DEFAULT_PREFIX, allows_private, prefix_option
from .resolvers import RESOLVERS, TESTED_ZONE, resolver_program

DNS64 = Parameter(
    name="dns64",
    kind="name",
    doc="the node that resolves names for all nodes, with addresses in the prefix for what has IPv4 alone (RFC 6147)",
    unless_given="names resolve by a hosts file",
)

RESOLVER_ADDRESSES = "own"
RESOLVER = Parameter(
    name="resolver",
    kind="choice",
    choices=(RESOLVER_ADDRESSES, *RESOLVERS),
    doc="resolver at the node that dns64 names: sixbench's own, or one of Debian's packages",
    default=RESOLVER_ADDRESSES,
)

READY_NS = 15_000_000_000
"""Longest time that a resolver of others may take to begin."""

_LABELS = re.compile(r"(?!.*\.\.)(?!(.*\.)?arpa\Z).*[^.]", re.IGNORECASE)
"""Names of nodes that DNS can have: no label is empty (RFC 1035 section 3.1), and `arpa` is that of addresses."""


def with_resolver(path: Path, network: Network) -> Network:
    """The network with the resolver that the path's option names; as it is where there is no such option.

    Raises `MechanismError` where the client does not reach that node.
    """
    if DNS64.name not in path.options:
        check_resolver(path)
        return network
    node, topology, client = str(path.options[DNS64.name]), network.topology, network.between[0]
    check_node(topology, node, DNS64.name)
    if not any(address.version == path.family for address in resolver_addresses(topology, client, node)):
        raise MechanismError(
            f'the client "{client}" does not reach the resolver "{node}" over IPv{path.family}: name a node on its '
            f'side of the translator, such as "{path.nodes[0]}"',
            DNS64.name,
        )
    names = addresses_by_name(network)
    server_addresses = [
        address for link in topology.links_of(node) for address in names.get(f"{node}-{link.end_of(node).name}", [])
    ]
    prefix = prefix_option(path, "prefix", DEFAULT_PREFIX)
    _check_names(topology.nodes, DNS64.name)
    asked = {name: tuple(resolver_addresses(topology, name, node)) for name in topology.nodes}
    return replace(
        with_dns64(path, network, node, list(dict.fromkeys(server_addresses)), names, prefix), resolvers=asked
    )


def check_resolver(path: Path) -> None:
    """Raises `MechanismError` where a path says who resolves names, and not where."""
    if RESOLVER.name in path.options and DNS64.name not in path.options:
        raise MechanismError(
            f"resolver needs dns64, the node on which it runs: add it, such as dns64: {path.nodes[-1]}",
            RESOLVER.name,
        )


def with_dns64(
    path: Path,
    network: Network,
    node: str,
    server_addresses: Sequence[Address],
    names: Mapping[str, Iterable[Address]],
    prefix: IPv6Network,
) -> Network:
    """The network with the path's resolver in a node, ours or another, which makes addresses in the prefix.

    Args:
        server_addresses: the addresses at which it answers.
    """
    other = RESOLVERS.get(str(path.options.get(RESOLVER.name, RESOLVER_ADDRESSES)))
    authority = authority_of(network.topology, node, network.between[1])
    untracked = _untracked(authority) if authority is not None and _tracks_ipv4(network, node) else ""
    if other is None:
        forward = {} if authority is None else {"forward": {"zone": TESTED_ZONE, "server": str(authority)}}
        dns64 = {"prefix": str(prefix), **({"allow_non_global": True} if allows_private(path) else {}), **forward}
        return with_answers(network, node, server_addresses, names, dns64, {}, nft=untracked)
    program = resolver_program(other, server_addresses, prefix, names, authority)
    begun = Stage(programs=(program,), nft=untracked)
    ready = Stage(requests=tuple(resolver_ready(address, prefix, other.program) for address in server_addresses))
    return replace(network, stages=(*network.stages, {node: begun}, {node: ready}))


def authority_of(topology: Topology, node: str, server: str) -> Address | None:
    """The server's address, by which a resolver asks it as an authority (`TESTED_ZONE`). None: it cannot, or it is the
    server itself."""
    if node == server or not topology.route(node, server, 4):
        return None
    return legs_of(topology, (node, server), 4)[-1].destination


def _tracks_ipv4(network: Network, node: str) -> bool:
    """True if the node tracks connections over IPv4, as a translator with Linux's NAT44 does."""
    return any(4 in stages[node].tracks for stages in network.stages if node in stages)


def _untracked(authority: Address) -> str:
    """A ruleset by which the node tracks none of the questions to the authority: they are its own, and many."""
    return f"""table ip sixbench_questions {{
  chain asked {{
    type filter hook output priority raw; policy accept;
    ip daddr {authority} udp dport 53 notrack
  }}
  chain answered {{
    type filter hook prerouting priority raw; policy accept;
    ip saddr {authority} udp sport 53 notrack
  }}
}}
"""


def resolver_ready(address: Address, prefix: IPv6Network, program: str) -> NodeRequest:
    """Asks a resolver in its own node until it answers, with addresses in the prefix (RFC 7050 section 3)."""

    def check(answer: Mapping[str, Any]) -> str | None:
        prefix_text = answer.get("prefix")
        return (
            None
            if prefix_text == str(prefix)
            else f"{program} makes addresses in {prefix_text}, where {prefix} was asked for"
        )

    fields = {"by": "dns64", "resolver": str(address), "timeout_ns": READY_NS}
    return NodeRequest(op=DISCOVER, fields=fields, check=check)


def with_extension(
    network: Network, node: str, address: IPv4Address, known_as: Mapping[Address, IPv4Address]
) -> Network:
    """The network with an extension name resolver in a host, for that host alone: names that have IPv6 addresses alone
    have IPv4 ones too (RFC 6535 section 2.3.1).

    Args:
        address: the host's IPv4 address.
        known_as: the IPv4 addresses that stand there for IPv6 ones.
    """
    _check_names(network.topology.nodes, None)
    names = {
        name: results
        + (
            []
            if any(result.version == 4 for result in results)
            else [known_as[result] for result in results if result in known_as]
        )
        for name, results in addresses_by_name(network).items()
    }
    return with_answers(network, node, [address], names, {}, {node: (address,)})


def with_answers(
    network: Network,
    node: str,
    server_addresses: Iterable[Address],
    names: Mapping[str, Iterable[Address]],
    more: Mapping[str, Any],
    asked: Mapping[str, tuple[Address, ...]],
    *,
    nft: str = "",
) -> Network:
    """The network with a resolver in a node, which has the names of all.

    Args:
        server_addresses: the addresses at which it answers.
        more: what it is told besides.
        asked: by node that asks it, its addresses.
        nft: a ruleset that comes with it.
    """
    start = NodeRequest(
        op="dns-start",
        fields={
            "addresses": [str(address) for address in server_addresses],
            **more,
            "names": [{"name": name, "addresses": list(map(str, results))} for name, results in names.items()],
        },
        undo=NodeRequest(op="dns-stop", fields={}),
    )
    return replace(network, resolvers=asked, stages=(*network.stages, {node: Stage(requests=(start,), nft=nft)}))


def _check_names(nodes: Iterable[str], option: str | None) -> None:
    """Raises `MechanismError` where a name is none in DNS, or is another's but for case (RFC 4343)."""
    seen: dict[str, str] = {}
    for node in nodes:
        if not _LABELS.fullmatch(node):
            raise MechanismError(
                f'DNS has no name "{node}": give the node one without two dots in a row that ends neither with '
                "a dot nor with arpa",
                option,
            )
        other = seen.setdefault(node.lower(), node)
        if other != node:
            raise MechanismError(
                f'to DNS "{other}" and "{node}" are one name (RFC 4343): give one of the nodes another', option
            )
