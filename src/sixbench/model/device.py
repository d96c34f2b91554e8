"""The devices that a mechanism has made in nodes: ends of tunnels, translators, and relays."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Any, Literal

from .leg import Address
from .topology import Family

Payload = Literal["ipv6", "ipv4", "gre", "ethernet"]
PathMtu = Literal["static", "dynamic"]

DEFAULT_TTL = 64
"""The hop limit of outer packets, unless the experiment says otherwise (RFC 4213 section 3.3, RFC 1700)."""

QUIET_DROPS = frozenset({"no-mapping", "inner-family"})
"""Reasons of drops that mean nothing: packets that a node itself sends into a tunnel which does not carry them, such as
multicast listener reports."""

MAX_DEVICE_NAME = 11
"""The longest name of a device: the kernel's 15 bytes, less those that the `ebpf` engine's second device adds."""


@dataclass(frozen=True, kw_only=True)
class Device:
    """A device of a node. Packets are routed into it and come out of it as something else. Engines know how to make it.

    Attributes:
        device: its name.
        mtu_bytes: of the device.
        prefixes: those that end at it. All nodes have routes to them, which lead to its node, and there into it. Where
            they are part of the prefix of one of the node's links, the routes to that one lead to the node.
        addresses: those that its node has for its sake alone, on the loopback interface, before the device is made.
        made_by: the request or the program that makes it in a stage, where no engine does beforehand.
        autoconfigured: whether it gets its address in a stage rather than as soon as it exists.
        after_stages: how many stages are done before the engine makes it and it gets its address.
        routes_itself: whether its node's own routes into it are none of ours.
        keeps_state: whether it keeps state of connections by itself, in a table that nobody else sees.
    """

    node: str
    device: str
    mtu_bytes: int
    prefixes: tuple[IPv4Network | IPv6Network, ...] = ()
    addresses: tuple[Address, ...] = ()
    made_by: str | None = None
    autoconfigured: bool = False
    after_stages: int = 0
    routes_itself: bool = False
    keeps_state: bool = False

    @property
    def kind(self) -> tuple[str, ...]:
        """Abilities that an engine must have. Of devices of one kind it makes all or none."""
        return (type(self).__name__,)


@dataclass(frozen=True, kw_only=True)
class Tunnel(Device):
    """One end of a tunnel. The prefixes that it leads to are those of its links.

    Attributes:
        outer: family of the outer packets.
        payload: what they carry.
        local: their source: an address of the node.
        mapped: by which other ends know it where a NAT is between; None: by `local`.
        underlay: the interfaces where the peers' packets arrive.
        mapping: how the outer destination follows from the inner packet, as docs/protocol.md has it:
            `{"kind": "fixed", "remote": "198.18.1.2"}`.
        ttl: of the outer packets; None: the inner one's.
        tos: octet of the outer packets; None: the inner one's DSCP.
        ecn: whether ECN passes through (RFC 6040).
        pmtu: whether outer packets may be fragmented (`static`) or not (`dynamic`; RFC 4213 section 3.2).
        key: of GRE; number of the network of VXLAN.
    """

    outer: Family
    payload: Payload
    local: Address
    underlay: tuple[str, ...]
    mapping: dict[str, Any]
    ttl: int | None = DEFAULT_TTL
    tos: int | None = None
    ecn: bool = True
    pmtu: PathMtu = "static"
    key: int | None = None
    mapped: Address | None = None

    @property
    def kind(self) -> tuple[str, ...]:
        return (*super().kind, self.payload, f"ipv{self.outer}", str(self.mapping["kind"]))


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """Way in which a CLAT learns the prefix of the NAT64.

    Attributes:
        by: `ra` (RFC 8781) or `dns64` (RFC 7050).
        teller: the node that tells it.
        fields: of the request `prefix-discover`.
        prefix: the one that the NAT64 has, and that must be told.
        dhcp: the fields of the request `dhcp-ask`, by which its node learns before that it can do without IPv4 (RFC
            8925); None: it does not ask.
    """

    by: str
    teller: str
    fields: dict[str, Any]
    prefix: IPv6Network
    dhcp: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Translator(Device):
    """Takes packets of one family and gives them the headers of the other (RFC 7915).

    Attributes:
        mapping: how addresses of one family follow from those of the other.
        hops: how much less the hop limit is behind its node. A node that forwards takes one. None: it is not known.
        through_node: whether its node translates IPv4 addresses besides, so that packets have to pass its connection
            tracking.
        discovery: how its node learns the prefix before it is made; None: it has it from the start.
    """

    mapping: dict[str, Any]
    hops: int | None = 1
    through_node: bool = False
    discovery: Discovery | None = None

    @property
    def kind(self) -> tuple[str, ...]:
        return (*super().kind, str(self.mapping["kind"]))


@dataclass(frozen=True, kw_only=True)
class Relay(Device):
    """Ends the connections of hosts to addresses of its prefixes, and makes connections of its own to the servers that
    these stand for (RFC 3142). Packets end at the node's own `lo`, as those to its addresses do.

    Attributes:
        prefix: in which the servers' addresses are embedded.
        sessions: how many it has at most.
    """

    prefix: IPv6Network
    sessions: int
