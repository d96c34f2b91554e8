"""MAP-T (RFC 7599): customer edges translate IPv4 to IPv6 without state, each within its ports of a shared address. The
border relay finds them by address and port, and has no state either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from ..engines import EBPF, USER
from ..model.device import Translator
from ..model.leg import Leg
from ..model.map_rule import Rule, RuleError
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.topology import Family, Link, Topology
from . import embedding
from .common import address_at, carrier, check_overlap, without_family
from .dslite import SUBSCRIBER_POOL, Subscriber, with_private_addresses
from .kind import Mechanism, MechanismError
from .mapdomain import MAX_CES, RULE_OPTIONS, CustomerEdge, check_nodes, customer_edges, napt_stage, rule_of
from .parting import ALLOW_PRIVATE, DEFAULT_PREFIX, allows_private, parts, plain_leg, prefix_option
from .translating import ERRORS_FROM_DESTINATION, LOWEST_IPV6_MTU, ZERO_CHECKSUM, translator

DMR_PREFIX = Parameter(
    name="dmr-prefix",
    kind="ipv6-prefix",
    doc="the prefix of the Default Mapping Rule, in which IPv4 addresses outside are embedded (RFC 6052)",
    default=DEFAULT_PREFIX,
)
HAIRPIN = Parameter(
    name="hairpin",
    kind="flag",
    doc="whether to translate packets from one customer edge to another's IPv4 address twice at the border relay, back "
    "to IPv6",
    default=False,
)


@dataclass(frozen=True, kw_only=True)
class _Domain:
    """A network with a MAP-T domain in it: what lies between customer edges and border relay, and what beyond it."""

    topology: Topology
    inside: tuple[Link, ...]
    outside: tuple[Link, ...]

    def outside_networks(self) -> list[IPv4Network]:
        """The IPv4 networks beyond the border relay."""
        addresses = [
            link.ends[0].ipv4 for link in self.topology.links if link.name in {item.name for item in self.outside}
        ]
        return [address.network for address in addresses if address is not None]


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    *edges, relay = path.nodes
    domain = _domain(path, topology, between)
    rule = rule_of(path, domain.topology)
    dmr = prefix_option(path, "dmr-prefix", DEFAULT_PREFIX)
    check_overlap(path, domain.topology, [dmr], "dmr-prefix")
    try:
        rule.check_apart(dmr)
    except RuleError as error:
        raise MechanismError(str(error), "dmr-prefix") from error
    if dmr == embedding.WELL_KNOWN_PREFIX and not allows_private(path):
        raise MechanismError(
            f"the well-known prefix {dmr} must not stand for the addresses of a lab (RFC 6052 section 3.1): give "
            f"another prefix, such as {DEFAULT_PREFIX}, or allow-private: true",
            "dmr-prefix",
        )
    customers = customer_edges(rule, edges)
    outside = domain.outside_networks()
    devices = [_edge_device(path, domain.topology, customer, dmr, outside) for customer in customers]
    devices.append(_relay_device(path, domain.topology, relay, rule, dmr))
    stage = {
        customer_edge.node: napt_stage(customer_edge, device.device)
        for customer_edge, device in zip(customers, devices, strict=False)
    }
    legs = _legs(path, domain, between, customers, dmr)
    return Network(topology=domain.topology, legs=legs, devices=tuple(devices), stages=(stage,))


def _domain(path: Path, topology: Topology, between: tuple[str, str]) -> _Domain:
    """The network with one family on each link, and private addresses behind customer edges. Raises `MechanismError`
    where the path's nodes do not part it so."""
    *edges, relay = path.nodes
    check_nodes(path, topology)
    inside: list[Link] = []
    outside: list[Link] = []
    behind: dict[str, set[str]] = {node: set() for node in edges}
    for links in parts(topology, set(path.nodes)):
        touched = {end.node for link in links for end in link.ends if end.node in path.nodes}
        if touched == {relay}:
            outside += links
        elif len(touched) == 1:
            behind[next(iter(touched))] |= {end.node for link in links for end in link.ends}
        elif touched:
            inside += links
    client, server = between
    if not any(client in nodes for nodes in behind.values()) or client in path.nodes:
        raise MechanismError(
            f'"{client}" is not behind a CE of {path.mechanism} alone: connections begin there, and the CEs are named '
            "before the border relay"
        )
    if server in path.nodes or not any(server in (end.node for end in link.ends) for link in outside):
        raise MechanismError(
            f'"{server}" is not beyond "{relay}" alone: connections lead through the border relay, which is named last'
        )
    names = {link.name for link in inside}
    ways = {node: carrier(path, topology, node, relay, 6) for node in edges}
    changed = without_family(topology, {link.name for link in topology.links} - names, 6)
    changed = without_family(changed, names, 4)
    for number, node in enumerate(edges, start=1):
        subscriber = Subscriber(number=number, node=node, device=f"{path.mechanism}-{number}", underlay=ways[node])
        changed = with_private_addresses(path, changed, subscriber, names)
    private = {link.name for link in changed.links if link.ipv4_domain is not None}
    check_overlap(path, changed, [SUBSCRIBER_POOL], numbered=private)
    return _Domain(topology=changed, inside=tuple(inside), outside=tuple(outside))


