"""Parts that mechanisms with translators share: the addresses on each side of them, and their devices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from ..model.device import Translator
from ..model.leg import Address, Leg
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.stage import Stage
from ..model.topology import ETHERNET_MIN_MTU_V6, Family, Topology
from . import embedding, jool, tayga
from .kind import MechanismError
from .parting import ALLOW_PRIVATE, DEFAULT_PREFIX, FamilyStretch, allows_private, part

_THIS_NETWORK = IPv4Network("0.0.0.0/8")
"""RFC 1122 section 3.2.1.3."""
HOPS = 2
"""The node forwards packets into the translator, and what comes out of it."""
_HOPS_BY_ENGINE = {tayga.TAYGA.name: tayga.HOPS, jool.JOOL.name: jool.HOPS}
HOPS_OF_OWN = 1
"""Packets that the node itself sends into the translator are not forwarded before."""

PREFIX = Parameter(
    name="prefix",
    kind="ipv6-prefix",
    doc="the IPv6 prefix in which IPv4 addresses are embedded (RFC 6052), of 32, 40, 48, 56, 64 or 96 bits",
    default=DEFAULT_PREFIX,
)
ZERO_CHECKSUM = Parameter(
    name="zero-checksum",
    kind="choice",
    choices=("drop", "compute"),
    doc="treatment of UDP over IPv4 without a checksum (RFC 7915 section 4.5)",
    default="drop",
)
LOWEST_IPV6_MTU = Parameter(
    name="lowest-ipv6-mtu",
    kind="mtu",
    doc="the size to which IPv4 packets that may be fragmented are cut for IPv6 (RFC 7915 section 4)",
    minimum=ETHERNET_MIN_MTU_V6,
    maximum=65535,
    default=ETHERNET_MIN_MTU_V6,
)
ERRORS_FROM_DESTINATION = Parameter(
    name="errors-from-destination",
    kind="flag",
    doc="whether to send ICMPv6 errors of IPv4 routers from the destination of the packet that they quote, and not "
    "from the router's address",
    default=False,
)
FORWARDING = {"net.ipv6.conf.all.forwarding": "1"}
"""Linux passes on what comes out of a device, or goes into it, only where the whole node forwards (ip6_forward)."""
OPTIONS = (PREFIX, ALLOW_PRIVATE, ZERO_CHECKSUM, LOWEST_IPV6_MTU, ERRORS_FROM_DESTINATION)
"""The options of every mechanism with translators."""


@dataclass(frozen=True, kw_only=True)
class AddressEmbedding:
    """Form of the addresses of one family in the other.

    Attributes:
        prefix: in which IPv4 addresses are embedded; None: in none, so that the rows have all that there are.
    """

    prefix: IPv6Network | None
    rows: tuple[embedding.Mapping, ...]

    def seen(self, address: Address, family: Family) -> Address | None:
        """An address as packets of that family have it; None: nothing stands for it."""
        if address.version == family:
            return address
        result = embedding.find(self.rows, address)
        if result is None and isinstance(address, IPv4Address) and self.prefix is not None:
            return embedding.embed(self.prefix, address)
        return result


Table = Callable[[Sequence[FamilyStretch]], tuple[embedding.Mapping, ...]]
"""The explicit address mappings of a network that is parted so."""


def translated(
    path: Path,
    topology: Topology,
    between: tuple[str, str],
    table: Table,
    *,
    through_node: Collection[str] = (),
    client_ip: IPv4Address | None = None,
    embeds: bool = True,
) -> Network:
    """The network with the path's translators in it. Raises `MechanismError` where it cannot be.

    Args:
        through_node: the translators whose nodes translate IPv4 addresses besides.
        client_ip: the client's IPv4 address where the first translator is on the client itself; None: it must not be.
        embeds: whether IPv4 addresses that are not in the table are embedded in the path's prefix.
    """
    client, server = between
    inside = client_ip if client_ip is not None and path.nodes[0] == client else None
    parted = part(path, topology, between, inside=inside, may_be_client=client_ip is not None, embeds=embeds)
    stretches = parted.stretches
    addresses = AddressEmbedding(prefix=parted.prefix, rows=table(stretches))
    ends = zip([client, *path.nodes], [*path.nodes, server], stretches, strict=True)
    source = parted.legs[0].source if inside is None else inside
    destination = parted.legs[-1].destination
    legs = tuple(
        Leg(
            family=stretch.family,
            near=near,
            far=far,
            source=_required(addresses, source, stretch.family, client),
            destination=_required(addresses, destination, stretch.family, server),
        )
        for near, far, stretch in ends
    )
    devices = tuple(
        _device(path, number, stretches, addresses, through_node=node in through_node)
        for number, node in enumerate(path.nodes)
    )
    stages = () if inside is None else ({client: Stage(sysctl=FORWARDING)},)
    return Network(topology=parted.topology, legs=legs, devices=devices, stages=stages)


def pool_option(path: Path, default: str) -> IPv4Network:
    """The IPv4 addresses for IPv6 nodes. Raises `MechanismError` if hosts have none of them."""
    pool = IPv4Network(str(path.options.get("pool", default)))
    if pool.is_multicast or pool.is_loopback or pool.is_reserved or pool.is_link_local or pool.overlaps(_THIS_NETWORK):
        raise MechanismError(f"the pool {pool} is for no hosts; give another one, such as {default}", "pool")
    return pool


def one_to_one(
    path: Path, stretches: Sequence[FamilyStretch], pool: IPv4Network, first: int = 1
) -> tuple[embedding.Mapping, ...]:
    """An address of the pool, from that number on, for each address of an IPv6 node that is no translator. Raises
    `MechanismError` where the pool is too small."""
    addresses = [
        address
        for stretch in stretches
        for node, address in stretch.addresses
        if isinstance(address, IPv6Address) and node not in path.nodes
    ]
    hosts = max(0, pool.num_addresses - 1 - first)
    if len(addresses) > hosts:
        raise MechanismError(
            f"more IPv6 nodes need an address of the pool than it has: {len(addresses)}, and {pool} has {hosts}; give "
            "a "
            "larger one",
            "pool",
        )
    numbered = enumerate(addresses, start=first)
    return tuple(embedding.Mapping(IPv4Network(pool[number]), IPv6Network(address)) for number, address in numbered)


def _required(addresses: AddressEmbedding, address: Address, family: Family, node: str) -> Address:
    result = addresses.seen(address, family)
    if result is None:
        raise MechanismError(f'no row of the table maps {address} of "{node}" to IPv4; add one', "eam")
    return result


def _device(
    path: Path,
    number: int,
    stretches: Sequence[FamilyStretch],
    addresses: AddressEmbedding,
    *,
    through_node: bool,
) -> Translator:
    """The translator between the stretch of that number and the next one."""
    node, beside = path.nodes[number], stretches[number : number + 2]
    links = {
        stretch.family: [link for link in stretch.links if node in (end.node for end in link.ends)]
        for stretch in beside
    }
    inside = beside[0].inside
    mtus = {family: min(link.mtu_bytes for link in results or links[6]) for family, results in links.items()}
    address_of = {address.version: address for stretch in beside for at, address in stretch.addresses if at == node}
    prefixes: list[Any] = []
    for stretch in beside:
        away = stretches[number + 1 :] if stretch is beside[0] else stretches[: number + 1]
        prefixes += _led_to(stretch.family, away, addresses, is_only=len(path.nodes) == 1)
    device = translator(
        path,
        node,
        number + 1,
        addresses.prefix,
        prefixes,
        address_of,
        mtus,
        {"explicit": [[str(row.ipv4), str(row.ipv6)] for row in addresses.rows]},
        through_node=through_node,
    )
    if inside is None:
        return device
    return replace(device, addresses=(inside,), through_node=True, hops=HOPS_OF_OWN)


def translator(
    path: Path,
    node: str,
    number: int,
    prefix: IPv6Network | None,
    led_here: Sequence[Any],
    address_of: Mapping[Family, Address],
    mtus: Mapping[Family, int],
    rows: Mapping[str, Any],
    *,
    through_node: bool,
) -> Translator:
    """A translator by the path's options.

    Args:
        number: of the path's translators, from 1.
        prefix: in which it embeds IPv4 addresses, if it does.
        led_here: prefixes whose packets lead into it.
        address_of: its node's addresses by family, as far as there are any.
        mtus: the least MTU of its node's links, by family.
        rows: what it is told of addresses besides: a table, or the rules of a domain.
    """
    return Translator(
        node=node,
        device=f"{path.mechanism}-{number}",
        mtu_bytes=max(*mtus.values(), ETHERNET_MIN_MTU_V6),
        prefixes=tuple(dict.fromkeys(led_here)),
        mapping={
            "kind": "siit",
            "prefixes": [] if prefix is None else [str(prefix)],
            **rows,
            **{f"own{family}": str(address) for family, address in sorted(address_of.items())},
            "zero_checksum": str(path.options.get("zero-checksum", "drop")),
            "lowest_ipv6_mtu": int(path.options.get("lowest-ipv6-mtu", ETHERNET_MIN_MTU_V6)),
            "mtu4": mtus[4],
            "mtu6": mtus[6],
            **({"allow_non_global": True} if allows_private(path) else {}),
            **({"errors_from_destination": True} if path.options.get(ERRORS_FROM_DESTINATION.name) else {}),
        },
        through_node=through_node,
        hops=_HOPS_BY_ENGINE.get(path.engine or "", HOPS),
    )


def _led_to(family: Family, away: Sequence[FamilyStretch], addresses: AddressEmbedding, *, is_only: bool) -> list[Any]:
    """The prefixes of a family that stand for the addresses of the stretches beyond a translator. `is_only`: whether
    there is no other one, so that all of the prefix leads to it."""
    results: list[Any] = []
    for stretch in away:
        if stretch.family == family:
            results += stretch.networks
        elif family == 6:
            if addresses.prefix is not None:
                embedded = [embedding.embed_network(addresses.prefix, network) for network in stretch.networks]
                results += [addresses.prefix] if is_only else embedded
            results += [
                row.ipv6 for row in addresses.rows if any(row.ipv4.overlaps(network) for network in stretch.networks)
            ]
        else:
            results += [
                row.ipv4 for row in addresses.rows if any(row.ipv6.overlaps(network) for network in stretch.networks)
            ]
    return results
