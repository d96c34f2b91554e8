"""What a node does for others: multicast, routers, DHCP, brokers, resolvers and relays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...model.observation import DiscoveredPrefix, RelayAnswer, WithoutIpv4
from ..answers import BrokerAnswer, DnsAnswer, LeaseAnswer, Nothing, RouterAnswer
from .request import Request


@dataclass(frozen=True, kw_only=True)
class MulticastForward(Request[Nothing]):
    """IPv4 multicast from each of these interfaces to the others."""

    op: ClassVar[str] = "multicast-forward"
    interfaces: list[str]
    groups: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class RouterAdvertise(Request[Nothing]):
    """Answers to router solicitations."""

    op: ClassVar[str] = "router-advertise"
    device: str
    prefixes: list[Mapping[str, Any]]
    router_lifetime_s: int
    mtu_bytes: int | None = None
    hop_limit: int | None = None
    pref64: list[Mapping[str, Any]] | None = None


@dataclass(frozen=True, kw_only=True)
class RouterSolicit(Request[RouterAnswer]):
    """A question to the routers on a device."""

    op: ClassVar[str] = "router-solicit"
    device: str
    timeout_ns: int
    destination: str | None = None


@dataclass(frozen=True, kw_only=True)
class PrefixDiscover(Request[DiscoveredPrefix]):
    """The search for the prefix of a NAT64: `by` `ra` on a device, or `by` `dns64` of a resolver."""

    op: ClassVar[str] = "prefix-discover"
    by: str
    device: str | None = None
    resolver: str | None = None
    timeout_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class DhcpServe(Request[Nothing]):
    """IPv4 addresses for the hosts of a link, or the time for which those that can are to do without."""

    op: ClassVar[str] = "dhcp-serve"
    device: str
    server: str
    prefix_bits: int
    first: str
    last: str
    lease_s: int | None = None
    v6only_wait_s: int | None = None


@dataclass(frozen=True, kw_only=True)
class DhcpAsk(Request[WithoutIpv4]):
    """A host's question whether it can do without IPv4 on its link."""

    op: ClassVar[str] = "dhcp-ask"
    device: str
    timeout_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class BrokerStart(Request[BrokerAnswer]):
    """A tunnel broker in the node, which leases tunnels, or addresses alone."""

    op: ClassVar[str] = "broker-start"
    address: str
    clients: list[str]
    token: str = field(repr=False)
    lifetime_s: int
    max_clients: int
    pool: str | None = None
    tunnel: Mapping[str, Any] | None = None
    device_prefix: str | None = None
    addresses: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class BrokerStop(Request[Nothing]):
    """The end of the broker, with all its tunnels."""

    op: ClassVar[str] = "broker-stop"


@dataclass(frozen=True, kw_only=True)
class BrokerRelease(Request[Nothing]):
    """A tunnel that is given back."""

    op: ClassVar[str] = "broker-release"
    device: str
    timeout_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class BrokerRequest(Request[LeaseAnswer]):
    """A tunnel that a broker is asked for, or an address alone."""

    op: ClassVar[str] = "broker-request"
    broker: str
    port: int
    token: str = field(repr=False)
    local: str
    device: str
    tunnel: Mapping[str, Any] | None = None
    timeout_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class DnsStart(Request[Nothing]):
    """A resolver in the node, with DNS64 where there is a prefix."""

    op: ClassVar[str] = "dns-start"
    addresses: list[str]
    names: list[Mapping[str, Any]]
    prefix: str | None = None
    port: int | None = None
    excluded: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class DnsCounters(Request[DnsAnswer]):
    """What a resolver was asked."""

    op: ClassVar[str] = "dns-counters"


@dataclass(frozen=True, kw_only=True)
class DnsStop(Request[DnsAnswer]):
    """The end of a resolver."""

    op: ClassVar[str] = "dns-stop"


@dataclass(frozen=True, kw_only=True)
class RelayStart(Request[Nothing]):
    """A relay of TCP and UDP to IPv4 servers in the node."""

    op: ClassVar[str] = "relay-start"
    prefix: str
    port: int | None = None
    sessions: int | None = None
    udp_timeout_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class RelayCounters(Request[RelayAnswer]):
    """What a relay did."""

    op: ClassVar[str] = "relay-counters"


@dataclass(frozen=True, kw_only=True)
class RelayStop(Request[RelayAnswer]):
    """The end of a relay and of its sessions."""

    op: ClassVar[str] = "relay-stop"
