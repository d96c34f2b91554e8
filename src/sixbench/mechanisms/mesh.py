"""Tunnels of IPv6 over IPv4 with more than two ends: each member has one device, by which it reaches all others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv6Address, IPv6Interface
from itertools import combinations
from typing import Any

from ..model.device import Tunnel
from ..model.path import Path
from ..model.topology import Interface, Link, Topology
from .common import Carrier, carrier, device_mtu, ipv4_of, make_tunnel, tunnel_link
from .kind import MechanismError

HEADERS = ("ipv4",)


@dataclass(frozen=True, kw_only=True)
class Mesh:
    """Members joined over IPv4.

    Attributes:
        ways: the carriers between members.
        of: the carriers of a member.
        local: the IPv4 address by which a member is known.
        device: the name of every member's device.
    """

    path: Path
    ways: list[Carrier]
    of: dict[str, list[Carrier]]
    local: dict[str, IPv4Address]
    device: str

    @cached_property
    def mtu_bytes(self) -> int:
        """The MTU of the tunnel. Raises `MechanismError` where the carrier is too narrow."""
        return device_mtu(self.path, self.ways, HEADERS, 6)

    @property
    def carrier_links(self) -> set[str]:
        """The names of the links that carry it."""
        return {link.name for underlay in self.ways for link in underlay.links}

    def end(self, member: str, address: IPv6Interface, gateway: IPv6Address | None = None) -> Interface:
        """The member's device, with its address and the next hop that stands for it where that is another."""
        return Interface(node=member, name=self.device, ipv4=None, ipv6=address, gateway=gateway)

    def links(self, ends: Mapping[str, Interface]) -> list[Link]:
        """A link between each two members."""
        return [
            tunnel_link(self.path, ends[underlay.first], ends[underlay.second], self.mtu_bytes, HEADERS)
            for underlay in self.ways
        ]

    def tunnels(
        self, mapping: Callable[[str], dict[str, Any]], autoconfigured: Collection[str] = frozenset()
    ) -> list[Tunnel]:
        """The tunnel end of every member; `mapping` is by member."""
        return [
            make_tunnel(
                self.path,
                node=member,
                device=self.device,
                mtu_bytes=self.mtu_bytes,
                payload="ipv6",
                ways=ways,
                mapping=mapping(member),
                autoconfigured=member in autoconfigured,
            )
            for member, ways in self.of.items()
        ]


def mesh_of(path: Path, topology: Topology, members: Collection[str], *, through_nat: bool = False) -> Mesh:
    """Raises `MechanismError` where two members do not reach one another, or one would be known by two addresses."""
    ways = [
        carrier(path, topology, first, second, 4, through_nat=through_nat) for first, second in combinations(members, 2)
    ]
    carriers = {node: [underlay for underlay in ways if node in (underlay.first, underlay.second)] for node in members}
    for node, mine in carriers.items():
        locals_ = {underlay.local(node) for underlay in mine}
        if len(locals_) > 1:
            shown = ", ".join(map(str, sorted(locals_)))
            raise MechanismError(
                f'"{node}" would have several IPv4 addresses in {path.mechanism} ({shown}): '
                "reach all its peers by one interface"
            )
    return Mesh(
        path=path,
        ways=ways,
        of=carriers,
        local={node: ipv4_of(mine[0].local(node)) for node, mine in carriers.items()},
        device=f"{path.mechanism}-1",
    )