def _legs(
    path: Path, domain: _Domain, between: tuple[str, str], customers: Sequence[CustomerEdge], dmr: IPv6Network
) -> tuple[Leg, ...]:
    """From the client to its customer edge, to the border relay, and to the server."""
    client, server = between
    relay = path.nodes[-1]
    reached = domain.topology.ways(client, 4)
    [customer_edge] = [customer for customer in customers if customer.node in reached]
    home = plain_leg(path, domain.topology, (client, customer_edge.node), 4)
    last = plain_leg(path, domain.topology, (relay, server), 4)
    embedded = embedding.embed(dmr, IPv4Network(last.destination).network_address)
    return (
        replace(home, destination=last.destination),
        Leg(family=6, near=customer_edge.node, far=relay, source=customer_edge.address, destination=embedded),
        replace(last, source=customer_edge.ipv4),
    )


def _edge_device(
    path: Path, topology: Topology, customer_edge: CustomerEdge, dmr: IPv6Network, outside: Sequence[IPv4Network]
) -> Translator:
    prefixes: list[Any] = [*outside, customer_edge.rule.ipv4, customer_edge.prefix]
    domain = {"own": customer_edge.own_rule.protocol_form, "rules": []}
    return _translator(
        path, topology, customer_edge.node, customer_edge.number, dmr, domain, prefixes, through_node=True
    )


def _relay_device(path: Path, topology: Topology, relay: str, rule: Rule, dmr: IPv6Network) -> Translator:
    domain = {"own": None, "rules": [rule.protocol_form]}
    number, prefixes = len(path.nodes), [rule.ipv4, dmr]
    device = _translator(path, topology, relay, number, dmr, domain, prefixes, through_node=False)
    if not path.options.get(HAIRPIN.name):
        return device
    return replace(device, mapping={**device.mapping, "hairpin": True})


def _translator(
    path: Path,
    topology: Topology,
    node: str,
    number: int,
    dmr: IPv6Network,
    domain: dict[str, Any],
    prefixes: Sequence[Any],
    *,
    through_node: bool,
) -> Translator:
    families: tuple[Family, ...] = (4, 6)
    links = {family: [link for link in topology.links_of(node) if link.carries(family)] for family in families}
    mtu6 = min(link.mtu_bytes for link in links[6])
    mtu4 = min((link.mtu_bytes for link in links[4]), default=mtu6)
    address_of = {family: address_at(results[0], node, family) for family, results in links.items() if results}
    rows = {"explicit": [], "domain": domain}
    mtus: dict[Family, int] = {4: mtu4, 6: mtu6}
    return translator(path, node, number, dmr, prefixes, address_of, mtus, rows, through_node=through_node)


MAP_T = Mechanism(
    name="map-t",
    doc="MAP-T (RFC 7599): CEs translate to IPv6, each within its ports; a border relay finds them by a rule.",
    family=lambda options: 4,
    install=_install,
    node_count=(2, MAX_CES + 1),
    node_order="the CEs, then the border relay",
    executed_by=(EBPF, USER),
    options=(
        *RULE_OPTIONS,
        DMR_PREFIX,
        HAIRPIN,
        ALLOW_PRIVATE,
        ZERO_CHECKSUM,
        LOWEST_IPV6_MTU,
        ERRORS_FROM_DESTINATION,
    ),
    sample=("r1", "r2"),
)
