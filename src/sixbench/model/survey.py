"""The survey before the first trial of an experiment with servers: the vantage point, and each server."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal

from .topology import Family

PathKind = Literal["native", "6to4", "teredo", "tunnel", "nat64", "clat", "vpn", "ppp"]
"""The carrier of the packets of a family from this machine. `native`: this machine knows of no other one. `tunnel`: a
device of a tunnel's kind, as 6rd and DS-Lite have. `clat`: IPv4 is translated to IPv6 on this machine or next to it
(RFC 6877). `ppp`: a link by PPP, which both PPPoE and VPNs have."""

WELL_KNOWN_PREFIX = IPv6Network("64:ff9b::/96")
"""RFC 6052 section 2.1."""
_6TO4, _TEREDO = IPv6Network("2002::/16"), IPv6Network("2001::/32")
"""RFC 3056 section 2, RFC 4380 section 2.6."""
_CLAT = ip_network("192.0.0.0/29")
"""RFC 7335."""
_TUNNELS = frozenset({"sit", "ip6tnl", "ipip", "gre", "ip6gre"})
_VPNS = frozenset({"wireguard", "tun", "xfrm", "vti", "vti6"})


@dataclass(frozen=True, kw_only=True)
class LocalAddress:
    """An address of this machine, with its interface and what it is (docs/protocol.md)."""

    interface: str
    address: str
    prefix_bits: int
    kind: str


@dataclass(frozen=True, kw_only=True)
class Vantage:
    """The place that is measured from.

    Attributes:
        addresses: those of this machine that are neither of its loopback interface nor link-local.
        resolvers: the addresses of the system's.
        nat64_prefixes: those by which the resolver makes IPv6 addresses (RFC 7050).
        proxies: the variables of the environment that name a proxy. sixbench uses none.
    """

    addresses: tuple[LocalAddress, ...] = ()
    resolvers: tuple[str, ...] = ()
    nat64_prefixes: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RouteReading:
    """The routers towards a server, at one time.

    Attributes:
        realtime_ns: when.
        hops: by hop limit from 1, the addresses that answered; none: silence.
        rtt_ns: by hop limit, the least round trip; None: nothing answered.
        ended: `reached`, `unreachable`, `silence`, `max-hops` or `no-route`.
    """

    realtime_ns: int
    hops: tuple[tuple[str, ...], ...] = ()
    rtt_ns: tuple[int | None, ...] = ()
    ended: str = "silence"


@dataclass(frozen=True, kw_only=True)
class PathMtuReading:
    """The path MTU towards a server, at one time, by one kind of probe.

    Attributes:
        by: `udp`, `icmp` or `tcp`.
        outcome: as of any attempt.
        mtu_bytes: the largest packet that arrived. None: it is not known.
        packet_too_big: `came`, `never` or `not-needed`.
        mss_bytes: the largest segment that the server takes. None: it was not told.
    """

    realtime_ns: int
    by: str
    outcome: str
    mtu_bytes: int | None = None
    interface_mtu_bytes: int | None = None
    packet_too_big: str | None = None
    mss_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class ServerAddresses:
    """A server in one family.

    Attributes:
        addresses: all that its name has, in the order in which the resolver gave them.
        outcomes: what became of a first attempt to each of them that was tried.
        address: the one that the trials go to. None: there is none.
        source: the address of this machine that packets to it have. None: there is no route.
        interface: the one that has the source.
        kind: what carries the packets there.
        lookup: what became of the look-up; None: there was no name.
        lookup_ns: how long it took.
        now: the addresses at the end of the run. None: it was not looked, or the look-up failed.
        routes, path_mtus: readings before the first trial and after the last.
    """

    addresses: tuple[str, ...] = ()
    outcomes: dict[str, str] = field(default_factory=dict)
    address: str | None = None
    source: str | None = None
    interface: str | None = None
    kind: PathKind = "native"
    lookup: str | None = None
    lookup_ns: int | None = None
    now: tuple[str, ...] | None = None
    routes: tuple[RouteReading, ...] = ()
    path_mtus: tuple[PathMtuReading, ...] = ()

    @property
    def is_reachable(self) -> bool:
        """True if there is an address, and a route to it."""
        return self.address is not None and self.source is not None


@dataclass(frozen=True, kw_only=True)
class SurveyedServer:
    """A server before the first trial.

    Attributes:
        label: the level of its combinations.
        families: by name, `ipv4` and `ipv6`.
        offers: by workload (of HTTP with the version, such as `http 3`) and family, the outcome of a first attempt.
        left_out: by workload, why it has no trials.
        announced: the protocols that its HTTPS records name (ALPN, RFC 9460).
        mine: whether there may be more than one connection a second.
    """

    label: str
    families: dict[str, ServerAddresses] = field(default_factory=dict)
    offers: dict[str, dict[str, str]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    announced: tuple[str, ...] = ()
    mine: bool = False


@dataclass(frozen=True, kw_only=True)
class Survey:
    """The vantage point and the servers. `cannot`: why this machine cannot do a workload, by its name."""

    vantage: Vantage
    servers: tuple[SurveyedServer, ...] = ()
    cannot: dict[str, str] = field(default_factory=dict)

    def server(self, label: str) -> SurveyedServer:
        """The server of that label, which must exist."""
        return next(server for server in self.servers if server.label == label)


def family_name(family: Family) -> str:
    """`ipv4` or `ipv6`."""
    return f"ipv{family}"


def is_translated(address: str, prefixes: tuple[str, ...]) -> bool:
    """True if an IPv6 address is one that a DNS64 made (RFC 6147): an IPv4 address within a prefix of a NAT64."""
    parsed = ip_address(address.partition("%")[0])
    known = (WELL_KNOWN_PREFIX, *(IPv6Network(prefix, strict=False) for prefix in prefixes))
    return isinstance(parsed, IPv6Address) and any(parsed in prefix for prefix in known)


def path_kind(
    address: str, source: str | None, interface_kind: str | None, nat64_prefixes: tuple[str, ...] = ()
) -> PathKind:
    """The carrier of the packets from a source to an address.

    Args:
        source: of the route; None: there is no route.
        interface_kind: the kernel's kind of the route's interface; None: a device, or not known.
        nat64_prefixes: those that are known besides the well-known one.
    """
    if is_translated(address, nat64_prefixes):
        return "nat64"
    local = None if source is None else ip_address(source.partition("%")[0])
    # The range is that of a B4, too, whose packets leave by a tunnel (RFC 7335 section 4).
    if isinstance(local, IPv4Address) and local in _CLAT and interface_kind not in _TUNNELS:
        return "clat"
    if isinstance(local, IPv6Address) and local in _TEREDO:
        return "teredo"
    if isinstance(local, IPv6Address) and local in _6TO4:
        return "6to4"
    if interface_kind in _VPNS:
        return "vpn"
    if interface_kind == "ppp":
        return "ppp"
    return "tunnel" if interface_kind in _TUNNELS else "native"
