"""Discovery of the NAT64's prefix by a CLAT: it has it from the start, or learns it by a Router Advertisement (RFC
8781) or from a resolver with DNS64 (RFC 7050). Before that, it may ask by DHCP whether it needs IPv4 on its link at all
(RFC 8925)."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv6Network
from typing import Any

from ..engines.agent import DHCP_ASK, DISCOVER
from ..model.device import Discovery
from ..model.network import Network
from ..model.node_names import addresses_by_name, resolver_addresses
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.stage import NodeRequest, Stage
from ..model.topology import Link, Topology
from .common import check_node
from .kind import MechanismError
from .parting import DEFAULT_PREFIX, prefix_option
from .resolving import DNS64 as RESOLVER
from .resolving import check_resolver, with_dns64

STATIC, RA, DNS64 = "static", "ra", "dns64"

DISCOVERY = Parameter(
    name="discovery",
    kind="choice",
    choices=(STATIC, RA, DNS64),
    doc="source of the CLAT's prefix: it has it from the start; the router next to it advertises it (RFC 8781); or "
    "the resolver that dns64 names gives it (RFC 7050)",
    default=STATIC,
)
TELLER = replace(
    RESOLVER,
    doc="the node with the resolver that gives the CLAT the prefix, with discovery: dns64",
    unless_given="none",
)
OPTION_108 = Parameter(
    name="option-108",
    kind="flag",
    doc="whether the CLAT first asks the router next to it by DHCP for an IPv4 address, and learns to do without (RFC "
    "8925)",
    default=False,
)

TIMEOUT_NS = 5_000_000_000
"""Time for which a CLAT asks, with pauses that begin at 100 ms and double (RFC 7559)."""
ROUTER_LIFETIME_S = 1800
"""RFC 4861 section 6.2.1. The prefix has the same lifetime (RFC 8781 section 4.1)."""
V6ONLY_WAIT_S = 1800
"""RFC 8925 section 3.4."""
LEASE_S = 3600
"""Time for which hosts that need IPv4 have their addresses. Nothing depends on it here."""


def discovers(path: Path) -> bool:
    """True if the path's CLAT learns its prefix."""
    return path.options.get(DISCOVERY.name, STATIC) != STATIC


def with_discovery(path: Path, topology: Topology, network: Network) -> Network:
    """The network whose first translator is made once its node has learned the prefix; as it is where it has it from
    the start. Raises `MechanismError` where nobody could tell it.

    Args:
        topology: as it was before it was parted into families.
    """
    by = str(path.options.get(DISCOVERY.name, STATIC))
    check_resolver(path)
    if by != DNS64 and RESOLVER.name in path.options:
        raise MechanismError(
            f"dns64 names the resolver for discovery: dns64, and this is discovery: {by}; leave it out", RESOLVER.name
        )
    asks_dhcp = bool(path.options.get(OPTION_108.name, False))
    if by == STATIC:
        if asks_dhcp:
            raise MechanismError(
                "option-108 needs a CLAT that discovers its prefix: give discovery: ra or dns64, or leave option-108 "
                "out",
                OPTION_108.name,
            )
        return network
    prefix = prefix_option(path, "prefix", DEFAULT_PREFIX)
    if by == RA:
        network, discovery = _advertised(path, network, prefix)
    else:
        network, discovery = _answered(path, network, prefix)
    if asks_dhcp:
        network, asks = _preferring_ipv6(path, topology, network)
        discovery = replace(discovery, dhcp=asks)
    clat, *others = network.translators
    asking = {clat.node: Stage(requests=_requests(discovery))}
    stages = (*network.stages, asking)
    learning = replace(clat, discovery=discovery, after_stages=len(stages))
    return replace(network, devices=(learning, *others), stages=stages)


def _advertised(path: Path, network: Network, prefix: IPv6Network) -> tuple[Network, Discovery]:
    """The router is the next node on the way to the PLAT."""
    clat, link = path.nodes[0], _first_link(path, network)
    router = link.other_end(clat)
    advertise = NodeRequest(
        op="router-advertise",
        fields={
            "device": router.name,
            "prefixes": [],
            "router_lifetime_s": ROUTER_LIFETIME_S,
            "pref64": [{"prefix": str(prefix), "lifetime_s": ROUTER_LIFETIME_S}],
        },
    )
    fields = {"by": RA, "device": link.end_of(clat).name, "timeout_ns": TIMEOUT_NS}
    answer = replace(network, stages=(*network.stages, {router.node: Stage(requests=(advertise,))}))
    return answer, Discovery(by=RA, teller=router.node, fields=fields, prefix=prefix)


