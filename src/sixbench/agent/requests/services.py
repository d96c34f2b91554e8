"""Services of a node for others: multicast, routers, DHCP, brokers, resolvers and relays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ...model.observation import DiscoveredPrefixAnswer, RelayAnswer, WithoutIpv4Answer
from ..answers import BrokerAnswer, DnsAnswer, LeaseAnswer, Nothing, RouterAnswer
from .request import Request


class MulticastForward(Request[Nothing]):
    """IPv4 multicast from each of these interfaces to the others."""

    interfaces: list[str]
    groups: list[str] | None = None


class RouterAdvertise(Request[Nothing]):
    """Answers to router solicitations."""

    device: str
    prefixes: list[Mapping[str, Any]]
    router_lifetime_s: int
    mtu_bytes: int | None = None
    hop_limit: int | None = None
    pref64: list[Mapping[str, Any]] | None = None


class RouterSolicit(Request[RouterAnswer]):
    """A question to the routers on a device."""

    device: str
    timeout_ns: int
    destination: str | None = None


class PrefixDiscover(Request[DiscoveredPrefixAnswer]):
    """The search for the prefix of a NAT64: `by` `ra` on a device, or `by` `dns64` of a resolver."""

    by: str
    device: str | None = None
    resolver: str | None = None
    timeout_ns: int | None = None


class DhcpServe(Request[Nothing]):
    """IPv4 addresses for the hosts of a link, or the time for which those that can are to do without."""

    device: str
    server: str
    prefix_bits: int
    first: str
    last: str
    lease_s: int | None = None
    v6only_wait_s: int | None = None


class DhcpAsk(Request[WithoutIpv4Answer]):
    """A host's question whether it can do without IPv4 on its link."""

    device: str
    timeout_ns: int | None = None


class BrokerStart(Request[BrokerAnswer]):
    """A tunnel broker in the node, which leases tunnels, or addresses alone."""

    address: str
    clients: list[str]
    token: str = field(repr=False)
    lifetime_s: int
    max_clients: int
    pool: str | None = None
    tunnel: Mapping[str, Any] | None = None
    device_prefix: str | None = None
    addresses: Mapping[str, Any] | None = None


class BrokerStop(Request[Nothing]):
    """The end of the broker, with all its tunnels."""


class BrokerRelease(Request[Nothing]):
    """A tunnel that is given back."""

    device: str
    timeout_ns: int | None = None


class BrokerRequest(Request[LeaseAnswer]):
    """A tunnel that a broker is asked for, or an address alone."""

    broker: str
    port: int
    token: str = field(repr=False)
    local: str
    device: str
    tunnel: Mapping[str, Any] | None = None
    timeout_ns: int | None = None


class DnsStart(Request[Nothing]):
    """A resolver in the node, with DNS64 where there is a prefix. `forward`: the zone of which it asks another server,
    and that."""

    addresses: list[str]
    names: list[Mapping[str, Any]]
    prefix: str | None = None
    port: int | None = None
    excluded: list[str] | None = None
    allow_non_global: bool | None = None
    forward: Mapping[str, Any] | None = None


class DnsCounters(Request[DnsAnswer]):
    """Questions that a resolver got."""


class DnsStop(Request[DnsAnswer]):
    """The end of a resolver."""


class RelayStart(Request[Nothing]):
    """A relay of TCP and UDP to IPv4 servers in the node."""

    prefix: str
    port: int | None = None
    sessions: int | None = None
    udp_timeout_ns: int | None = None


class RelayCountersRequest(Request[RelayAnswer], op="relay-counters"):
    """The counts of a relay."""


class RelayStop(Request[RelayAnswer]):
    """The end of a relay and of its sessions."""
