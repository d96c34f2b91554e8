"""What mechanisms with translators share: how these part a network, the addresses on each side, and their devices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from ..model.device import Translator
from ..model.leg import Address, Leg
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.topology import ETHERNET_MIN_MTU_V6, Family, Link, Topology
from . import embedding, tayga
from .common import check_named_once, check_overlap, legs_of, without_family
from .kind import MechanismError

DEFAULT_PREFIX = "2001:db8:64::/96"
"""RFC 3849. Of the prefixes that are set aside for translators, the well-known one must not stand for the addresses of
a lab (RFC 6052 section 3.1), and Debian's tayga refuses the other one (RFC 8215)."""
HOPS = 2
"""The node forwards packets into the translator, and what comes out of it."""

PREFIX = Parameter(
    name="prefix",
    column="prefix",
    kind="ipv6-prefix",
    doc="the IPv6 prefix in which IPv4 addresses are embedded (RFC 6052)",
    default=DEFAULT_PREFIX,
)
ZERO_CHECKSUM = Parameter(
    name="zero-checksum",
    column="zero_checksum",
    kind="choice",
    choices=("drop", "compute"),
    doc="what becomes of UDP over IPv4 without a checksum (RFC 7915 section 4.5)",
    default="drop",
)
LOWEST_IPV6_MTU = Parameter(
    name="lowest-ipv6-mtu",
    column="lowest_ipv6_mtu_bytes",
    kind="mtu",
    doc="the size to which IPv4 packets that may be fragmented are cut for IPv6 (RFC 7915 section 4)",
    minimum=ETHERNET_MIN_MTU_V6,
    maximum=65535,
    default=ETHERNET_MIN_MTU_V6,
)
OPTIONS = (PREFIX, ZERO_CHECKSUM, LOWEST_IPV6_MTU)
"""The options of every mechanism with translators."""


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A part of the network in which all packets are of one family: between translators, or beyond the last one."""

    family: Family
    links: tuple[Link, ...]

    @property
    def addresses(self) -> list[tuple[str, Address]]:
        """Those of its nodes, each with its node."""
        ends = [end for link in self.links for end in link.ends]
        found = [(end.node, end.address(self.family)) for end in ends]
        return [(node, address.ip) for node, address in found if address is not None]

    @property
    def networks(self) -> list[Any]:
        """Those of its links."""
        found = [link.ends[0].address(self.family) for link in self.links]
        return [address.network for address in found if address is not None]


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """How addresses of one family are written in the other."""

    prefix: IPv6Network
    rows: tuple[embedding.Mapping, ...]

    def seen(self, address: Address, family: Family) -> Address | None:
        """An address as packets of that family have it; None: nothing stands for it."""
        if address.version == family:
            return address
        found = embedding.find(self.rows, address)
        if found is None and isinstance(address, IPv4Address):
            return embedding.embed(self.prefix, address)
        return found


@dataclass(frozen=True, kw_only=True)
class Parted:
    """A network that is parted into families.

    Attributes:
        topology: each link of it carries one family.
        stretches: from client to server.
        prefix: in which IPv4 addresses are embedded.
        legs: over each stretch, between the addresses that the nodes at its ends have there.
    """

    topology: Topology
    stretches: list[Stretch]
    prefix: IPv6Network
    legs: tuple[Leg, ...]


Table = Callable[[Sequence[Stretch]], tuple[embedding.Mapping, ...]]
"""The explicit address mappings of a network that is parted so."""


def translated(
    path: Path, topology: Topology, between: tuple[str, str], table: Table, *, through_node: Collection[str] = ()
) -> Network:
    """The network with the path's translators in it. Raises `MechanismError` where it cannot be.

    Args:
        through_node: the translators whose nodes translate IPv4 addresses besides.
    """
    parted = part(path, topology, between)
    topology, stretches, ends = parted.topology, parted.stretches, [*path.nodes, between[1]]
    addresses = Addresses(prefix=parted.prefix, rows=table(stretches))
    client, server = parted.legs[0].source, parted.legs[-1].destination
    legs = tuple(
        Leg(
            family=stretch.family,
            near=near,
            far=far,
            source=_required(addresses, client, stretch.family, between[0]),
            destination=_required(addresses, server, stretch.family, between[1]),
        )
        for near, far, stretch in _pairs(between[0], ends, stretches)
    )
    devices = tuple(
        _device(path, number, stretches, addresses, through_node=node in through_node)
        for number, node in enumerate(path.nodes)
    )
    return Network(topology=topology, legs=legs, devices=devices)


def part(path: Path, topology: Topology, between: tuple[str, str]) -> Parted:
    """The network that the path's nodes part into families. Raises `MechanismError` where they cannot."""
    stretches = _stretches(path, topology, between)
    for stretch in stretches:
        other: Family = 4 if stretch.family == 6 else 6
        topology = without_family(topology, {link.name for link in stretch.links}, other)
    prefix = prefix_option(path, "prefix", DEFAULT_PREFIX)
    check_overlap(path, topology, [prefix], "prefix")
    _check_well_known(prefix, stretches)
    ends = [*path.nodes, between[1]]
    legs = tuple(
        plain_leg(path, topology, (near, far), one.family) for near, far, one in _pairs(between[0], ends, stretches)
    )
    return Parted(topology=topology, stretches=stretches, prefix=prefix, legs=legs)


