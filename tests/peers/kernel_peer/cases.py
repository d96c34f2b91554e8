"""The tunnels between peer A and peer B across a router: what each end is told, and what the link must show.

The carrier's addresses are those of `tunnels.CARRIER`.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Interface, IPv6Network, ip_interface, ip_network

from .tunnels import CARRIER, SIDES, Side, Tunnel

A4, B4 = (IPv4Address(CARRIER[side][4].ip) for side in SIDES)
A6, B6 = (CARRIER[side][6].ip for side in SIDES)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A tunnel, seen from both sides."""

    name: str
    ends: dict[Side, Tunnel]
    carrier: int
    """The IP version outside."""
    protocol: dict[int, int]
    """Number in the outer header, by the IP version inside."""
    overhead_bytes: int
    narrow: bool = True
    """True if a narrower link on the carrier's way lowers what goes through."""

    @property
    def mtu_bytes(self) -> int:
        """Most bytes of an inner packet over Ethernet."""
        return 1500 - self.overhead_bytes

    @property
    def versions(self) -> list[int]:
        """The IP versions inside."""
        return sorted(self.protocol)

    def inner(self, side: Side, version: int) -> str:
        """The address that a side has on the tunnel."""
        [address] = [it for it in self.ends[side].addresses if it.version == version]
        return str(address.ip)


def _addresses(*texts: str) -> tuple[IPv4Interface | IPv6Interface, ...]:
    return tuple(ip_interface(text) for text in texts)


def _pair(a: Tunnel, b: Tunnel) -> dict[Side, Tunnel]:
    return {"a": a, "b": b}


def _point_to_point(mechanism: str, carrier: int, *networks: str) -> dict[Side, Tunnel]:
    """Both ends name each other; A has the first address of each network, B the second."""
    ours, theirs = (A4, B4) if carrier == 4 else (A6, B6)
    hosts = [(network, network.prefixlen) for network in map(ip_network, networks)]
    first, second = (_addresses(*(f"{network[n]}/{length}" for network, length in hosts)) for n in (1, 2))
    return _pair(
        Tunnel(mechanism=mechanism, local=ours, remote=theirs, addresses=first),
        Tunnel(mechanism=mechanism, local=theirs, remote=ours, addresses=second),
    )


def _six_to_four() -> dict[Side, Tunnel]:
    """RFC 3056: 2002:V4ADDR::/48, and all of 2002::/16 is reached through the tunnel."""
    prefix = int(ip_network("2002::/16").network_address)
    a, b = (_addresses(f"{IPv6Interface(prefix | int(it) << 80 | 1).ip}/16") for it in (A4, B4))
    return _pair(
        Tunnel(mechanism="6to4", local=A4, addresses=a),
        Tunnel(mechanism="6to4", local=B4, addresses=b),
    )


def _six_rd() -> dict[Side, Tunnel]:
    """RFC 5969: the IPv4 suffix, without the 16 bits that all have in common, follows the prefix."""
    prefix, common = IPv6Network("2001:db8::/32"), IPv4Network("198.18.0.0/16")
    delegated = {it: IPv6Network((int(prefix[0]) | (int(it) & 0xFFFF) << 80, 48)) for it in (A4, B4)}

    def end(ours: IPv4Address, theirs: IPv4Address) -> Tunnel:
        return Tunnel(
            mechanism="6rd",
            local=ours,
            addresses=_addresses(f"{delegated[ours][1]}/48"),
            prefix=prefix,
            common=common,
            members=((delegated[theirs], theirs),),
        )

    return _pair(end(A4, B4), end(B4, A4))


def _isatap() -> dict[Side, Tunnel]:
    """RFC 5214: interface identifier 0200:5efe:V4ADDR; A is a host that has B as its potential router."""
    base = int(ip_network("2001:db8:5efe::/64").network_address)
    a, b = (_addresses(f"{IPv6Interface(base | 0x02005EFE << 32 | int(it)).ip}/64") for it in (A4, B4))
    return _pair(
        Tunnel(mechanism="isatap", local=A4, addresses=a, routers=(B4,)),
        Tunnel(mechanism="isatap", local=B4, addresses=b),
    )


CASES = [
    Case(
        name="6in4",
        ends=_point_to_point("6in4", 4, "2001:db8:64::/64"),
        carrier=4,
        protocol={6: 41},
        overhead_bytes=20,
    ),
    Case(name="6to4", ends=_six_to_four(), carrier=4, protocol={6: 41}, overhead_bytes=20),
    Case(name="6rd", ends=_six_rd(), carrier=4, protocol={6: 41}, overhead_bytes=20),
    Case(name="isatap", ends=_isatap(), carrier=4, protocol={6: 41}, overhead_bytes=20),
    Case(
        name="4in6",
        ends=_point_to_point("4in6", 6, "192.0.2.0/24"),
        carrier=6,
        protocol={4: 4},
        overhead_bytes=40,
    ),
    Case(
        name="6in6",
        ends=_point_to_point("6in6", 6, "2001:db8:66::/64"),
        carrier=6,
        protocol={6: 41},
        overhead_bytes=40,
    ),
    Case(
        name="gre",
        ends=_point_to_point("gre", 4, "192.0.2.0/24", "2001:db8:9e::/64"),
        carrier=4,
        protocol={4: 47, 6: 47},
        overhead_bytes=24,
    ),
    Case(
        name="gre6",
        ends=_point_to_point("gre6", 6, "192.0.2.0/24", "2001:db8:9e::/64"),
        carrier=6,
        protocol={4: 47, 6: 47},
        overhead_bytes=44,
    ),
]