def _first_link(path: Path, network: Network) -> Link:
    """The one by which the CLAT reaches the PLAT."""
    clat, plat = path.nodes
    first, *_ = network.topology.route(clat, plat, 6) or []
    return first


def _preferring_ipv6(path: Path, topology: Topology, network: Network) -> tuple[Network, dict[str, Any]]:
    """The network whose next router gives IPv4 addresses to those who need them, and what the CLAT asks it. The
    addresses are those that the ends of the link have where it carries IPv4."""
    clat, link = path.nodes[0], _first_link(path, network)
    before = next(item for item in topology.links if item.name == link.name)
    router, host = before.other_end(clat), before.end_of(clat)
    if router.ipv4 is None or host.ipv4 is None:
        raise MechanismError(
            f'the link "{link.name}" has no IPv4 address that "{router.node}" could give: leave ipv4: none out there, '
            "or leave option-108 out",
            OPTION_108.name,
        )
    serve = NodeRequest(
        op="dhcp-serve",
        fields={
            "device": router.name,
            "server": str(router.ipv4.ip),
            "prefix_bits": router.ipv4.network.prefixlen,
            "first": str(host.ipv4.ip),
            "last": str(host.ipv4.ip),
            "lease_s": LEASE_S,
            "v6only_wait_s": V6ONLY_WAIT_S,
        },
    )
    served = replace(network, stages=(*network.stages, {router.node: Stage(requests=(serve,))}))
    return served, {"device": host.name, "timeout_ns": TIMEOUT_NS}


def _answered(path: Path, network: Network, prefix: IPv6Network) -> tuple[Network, Discovery]:
    """The resolver is the node that the path names."""
    clat, topology = path.nodes[0], network.topology
    if RESOLVER.name not in path.options:
        raise MechanismError(
            f"discovery: dns64 needs a resolver: name its node, such as dns64: {path.nodes[1]}", DISCOVERY.name
        )
    node = str(path.options[RESOLVER.name])
    check_node(topology, node, RESOLVER.name)
    if node == clat:
        raise MechanismError(f'the CLAT "{node}" cannot ask itself: name another node as resolver', RESOLVER.name)
    reached = [address for address in resolver_addresses(topology, clat, node) if address.version == 6]
    if not reached:
        raise MechanismError(
            f'the CLAT "{clat}" does not reach the resolver "{node}" over IPv6: name a node between it and the PLAT, '
            f'such as "{path.nodes[1]}"',
            RESOLVER.name,
        )
    names = addresses_by_name(network)
    answer = with_dns64(path, network, node, reached, names, prefix)
    fields = {"by": DNS64, "resolver": str(reached[0]), "timeout_ns": TIMEOUT_NS}
    return answer, Discovery(by=DNS64, teller=node, fields=fields, prefix=prefix)


def _requests(discovery: Discovery) -> tuple[NodeRequest, ...]:
    discover = NodeRequest(
        op=DISCOVER, fields=discovery.fields, check=lambda answer: wrong_prefix(discovery, answer.get("prefix"))
    )
    return (discover,) if discovery.dhcp is None else (NodeRequest(op=DHCP_ASK, fields=discovery.dhcp), discover)


def wrong_prefix(discovery: Discovery, text: str | None) -> str | None:
    """The problem with what a node learned, as a sentence; None if nothing."""
    if text == str(discovery.prefix):
        return None
    return f"{discovery.teller} announced the prefix {text}, but the PLAT uses {discovery.prefix}"


def needs_discovery(path: Path) -> str | None:
    """The reason why nothing can be learned on a path, as a sentence; None if it can."""
    if discovers(path):
        return None
    return (
        "no CLAT of this path learns its prefix; it is for 464xlat with discovery: ra or dns64, so give that, or name "
        "the paths of this workload with paths: beside its parameters"
    )