def plain_leg(path: Path, topology: Topology, between: tuple[str, str], family: Family) -> Leg:
    """The leg between two nodes. Raises `MechanismError` where there are several, as something else translates
    addresses on the way."""
    first, *others = legs_of(topology, between, family)
    if others:
        raise MechanismError(
            f'"{others[0].near}", on the way from "{between[0]}" to "{between[1]}", masquerades: {path.mechanism} is '
            "installed where nothing else translates addresses"
        )
    return first


def _pairs(client: str, ends: Sequence[str], stretches: Sequence[Stretch]) -> list[tuple[str, str, Stretch]]:
    return list(zip([client, *ends[:-1]], ends, stretches, strict=True))


def _stretches(path: Path, topology: Topology, between: tuple[str, str]) -> list[Stretch]:
    """The stretches from client to server. Raises `MechanismError` where the translators do not part the network so."""
    route = topology.route(*between) or []
    nodes, at = [between[0]], between[0]
    for link in route:
        at = link.other_end(at).node
        nodes.append(at)
    for node in path.nodes:
        if topology.nodes[node].kind == "host":
            raise MechanismError(f'"{node}" is a host; a translator is a router')
        if node not in nodes[1:-1]:
            raise MechanismError(
                f'the translator "{node}" is not on the way from "{between[0]}" to "{between[1]}", '
                f"which is {' - '.join(nodes)}"
            )
    check_named_once(path)
    if len(path.nodes) == 2 and nodes.index(path.nodes[0]) >= nodes.index(path.nodes[1]):
        raise MechanismError(
            f'the translators are named from the client on, and "{path.nodes[1]}" comes before "{path.nodes[0]}"'
        )
    families: list[Family] = [path.family]
    for _ in path.nodes:
        families.append(4 if families[-1] == 6 else 6)
    # On the way, a stretch ends at each translator.
    number_of = {link.name: sum(node in nodes[: place + 1] for node in path.nodes) for place, link in enumerate(route)}
    members: list[set[str]] = [set() for _ in families]
    for links in parts(topology, set(path.nodes)):
        number = _number(path, links, number_of)
        if number is not None:
            members[number] |= {link.name for link in links}
    return [
        Stretch(family=family, links=tuple(link for link in topology.links if link.name in names))
        for family, names in zip(families, members, strict=True)
    ]


def _number(path: Path, links: Sequence[Link], number_of: Mapping[str, int]) -> int | None:
    """The stretch that a part of the network belongs to. A part beside the way belongs to the client's side if it hangs
    at the first translator, and to the server's at the second. None: it hangs at none. Raises `MechanismError` where a
    part leads around a translator."""
    touched = {end.node: link for link in links for end in link.ends if end.node in path.nodes}
    on_way = sorted({number_of[link.name] for link in links if link.name in number_of})
    if on_way:
        number = on_way[0]
        due = set(path.nodes[max(0, number - 1) : number + 1])
        around = [node for node in path.nodes if node in touched and node not in due]
        if len(on_way) > 1 or around:
            passed = path.nodes[min(number, len(path.nodes) - 1)]
            over = touched[around[0]] if around else next(one for one in links if number_of.get(one.name) == on_way[-1])
            raise MechanismError(
                f'a way around "{passed}" leads over the link "{over.name}": packets could pass the translator by; '
                "install it where there is no other way"
            )
        return number
    if not touched:
        return None
    return 1 if len(touched) == 2 else 0 if path.nodes[0] in touched else len(path.nodes)


def parts(topology: Topology, translators: set[str]) -> list[list[Link]]:
    """The parts that the network falls into without the translators, by their links."""
    found: list[list[Link]] = []
    placed: set[str] = set()
    for first in topology.links:
        if first.name in placed:
            continue
        names, waiting, seen = {first.name}, [end.node for end in first.ends], set[str]()
        while waiting:
            node = waiting.pop()
            if node in translators or node in seen:
                continue
            seen.add(node)
            for link in topology.links_of(node):
                names.add(link.name)
                waiting.append(link.other_end(node).node)
        placed |= names
        found.append([link for link in topology.links if link.name in names])
    return found


