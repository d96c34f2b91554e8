"""Helpers of several mechanisms: routes over the carrier, addresses, tunnels, and errors of a path."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Any, Literal

from ..model.device import DEFAULT_TTL, Payload, Tunnel
from ..model.headers import HEADERS
from ..model.leg import Address, Leg, Legs
from ..model.network import Network, passages_of
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.quoting import listed, shown
from ..model.stage import Stage
from ..model.topology import ETHERNET_MIN_MTU_V6, MIN_MTU_V4, Family, Interface, Link, Topology
from .kind import MechanismError, Options

TUNNEL_PREFIX_V6 = IPv6Network("2001:db8::/64")
TUNNEL_PREFIX_V4 = IPv4Network("203.0.113.0/30")
"""Prefixes of tunnels whose mechanism says nothing about addresses (RFC 3849, RFC 5737)."""

MTU = Parameter(
    name="mtu",
    kind="mtu-or-size",
    doc="MTU of the tunnel; where it is more than the carrier has room for, outer packets are fragmented",
    minimum=MIN_MTU_V4,
    maximum=65000,
    unless_given="the room that the carrier's links leave",
)
TTL = Parameter(
    name="ttl",
    kind="count",
    doc="TTL or hop limit of outer packets; 0: the inner packet's",
    minimum=0,
    maximum=255,
    default=DEFAULT_TTL,
)
TOS = Parameter(
    name="tos",
    kind="count",
    doc="TOS octet of outer packets, of which the DSCP is taken",
    minimum=0,
    maximum=255,
    unless_given="the inner packet's",
)
ECN = Parameter(name="ecn", kind="flag", doc="whether to let ECN pass through the tunnel (RFC 6040)", default=True)
PMTU = Parameter(
    name="pmtu",
    kind="choice",
    choices=("static", "dynamic"),
    doc=(
        "static: outer packets may be fragmented; dynamic: they may not, and the source gets an ICMP error (RFC 4213 "
        "section 3.2)"
    ),
    default="static",
)
TUNNEL_OPTIONS = (MTU, TTL, TOS, ECN, PMTU)
"""The options that every tunnel has."""


@dataclass(frozen=True, kw_only=True)
class Carrier:
    """The route that outer packets take between two nodes."""

    first: str
    second: str
    family: Family
    links: tuple[Link, ...]

    def interface(self, node: str) -> Interface:
        """The interface by which `node`, one of the two ends, sends."""
        return self.links[0 if node == self.first else -1].end_of(node)

    def local(self, node: str) -> Address:
        """The address of that interface."""
        return address_at(self.links[0 if node == self.first else -1], node, self.family)


_PRIVATE = tuple(IPv4Network(network) for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))


def is_private(address: IPv4Address) -> bool:
    """True if it is a private address of RFC 1918."""
    return any(address in network for network in _PRIVATE)


def ipv4_of(address: Address) -> IPv4Address:
    """An outer address of a mechanism over IPv4."""
    assert isinstance(address, IPv4Address), "the carrier is IPv4"
    return address


def check_node(topology: Topology, node: str, option: str) -> None:
    """Raises `MechanismError` where the node that an option names is not there."""
    if node not in topology.nodes:
        raise MechanismError(f"there is no node {shown(node)}; known here: {listed(topology.nodes)}", option)


def check_router(topology: Topology, node: str, what: str, option: str) -> None:
    """Raises `MechanismError` where the node that an option names is not there or is a host."""
    check_node(topology, node, option)
    if topology.nodes[node].kind != "router":
        raise MechanismError(f'"{node}" is a host; {what} is a router', option)


def check_named_once(path: Path) -> None:
    """Raises `MechanismError` where the path names a node twice."""
    twice = [node for index, node in enumerate(path.nodes) if node in path.nodes[:index]]
    if twice:
        raise MechanismError(f'{path.mechanism} names "{twice[0]}" twice; name different nodes')


def carrier(
    path: Path, topology: Topology, first: str, second: str, family: Family, *, through_nat: bool = False
) -> Carrier:
    """The route between two nodes over links that carry `family`. Raises `MechanismError` where there is none, or one
    through a NAT unless the mechanism passes these."""
    if first == second:
        raise MechanismError(f'{path.mechanism} names "{first}" twice; name different nodes')
    links = topology.route(first, second, family)
    if not links:
        raise MechanismError(
            f'"{first}" and "{second}" do not reach one another over IPv{family}, which carries {path.mechanism}: '
            "add the missing link (hosts do not forward), or install it elsewhere"
        )
    at = first
    for link in links[:-1]:
        at = link.other_end(at).node
        if topology.nodes[at].masquerade and not through_nat:
            raise MechanismError(
                f'"{at}", between "{first}" and "{second}", masquerades: outer packets of {path.mechanism} would come '
                "from an address that the other end does not know; install it beside, or leave masquerade out there"
            )
    return Carrier(first=first, second=second, family=family, links=tuple(links))


def device_mtu(path: Path, carriers: Iterable[Carrier], headers: tuple[str, ...], inner: Family) -> int:
    """The tunnel's MTU: the option, or what the narrowest link of the carriers leaves. Raises `MechanismError` where
    that is too little for the inner family."""
    overhead_bytes = sum(HEADERS[name].size_bytes for name in headers)
    least = ETHERNET_MIN_MTU_V6 if inner == 6 else MIN_MTU_V4
    reference = "RFC 8200 section 5" if inner == 6 else "RFC 791 section 3.2"
    narrowest = min((link for underlay in carriers for link in underlay.links), key=lambda link: link.mtu_bytes)
    room = narrowest.mtu_bytes - overhead_bytes
    given = path.options.get("mtu")
    if given is not None:
        mtu_bytes = int(given)
        if mtu_bytes < least:
            raise MechanismError(
                f"an MTU of {mtu_bytes} is too small for {path.mechanism}: "
                f"IPv{inner} needs {least} bytes ({reference})",
                "mtu",
            )
        if mtu_bytes > room and path.options.get("pmtu") == "dynamic":
            raise MechanismError(
                f"an MTU of {mtu_bytes} is too large for {path.mechanism} without fragmentation: "
                f"{narrowest.name} leaves {room} bytes; give at most that, or pmtu: static",
                "mtu",
            )
        return mtu_bytes
    if room < least:
        raise MechanismError(
            f"{narrowest.name} has an MTU of {narrowest.mtu_bytes}, of which {path.mechanism} leaves {room} bytes, "
            f"and IPv{inner} needs {least} ({reference}): give the link an MTU of at least "
            f"{least + overhead_bytes}, or the path mtu: {least}B to have its packets fragmented on the way"
        )
    return min(room, 65000)


def make_tunnel(
    path: Path,
    *,
    node: str,
    device: str,
    mtu_bytes: int,
    payload: Payload,
    ways: Iterable[Carrier],
    mapping: dict[str, Any],
    key: int | None = None,
    made_by: str | None = None,
    autoconfigured: bool = False,
    after_stages: int = 0,
    prefixes: tuple[IPv4Network | IPv6Network, ...] = (),
) -> Tunnel:
    """One end of a tunnel, with the options that every tunnel has."""
    ways = list(ways)
    options = path.options
    pmtu: Literal["static", "dynamic"] = "dynamic" if options.get("pmtu") == "dynamic" else "static"
    return Tunnel(
        node=node,
        device=device,
        mtu_bytes=mtu_bytes,
        outer=ways[0].family,
        payload=payload,
        local=ways[0].local(node),
        underlay=tuple(dict.fromkeys(underlay.interface(node).name for underlay in ways)),
        mapping=mapping,
        ttl=int(options.get("ttl", DEFAULT_TTL)) or None,
        tos=None if "tos" not in options else int(options["tos"]),
        ecn=bool(options.get("ecn", True)),
        pmtu=pmtu,
        key=key,
        made_by=made_by,
        autoconfigured=autoconfigured,
        after_stages=after_stages,
        prefixes=prefixes,
    )


def tunnel_link(
    path: Path,
    first: Interface,
    second: Interface,
    mtu_bytes: int,
    headers: tuple[str, ...],
    ipv4_domain: str | None = None,
) -> Link:
    """A tunnel as a link between its two devices."""
    return Link(
        name=f"{path.mechanism}:{first.node}-{second.node}",
        ends=(first, second),
        mtu_bytes=mtu_bytes,
        offload=True,
        headers=headers,
        ipv4_domain=ipv4_domain,
    )


def without_family(topology: Topology, names: set[str], family: Family) -> Topology:
    """The topology in which some links no longer carry a family: a carrier does not know the family that it carries."""
    return with_addresses(topology, dict.fromkeys(names, (None, None)), family)


def with_links(topology: Topology, links: Iterable[Link]) -> Topology:
    """The topology with further links."""
    return replace(topology, links=(*topology.links, *links))


def with_addresses(topology: Topology, addresses: Mapping[str, tuple[Any, Any]], family: Family) -> Topology:
    """The topology with other addresses at the ends of some links, by link name; None takes the family away."""

    def changed(link: Link) -> Link:
        first, second = (
            replace(end, ipv4=address) if family == 4 else replace(end, ipv6=address)
            for end, address in zip(link.ends, addresses[link.name], strict=True)
        )
        return replace(link, ends=(first, second))

    return replace(topology, links=tuple(changed(link) if link.name in addresses else link for link in topology.links))


def site_links(topology: Topology, node: str, carrier_links: set[str]) -> list[Link]:
    """The wires behind `node` that no carrier uses: those that are reached without crossing a carrier's link. None
    behind a host, which does not forward."""
    if topology.nodes[node].kind == "host":
        return []
    links: dict[str, Link] = {}
    seen = {node}
    waiting = deque([node])
    while waiting:
        at = waiting.popleft()
        for link in topology.links_of(at):
            if link.is_tunnel or link.name in carrier_links:
                continue
            links.setdefault(link.name, link)
            other = link.other_end(at).node
            if other not in seen:
                seen.add(other)
                if topology.nodes[other].kind == "router":
                    waiting.append(other)
    return [link for link in topology.links if link.name in links]


def check_site(path: Path, site: Iterable[Link], node: str, members: Collection[str]) -> None:
    """Raises `MechanismError` where another member is in the site of `node`: reached without crossing a carrier."""
    for link in site:
        for end in link.ends:
            if end.node != node and end.node in members:
                raise MechanismError(
                    f'"{end.node}" is in the site behind "{node}", by the link "{link.name}": '
                    f"{path.mechanism} is installed where nothing but its carrier joins the two"
                )


def check_overlap(
    path: Path,
    topology: Topology,
    prefixes: Iterable[Any],
    option: str | None = None,
    numbered: Collection[str] = frozenset(),
) -> None:
    """Raises `MechanismError` where a prefix of the mechanism's is one of a link's too.

    Args:
        topology: as the mechanism leaves it. Links that lost their addresses do not overlap.
        numbered: the links whose addresses come from the mechanism.
    """
    for prefix in prefixes:
        for link in (link for link in topology.wires if link.name not in numbered):
            for end in link.ends:
                address = end.address(6 if prefix.version == 6 else 4)
                if address is not None and address.network.overlaps(prefix):
                    raise MechanismError(
                        f"{path.mechanism} uses the prefix {prefix}, which overlaps {address.network} "
                        f'of the link "{link.name}"; give one of them another',
                        option,
                    )


def legs_of(
    topology: Topology, between: tuple[str, str], family: Family, translating: Collection[str] = frozenset()
) -> Legs:
    """The legs of the route between two hosts: a new one begins where a node masquerades, with its address on the link
    by which it sends. Raises `MechanismError` where there is no route.

    Args:
        translating: further nodes that do the same to packets of this family.
    """
    client, server = between
    passages = passages_of(topology, client, server, family)
    if not passages:
        lacking = [link.name for link in topology.route(client, server) or [] if not link.carries(family)]
        why = f': the link "{lacking[0]}" does not carry it' if lacking else ""
        raise MechanismError(f'no route leads from "{client}" to "{server}" over IPv{family}{why}')
    sources = [address_at(passage.link, passage.near, family) for passage in passages]
    starts = [0] + [
        index
        for index, passage in enumerate(passages)
        if index and (topology.nodes[passage.near].masquerade or passage.near in translating)
    ]
    return tuple(
        Leg(
            family=family,
            near=passages[start].near,
            far=passages[end].near if end is not None else server,
            source=sources[start],
            destination=address_at(passages[-1].link, server, family),
        )
        for start, end in zip(starts, [*starts[1:], None], strict=True)
    )


def address_at(link: Link, node: str, family: Family) -> Address:
    """The address of a node at a link that carries the family."""
    address = link.end_of(node).address(family)
    assert address is not None, "a link that carries a family has addresses of it at both ends"
    return address.ip


def finish(
    path: Path,
    topology: Topology,
    between: tuple[str, str],
    tunnels: Iterable[Tunnel],
    family: Family,
    stages: Iterable[Mapping[str, Stage]] = (),
    translating: Collection[str] = frozenset(),
) -> Network:
    """The network with the path in it. Raises `MechanismError` where the route between the hosts does not go through
    the tunnel. `translating` is that of `legs_of`."""
    client, server = between
    names = " and ".join(f'"{node}"' for node in path.nodes)
    if not topology.route(client, server, family):
        raise MechanismError(
            f'with {path.mechanism} on {names}, no route leads from "{client}" to "{server}" over IPv{family}: '
            "install it where packets between the two enter and leave its carrier"
        )
    network = Network(
        topology=topology,
        legs=legs_of(topology, between, family, translating),
        devices=tuple(tunnels),
        stages=tuple(stages),
    )
    if not any(crossing.tunnels for crossing in network.crossings):
        raise MechanismError(
            f'the route from "{client}" to "{server}" does not go through {path.mechanism} on {names}: '
            "install it on nodes of that route"
        )
    return network


def family_of(options: Options) -> Family:
    """The family of a mechanism that carries IPv6."""
    return 6
