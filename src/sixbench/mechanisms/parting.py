"""Translators part a network into stretches that carry one family each. Their prefix embeds IPv4 addresses there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Any

from ..model.leg import Address, Leg
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.topology import Family, Link, Topology
from . import embedding
from .common import check_named_once, check_overlap, legs_of, without_family
from .kind import MechanismError

DEFAULT_PREFIX = "2001:db8:64::/96"
"""RFC 3849. Of the prefixes that are set aside for translators, the well-known one must not stand for the addresses of
a lab (RFC 6052 section 3.1), and Debian's tayga refuses the other one (RFC 8215)."""

ALLOW_PRIVATE = Parameter(
    name="allow-private",
    kind="flag",
    doc="whether to let 64:ff9b::/96 stand for IPv4 addresses that are not global, against RFC 6052 section 3.1",
    default=False,
)


@dataclass(frozen=True, kw_only=True)
class FamilyStretch:
    """A part of the network in which all packets are of one family: between translators, or beyond the last one.

    Attributes:
        inside: the address of a host whose translator is its own; such a stretch is inside that host and has no links.
    """

    family: Family
    links: tuple[Link, ...]
    inside: IPv4Address | None = None

    @property
    def addresses(self) -> list[tuple[str, Address]]:
        """Those of its nodes on links, each with its node."""
        ends = [end for link in self.links for end in link.ends]
        pairs = [(end.node, end.address(self.family)) for end in ends]
        return [(node, address.ip) for node, address in pairs if address is not None]

    @property
    def networks(self) -> list[Any]:
        """Those of its links, or what it has inside."""
        if self.inside is not None:
            return [IPv4Network(self.inside)]
        results = [link.ends[0].address(self.family) for link in self.links]
        return [address.network for address in results if address is not None]


@dataclass(frozen=True, kw_only=True)
class Parted:
    """A network that is parted into families.

    Attributes:
        topology: each link of it carries one family.
        stretches: from client to server.
        prefix: in which IPv4 addresses are embedded; None: in none.
        legs: over each stretch that has links, between the addresses that the nodes at its ends have there.
    """

    topology: Topology
    stretches: list[FamilyStretch]
    prefix: IPv6Network | None
    legs: tuple[Leg, ...]


def part(
    path: Path,
    topology: Topology,
    between: tuple[str, str],
    *,
    inside: IPv4Address | None = None,
    may_be_client: bool = False,
    embeds: bool = True,
) -> Parted:
    """The network that the path's nodes part into families. Raises `MechanismError` where they cannot.

    Args:
        inside: the client's IPv4 address where the first of the nodes is the client itself.
        may_be_client: whether it may be.
        embeds: whether IPv4 addresses are embedded in the path's prefix.
    """
    client, server = between
    stretches = _stretches(path, topology, between, inside, may_be_client=may_be_client)
    for stretch in stretches:
        other: Family = 4 if stretch.family == 6 else 6
        topology = without_family(topology, {link.name for link in stretch.links}, other)
    prefix = prefix_option(path, "prefix", DEFAULT_PREFIX) if embeds else None
    if prefix is not None:
        check_overlap(path, topology, [prefix], "prefix")
        _check_well_known(path, prefix, stretches)
    if inside is not None:
        check_overlap(path, topology, [IPv4Network(inside)])
    ends = zip([client, *path.nodes], [*path.nodes, server], stretches, strict=True)
    legs = tuple(plain_leg(path, topology, (near, far), item.family) for near, far, item in ends if near != far)
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


def _stretches(
    path: Path, topology: Topology, between: tuple[str, str], inside: IPv4Address | None, *, may_be_client: bool
) -> list[FamilyStretch]:
    """The stretches from client to server. Raises `MechanismError` where the translators do not part the network so.

    Args:
        inside: the client's IPv4 address where the first translator is on the client itself.
        may_be_client: whether it may be there.
    """
    route = topology.route(*between) or []
    nodes, at = [between[0]], between[0]
    for link in route:
        at = link.other_end(at).node
        nodes.append(at)
    for node in path.nodes[0 if inside is None else 1 :]:
        if topology.nodes[node].kind == "host":
            client = f', or, named first, the client "{between[0]}"' if may_be_client else ""
            raise MechanismError(f'"{node}" is a host; a translator is a router{client}')
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
    # A stretch of the path ends at each translator.
    number_of = {link.name: sum(node in nodes[: place + 1] for node in path.nodes) for place, link in enumerate(route)}
    members: list[set[str]] = [set() for _ in families]
    for links in parts(topology, set(path.nodes)):
        number = _number(path, links, number_of, first=0 if inside is None else 1)
        if number is not None:
            members[number] |= {link.name for link in links}
    return [
        FamilyStretch(
            family=family,
            links=tuple(link for link in topology.links if link.name in names),
            inside=inside if number == 0 else None,
        )
        for number, (family, names) in enumerate(zip(families, members, strict=True))
    ]


def _number(path: Path, links: Sequence[Link], number_of: Mapping[str, int], first: int) -> int | None:
    """The stretch that a part of the network belongs to. A part beside the way belongs to the client's side if it hangs
    at the first translator, and to the server's at the second. None: it hangs at none. Raises `MechanismError` where a
    part leads around a translator.

    Args:
        first: the first stretch that has links.
    """
    touched = {end.node: link for link in links for end in link.ends if end.node in path.nodes}
    on_way = sorted({number_of[link.name] for link in links if link.name in number_of})
    if on_way:
        number = on_way[0]
        due = set(path.nodes[max(0, number - 1) : number + 1])
        around = [node for node in path.nodes if node in touched and node not in due]
        if len(on_way) > 1 or around:
            passed = path.nodes[min(number, len(path.nodes) - 1)]
            over = (
                touched[around[0]] if around else next(link for link in links if number_of.get(link.name) == on_way[-1])
            )
            raise MechanismError(
                f'a way around "{passed}" leads over the link "{over.name}": packets could pass the translator by; '
                "install it where there is no other way"
            )
        return number
    if not touched:
        return None
    return 1 if len(touched) == 2 else first if path.nodes[0] in touched else len(path.nodes)


def parts(topology: Topology, translators: set[str]) -> list[list[Link]]:
    """The parts that the network falls into without the translators, by their links."""
    links: list[list[Link]] = []
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
        links.append([link for link in topology.links if link.name in names])
    return links


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


def allows_private(path: Path) -> bool:
    """True if the well-known prefix may stand for IPv4 addresses that are not global on this path."""
    return bool(path.options.get(ALLOW_PRIVATE.name, False))


def _check_well_known(path: Path, prefix: IPv6Network, stretches: Sequence[FamilyStretch]) -> None:
    if prefix != embedding.WELL_KNOWN_PREFIX or allows_private(path):
        return
    for stretch in stretches:
        for node, address in stretch.addresses:
            if address.version == 4 and not address.is_global:
                raise MechanismError(
                    f'the well-known prefix {prefix} must not stand for {address} of "{node}", which is no global '
                    f"address (RFC 6052 section 3.1): give another prefix, such as {DEFAULT_PREFIX}, or "
                    "allow-private: true",
                    "prefix",
                )