def prefix_option(path: Path, name: str, default: str) -> IPv6Network:
    """The prefix that an option gives, in which IPv4 addresses are embedded.

    Raises `MechanismError` if addresses cannot be embedded in it (RFC 6052 section 2.2), or if hosts have none in it.
    """
    prefix = IPv6Network(str(path.options.get(name, default)))
    wrong = embedding.check_prefix(prefix)
    if wrong is not None:
        raise MechanismError(wrong, name)
    if prefix.is_multicast or prefix.is_link_local:
        raise MechanismError(f"the prefix {prefix} is for no hosts; give another one, such as {default}", name)
    return prefix


def _check_well_known(prefix: IPv6Network, stretches: Sequence[Stretch]) -> None:
    if prefix != embedding.WELL_KNOWN_PREFIX:
        return
    for stretch in stretches:
        for node, address in stretch.addresses:
            if address.version == 4 and not address.is_global:
                raise MechanismError(
                    f'the well-known prefix {prefix} must not stand for {address} of "{node}", which is no global '
                    f"address (RFC 6052 section 3.1): give another prefix, such as {DEFAULT_PREFIX}",
                    "prefix",
                )


def one_to_one(path: Path, stretches: Sequence[Stretch], pool: IPv4Network) -> tuple[embedding.Mapping, ...]:
    """An address of the pool for each address of an IPv6 node that is no translator. Raises `MechanismError` where the
    pool is too small."""
    own = [
        address
        for stretch in stretches
        for node, address in stretch.addresses
        if isinstance(address, IPv6Address) and node not in path.nodes
    ]
    hosts = max(0, pool.num_addresses - 2)
    if len(own) > hosts:
        raise MechanismError(f"{len(own)} addresses of IPv6 nodes need as many of IPv4, and {pool} has {hosts}", "pool")
    numbered = enumerate(own, start=1)
    return tuple(embedding.Mapping(IPv4Network(pool[number]), IPv6Network(address)) for number, address in numbered)


def _required(addresses: Addresses, address: Address, family: Family, node: str) -> Address:
    found = addresses.seen(address, family)
    if found is None:
        raise MechanismError(f'no row of the table maps {address} of "{node}" to IPv4; add one', "eam")
    return found


def _device(
    path: Path,
    number: int,
    stretches: Sequence[Stretch],
    addresses: Addresses,
    *,
    through_node: bool,
) -> Translator:
    """The translator between the stretch of that number and the next one."""
    node, beside = path.nodes[number], stretches[number : number + 2]
    mtus = {
        stretch.family: min(link.mtu_bytes for link in stretch.links if node in (end.node for end in link.ends))
        for stretch in beside
    }
    own = {address.version: address for stretch in beside for at, address in stretch.addresses if at == node}
    prefixes: list[Any] = []
    for stretch in beside:
        away = stretches[number + 1 :] if stretch is beside[0] else stretches[: number + 1]
        prefixes += _led_to(stretch.family, away, addresses, is_only=len(path.nodes) == 1)
    return translator(
        path,
        node,
        number + 1,
        addresses.prefix,
        prefixes,
        own,
        mtus,
        {"explicit": [[str(row.ipv4), str(row.ipv6)] for row in addresses.rows]},
        through_node=through_node,
    )


def translator(
    path: Path,
    node: str,
    number: int,
    prefix: IPv6Network,
    led_here: Sequence[Any],
    own: Mapping[Family, Address],
    mtus: Mapping[Family, int],
    rows: Mapping[str, Any],
    *,
    through_node: bool,
) -> Translator:
    """A translator by the path's options.

    Args:
        number: of the path's translators, from 1.
        prefix: in which it embeds IPv4 addresses.
        led_here: prefixes whose packets lead into it.
        own: its node's addresses by family, as far as there are any.
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
            "prefixes": [str(prefix)],
            **rows,
            **{f"own{family}": str(address) for family, address in sorted(own.items())},
            "zero_checksum": str(path.options.get("zero-checksum", "drop")),
            "lowest_ipv6_mtu": int(path.options.get("lowest-ipv6-mtu", ETHERNET_MIN_MTU_V6)),
            "mtu4": mtus[4],
            "mtu6": mtus[6],
        },
        through_node=through_node,
        hops=tayga.HOPS if path.engine == tayga.TAYGA.name else HOPS,
    )


def _led_to(family: Family, away: Sequence[Stretch], addresses: Addresses, *, is_only: bool) -> list[Any]:
    """The prefixes of a family that stand for the addresses of the stretches beyond a translator. `is_only`: whether
    there is no other one, so that all of the prefix leads to it."""
    found: list[Any] = []
    for stretch in away:
        if stretch.family == family:
            found += stretch.networks
        elif family == 6:
            found += (
                [addresses.prefix]
                if is_only
                else [embedding.embed_network(addresses.prefix, network) for network in stretch.networks]
            )
            found += [row.ipv6 for row in addresses.rows if any(row.ipv4.overlaps(one) for one in stretch.networks)]
        else:
            found += [row.ipv4 for row in addresses.rows if any(row.ipv6.overlaps(one) for one in stretch.networks)]
    return found
