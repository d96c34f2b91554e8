"""SIIT (RFC 7915): nodes that translate between IPv4 and IPv6 without state, addresses by RFC 6052 and RFC 7757."""

from __future__ import annotations

from collections.abc import Sequence

from ..engines import EBPF, USER
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.topology import Family, Topology
from . import embedding, jool, tayga
from .common import check_overlap
from .kind import Mechanism, Options
from .parting import ALLOW_PRIVATE, FamilyStretch
from .translating import (
    ERRORS_FROM_DESTINATION,
    LOWEST_IPV6_MTU,
    PREFIX,
    ZERO_CHECKSUM,
    one_to_one,
    pool_option,
    translated,
)

DEFAULT_POOL = "192.0.2.0/24"
"""RFC 5737."""


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    pool = pool_option(path, DEFAULT_POOL)

    def table(stretches: Sequence[FamilyStretch]) -> tuple[embedding.Mapping, ...]:
        if "eam" in path.options:
            return embedding.table_of(str(path.options["eam"]))
        if path.family == 4 and len(stretches) > 2:
            return ()  # between two translators, IPv6 nodes exchange packets with nobody beyond them
        return one_to_one(path, stretches, pool)

    network = translated(path, topology, between, table)
    if "eam" in path.options:
        rows = embedding.table_of(str(path.options["eam"]))
        check_overlap(path, network.topology, [row.ipv4 for row in rows], "eam")
    else:
        check_overlap(path, network.topology, [pool], "pool")
    return network


def _client_family(options: Options) -> Family:
    return 4 if options.get("client") == "ipv4" else 6


def _server_family(options: Options, nodes: Sequence[str]) -> Family:
    client = _client_family(options)
    return client if len(nodes) % 2 == 0 else 4 if client == 6 else 6


SIIT = Mechanism(
    name="siit",
    doc="Stateless translation between IPv4 and IPv6 (RFC 7915) at one router or two.",
    family=_client_family,
    server_family=_server_family,
    install=_install,
    node_count=(1, 2),
    node_order="the translators from the client on",
    executed_by=(EBPF, USER, tayga.TAYGA, jool.JOOL),
    options=(
        Parameter(
            name="client",
            kind="choice",
            choices=("ipv6", "ipv4"),
            doc="the family of the client's side; every translator changes it",
            default="ipv6",
        ),
        PREFIX,
        ALLOW_PRIVATE,
        Parameter(
            name="pool", kind="ipv4-prefix", doc="the IPv4 addresses for IPv6 nodes, one each", default=DEFAULT_POOL
        ),
        Parameter(
            name="eam",
            kind="eam",
            parser=embedding.parse_table,
            doc="explicit address mappings (RFC 7757) instead of the pool's, IPv4 to IPv6",
            unless_given="an address of the pool for each address of an IPv6 node",
        ),
        ZERO_CHECKSUM,
        LOWEST_IPV6_MTU,
        ERRORS_FROM_DESTINATION,
    ),
    sample=("r1",),
)
