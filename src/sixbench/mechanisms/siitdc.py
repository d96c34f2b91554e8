"""SIIT-DC (RFC 7755, RFC 7756): IPv4 clients of a data centre that has IPv6 alone, and of IPv4 servers in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from ipaddress import IPv4Network

from ..engines import EBPF, USER
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.topology import Family, Topology
from . import embedding
from .common import check_overlap
from .jool import JOOL
from .kind import Mechanism, Options
from .parting import FamilyStretch, prefix_option
from .tayga import TAYGA
from .translating import OPTIONS, one_to_one, translated

SERVICE_POOL = IPv4Network("192.0.2.0/24")
"""The IPv4 service addresses of IPv6 servers (RFC 5737)."""
DEFAULT_EDGE_PREFIX = "2001:db8:ed6e::/96"


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    prefix = prefix_option(path, "edge-prefix", DEFAULT_EDGE_PREFIX)

    def table(stretches: Sequence[FamilyStretch]) -> tuple[embedding.Mapping, ...]:
        if len(stretches) == 2:
            return one_to_one(path, stretches, SERVICE_POOL)
        networks = stretches[-1].networks
        return tuple(embedding.Mapping(network, embedding.embed_network(prefix, network)) for network in networks)

    network = _with_hairpin(translated(path, topology, between, table))
    if len(path.nodes) == 1:
        check_overlap(path, network.topology, [SERVICE_POOL])
    else:
        check_overlap(path, network.topology, [prefix], "edge-prefix")
    return network


def _with_hairpin(network: Network) -> Network:
    """The network with a border relay that translates packets from server to server twice (RFC 7755 section 4.4, by RFC
    7757 section 4.2.2). Were they left to the node's routes, a server would see the other one's own address, and answer
    to that."""
    relay, *others = network.translators
    relay = replace(relay, mapping={**relay.mapping, "hairpin": True})
    return replace(network, devices=(relay, *others))


def _server_family(options: Options, nodes: Sequence[str]) -> Family:
    return 6 if len(nodes) == 1 else 4


SIIT_DC = Mechanism(
    name="siit-dc",
    doc="A data centre with IPv6 alone: border relay for IPv4 clients, edge relay for servers (RFC 7755, RFC 7756).",
    family=lambda options: 4,
    server_family=_server_family,
    install=_install,
    node_count=(1, 2),
    node_order="the border relay, then the edge relay if servers have IPv4 alone",
    executed_by=(EBPF, USER, TAYGA, JOOL),
    options=(
        *OPTIONS,
        Parameter(
            name="edge-prefix",
            kind="ipv6-prefix",
            doc="the IPv6 prefix in which the edge relay's table has its servers' addresses",
            default=DEFAULT_EDGE_PREFIX,
        ),
    ),
    sample=("r1",),
)
