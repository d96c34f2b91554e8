"""Tunnels as their ends get them, and the addresses outside: the words that all engines share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from typing import Any, Literal

from sixbench.model import network

Side = Literal["a", "b"]
SIDES: tuple[Side, Side] = ("a", "b")

CARRIER: dict[Side, dict[int, IPv4Interface | IPv6Interface]] = {
    "a": {4: IPv4Interface("198.18.1.2/24"), 6: IPv6Interface("2001:2:0:1::2/64")},
    "b": {4: IPv4Interface("198.18.2.2/24"), 6: IPv6Interface("2001:2:0:2::2/64")},
}
"""The outer addresses. The router is the first host of each network."""

DEVICE = "tunnel"
TTL = 61
"""The outer TTL or hop limit that ends are told to send: no system's default."""


def router_address(side: Side, version: int) -> IPv4Interface | IPv6Interface:
    """The router's address towards a side."""
    network = CARRIER[side][version].network
    return type(CARRIER[side][version])(f"{network[1]}/{network.prefixlen}")


@dataclass(frozen=True, kw_only=True)
class Tunnel:
    """Tunnel as one end gets it."""

    mechanism: str
    local: IPv4Address | IPv6Address
    remote: IPv4Address | IPv6Address | None = None
    """None where the outer destination follows from the inner one."""
    addresses: tuple[IPv4Interface | IPv6Interface, ...]
    """On the tunnel, with the prefix that is reached through it."""
    prefix: IPv6Network | None = None
    """6rd: the prefix of the domain."""
    common: IPv4Network | None = None
    """6rd: what all IPv4 addresses of the domain have in common, and is left out."""
    members: tuple[tuple[IPv6Network, IPv4Address], ...] = ()
    """6rd: the delegated prefixes of others with their IPv4 addresses, for an engine that cannot derive them."""
    routers: tuple[IPv4Address, ...] = ()
    """ISATAP: the potential router list."""

    def as_told(self, mtu_bytes: int, underlay: Sequence[str], *, pmtu: network.PathMtu) -> network.Tunnel:
        """The tunnel as experiments have it, for the engines that make it."""
        payloads: dict[str, network.Payload] = {"4in6": "ipv4", "gre": "gre", "gre6": "gre"}
        return network.Tunnel(
            node="peer",
            device=DEVICE,
            mtu_bytes=mtu_bytes,
            outer=4 if self.local.version == 4 else 6,
            payload=payloads.get(self.mechanism, "ipv6"),
            local=self.local,
            underlay=tuple(underlay),
            mapping=self._mapping(),
            ttl=TTL,
            pmtu=pmtu,
        )

    def _mapping(self) -> dict[str, Any]:
        match self.mechanism:
            case "6to4":
                return {"kind": "6to4", "relay": None, "allow_private": False}
            case "6rd":
                assert self.common is not None
                return {"kind": "6rd", "prefix": str(self.prefix), "ipv4_mask_bits": self.common.prefixlen}
            case "isatap":
                return {"kind": "isatap", "routers": [str(router) for router in self.routers]}
            case _:
                return {"kind": "fixed", "remote": str(self.remote)}
