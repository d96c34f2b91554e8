"""NAT64 (RFC 6146) and 464XLAT (RFC 6877): translation between the families, and of IPv4 addresses and ports behind it.

The stateless translator gives each IPv6 address an IPv4 address that nobody outside sees, and the node's NAT44 gives
its connections an address and a port of the node. So the state is that of Linux's connection tracking.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

from ..engines import EBPF, USER
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.stage import SourceNat, Stage
from ..model.topology import Topology
from . import embedding, jool
from .common import check_overlap, legs_of
from .discovering import DISCOVERY, OPTION_108, TELLER, with_discovery
from .kind import Mechanism, MechanismError
from .nat44 import nat44
from .parting import ALLOW_PRIVATE, FamilyStretch, prefix_option
from .resolving import DNS64, RESOLVER, with_resolver
from .translating import ERRORS_FROM_DESTINATION, LOWEST_IPV6_MTU, PREFIX, ZERO_CHECKSUM, one_to_one, translated

INSIDE = IPv4Network("100.64.0.0/16")
"""The addresses between translator and NAT44 (RFC 6598)."""
DEFAULT_CLAT_PREFIX = "2001:db8:c1a7::/96"
HOST = IPv4Address("192.0.0.2")
"""A host that is its own CLAT has an address of the IPv4 service continuity prefix (RFC 7335)."""
FIRST_PORT = 1024

XLAT_ZERO_CHECKSUM = replace(
    ZERO_CHECKSUM,
    doc="treatment of UDP over IPv4 without a checksum (RFC 6146 section 3.4, RFC 7915 section 4.5)",
    default=None,
    unless_given="compute by the PLAT, drop by the CLAT",
)
NAT64_ZERO_CHECKSUM = replace(XLAT_ZERO_CHECKSUM, default="compute", unless_given=ZERO_CHECKSUM.unless_given)
CLAT_PREFIX = Parameter(
    name="clat-prefix",
    kind="ipv6-prefix",
    doc="the IPv6 prefix in which the CLAT embeds its clients' addresses (RFC 6052)",
    default=DEFAULT_CLAT_PREFIX,
)

PORTS = Parameter(
    name="ports",
    kind="count",
    doc="number of ports, from 1024 on, that the connections of all clients share",
    minimum=1,
    maximum=65536 - FIRST_PORT,
    unless_given="what Linux takes: the client's own port where it is free",
)


def _nat64(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    network = translated(
        path, topology, between, lambda stretches: one_to_one(path, stretches, INSIDE), through_node=path.nodes
    )
    check_overlap(path, network.topology, [INSIDE])
    if path.engine == jool.JOOL.name:
        return with_resolver(path, _by_jool(path, network))
    return with_resolver(path, _masqueraded(path, _computing(path, network), [INSIDE]))


def _computing(path: Path, network: Network) -> Network:
    """The network whose last translator gives UDP without a checksum one, unless the path says otherwise: a NAT64 has
    to (RFC 6146 section 3.4)."""
    last = network.translators[-1]
    mapping = {**last.mapping, "zero_checksum": str(path.options.get(ZERO_CHECKSUM.name, "compute"))}
    translator = replace(last, mapping=mapping)
    return replace(network, devices=tuple(translator if device is last else device for device in network.devices))


def _by_jool(path: Path, network: Network) -> Network:
    """The network with Jool as translator, which keeps the state itself: its pool is the address that its node has
    towards the server."""
    if path.options.get("zero-checksum") == "drop":
        raise MechanismError(
            "Jool's nat64 always computes the checksum of UDP that has none; leave zero-checksum out, or give compute",
            "zero-checksum",
        )
    *others, last = network.legs
    [seen, *_] = legs_of(network.topology, (last.near, last.far), 4)
    (device,) = network.translators
    count = int(path.options.get("ports", 65536 - FIRST_PORT))
    mapping = {"kind": jool.NAT64, "pool4": str(seen.source), "ports": f"{FIRST_PORT}-{FIRST_PORT - 1 + count}"}
    translator = replace(
        device,
        prefixes=tuple(prefix for prefix in device.prefixes if prefix.version == 6),
        mapping={**device.mapping, "explicit": [], "zero_checksum": "compute", **mapping},
        through_node=False,
    )
    return replace(network, legs=(*others, replace(last, source=seen.source)), devices=(translator,))


def _464xlat(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    prefix = prefix_option(path, "clat-prefix", DEFAULT_CLAT_PREFIX)
    inside: list[IPv4Network] = []

    def table(stretches: Sequence[FamilyStretch]) -> tuple[embedding.Mapping, ...]:
        inside.extend(stretches[0].networks)
        return tuple(embedding.Mapping(network, embedding.embed_network(prefix, network)) for network in inside)

    network = translated(path, topology, between, table, through_node=path.nodes[1:], client_ip=HOST)
    check_overlap(path, network.topology, [prefix], "clat-prefix")
    return with_discovery(path, topology, _masqueraded(path, _computing(path, network), inside))


def _masqueraded(path: Path, network: Network, inside: Iterable[IPv4Network]) -> Network:
    """The network with NAT44 at the last translator, which the server sees instead of the client."""
    *others, last = network.legs
    [seen, *_] = legs_of(network.topology, (last.near, last.far), 4)
    device = network.translators[-1]
    ports = path.options.get("ports")
    target = "masquerade" if ports is None else f"masquerade to :{FIRST_PORT}-{FIRST_PORT - 1 + int(ports)}"
    of_ports = "" if ports is None else "meta l4proto { tcp, udp } "
    ruleset = nat44(device.device, list(inside), f"{of_ports}{target}", "masquerade")
    chosen = () if ports is None else (f"{FIRST_PORT}-{FIRST_PORT - 1 + int(ports)}",)
    stage = Stage(nft=ruleset, tracks=frozenset({4}), nat44=SourceNat(ports=chosen))
    legs = (*others, replace(last, source=seen.source))
    return replace(network, legs=legs, stages=(*network.stages, {last.near: stage}))


NAT64 = Mechanism(
    name="nat64",
    doc="Stateful translation for IPv6 clients of IPv4 servers (RFC 6146), by the node's connection tracking.",
    family=lambda options: 6,
    server_family=lambda options, nodes: 4,
    install=_nat64,
    node_count=(1, 1),
    executed_by=(EBPF, USER, jool.JOOL),
    options=(
        PREFIX,
        ALLOW_PRIVATE,
        NAT64_ZERO_CHECKSUM,
        LOWEST_IPV6_MTU,
        ERRORS_FROM_DESTINATION,
        PORTS,
        DNS64,
        RESOLVER,
    ),
    sample=("r1",),
)
FOUR_SIX_FOUR_XLAT = Mechanism(
    name="464xlat",
    doc="IPv4 over an IPv6 network by a CLAT without state and a PLAT, which is a NAT64 (RFC 6877).",
    family=lambda options: 4,
    install=_464xlat,
    node_count=(2, 2),
    node_order="the CLAT, which may be the client itself, then the PLAT",
    executed_by=(EBPF, USER),
    options=(
        PREFIX,
        ALLOW_PRIVATE,
        XLAT_ZERO_CHECKSUM,
        LOWEST_IPV6_MTU,
        ERRORS_FROM_DESTINATION,
        CLAT_PREFIX,
        PORTS,
        DISCOVERY,
        TELLER,
        RESOLVER,
        OPTION_108,
    ),
    sample=("r1", "r2"),
)
