"""DSTM (draft-ietf-ngtrans-dstm-08), which began as AIIH: in an IPv6 network, a dual-stack host without an IPv4 address
leases one from a server when it needs it, and sends IPv4 in IPv6 to a tunnel end point (TEP).

What the draft says: the server leases an address for a time and names the TEP with it; the host tunnels all its IPv4
there (RFC 2473); the TEP forwards to the IPv4 network, and knows which IPv6 host has which IPv4 address. By which
protocol the host asks (DHCPv6, TSP, RPC) and how the TEP learns of a lease, it leaves open.

What is ours: the host asks by the exchange of the tunnel broker (docs/protocol.md), and when its network is built
rather than with its first IPv4 packet. Both ends of its tunnel are made when the answer has come. AIIH's other half, in
which a question to the DNS makes the server assign an address to a host that did not ask, is not here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any

from ..engines import EBPF, KERNEL, USER
from ..model.device import Tunnel
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.stage import AnswerField, NodeRequest, Stage
from ..model.topology import Interface, Link, Topology
from .common import (
    TUNNEL_OPTIONS,
    Carrier,
    carrier,
    check_named_once,
    check_node,
    check_overlap,
    device_mtu,
    finish,
    make_tunnel,
    tunnel_link,
    with_links,
    without_family,
)
from .kind import Mechanism, MechanismError

_HEADERS = ("ipv6",)
DEFAULT_POOL = "192.0.2.0/28"
"""Room for 13 hosts (RFC 5737)."""
_NOT_LEASED = 3
"""The address of the prefix itself, its broadcast address, and the TEP's."""
_NOT_FOR_HOSTS = tuple(IPv4Network(name) for name in ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3"))
"""This network, loopback, link-local addresses, multicast and what is reserved (RFC 6890)."""
_MAX_CLIENTS = 256
"""So many leases at most has the agent's service (docs/protocol.md)."""
_NS_PER_S = 1_000_000_000
MAX_LEASE_NS = 86_400 * _NS_PER_S
"""The agent's service takes no more, and it is the default: a renewal among the captured packets of a trial makes it
invalid, because it does not go through the tunnel."""
TIMEOUT_NS = 5_000_000_000


@dataclass(frozen=True, kw_only=True)
class _Pool:
    """The addresses of a prefix: the first is the TEP's, the others are there to be leased. The two that no interface
    of the prefix may have are not among them."""

    prefix: IPv4Network

    @property
    def gateway(self) -> IPv4Address:
        return self.prefix[1]

    def leased(self, number: int) -> IPv4Address:
        """The lease of that number, from 1."""
        return self.prefix[1 + number]

    @property
    def room(self) -> int:
        """Number of leases."""
        return max(self.prefix.num_addresses - _NOT_LEASED, 0)


@dataclass(frozen=True, kw_only=True)
class _Host:
    """A host that leases an address: its number from 1, its ways to the TEP and to the server, and what it will get."""

    number: int
    node: str
    device: str
    underlay: Carrier
    asking: Carrier
    address: IPv4Address

    @property
    def end_point(self) -> str:
        """The TEP's IPv6 address, to which it sends."""
        return str(self.underlay.local(self.underlay.second))


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    *nodes, tep = path.nodes
    server = str(path.options.get("server", tep))
    _check_nodes(path, topology, server)
    pool = _Pool(prefix=IPv4Network(str(path.options.get("pool", DEFAULT_POOL))))
    _check_pool(pool, len(nodes))
    hosts = [
        _Host(
            number=number,
            node=node,
            device=f"{path.mechanism}-{number}",
            underlay=carrier(path, topology, node, tep, 6),
            asking=carrier(path, topology, node, server, 6),
            address=pool.leased(number),
        )
        for number, node in enumerate(nodes, start=1)
    ]
    mtu_bytes = device_mtu(path, [host.underlay for host in hosts], _HEADERS, 4)
    carried = without_family(topology, {link.name for host in hosts for link in host.underlay.links}, 4)
    check_overlap(path, carried, [pool.prefix], "pool")
    links = [_link(path, host, pool, mtu_bytes) for host in hosts]
    tunnels = [tunnel for host in hosts for tunnel in _tunnels(path, host, mtu_bytes)]
    asked = _LeaseExchange(hosts=hosts, pool=pool, lease_s=_lease_s(path))
    stages = [
        {server: Stage(requests=(asked.start,))},
        *({host.node: Stage(requests=(asked.ask(host),))} for host in hosts),
        # Packets to addresses that nobody has leased are unreachable, rather than sent into the first tunnel.
        {tep: Stage(ip=(f"route replace unreachable {pool.prefix}",))},
    ]
    return finish(path, with_links(carried, links), between, tunnels, 4, stages=stages)


def _check_nodes(path: Path, topology: Topology, server: str) -> None:
    *nodes, tep = path.nodes
    check_named_once(path)
    if topology.nodes[tep].kind != "router":
        raise MechanismError(f'"{tep}" is a host; the tunnel end point is a router and named last, after the hosts')
    routers = [node for node in nodes if topology.nodes[node].kind != "host"]
    if routers:
        raise MechanismError(f'"{routers[0]}" is a router; DSTM is for hosts, and the tunnel end point is named last')
    check_node(topology, server, "server")
    if server in nodes:
        raise MechanismError(f'"{server}" asks for an address itself; the server is another node', "server")


def _check_pool(pool: _Pool, count: int) -> None:
    """Raises `MechanismError` where hosts cannot have the pool's addresses, or not all of them can."""
    if any(pool.prefix.overlaps(network) for network in _NOT_FOR_HOSTS):
        raise MechanismError(
            f"the pool {pool.prefix} is for no hosts; give another one, such as {DEFAULT_POOL}", "pool"
        )
    if pool.room < count:
        enough = next(bits for bits in range(32, 0, -1) if 2 ** (32 - bits) - _NOT_LEASED >= count)
        hosts = "1 host needs an address" if count == 1 else f"{count} hosts need an address each"
        raise MechanismError(
            f"{hosts}, and the pool {pool.prefix} has {pool.room or 'none'} besides the tunnel end point's: give a "
            f"pool of /{enough} or larger",
            "pool",
        )


def _lease_s(path: Path) -> int:
    lease_ns = int(path.options.get("lease", MAX_LEASE_NS))
    if lease_ns % _NS_PER_S:
        raise MechanismError("a lease is a whole number of seconds, such as 60s", "lease")
    return lease_ns // _NS_PER_S


def _link(path: Path, host: _Host, pool: _Pool, mtu_bytes: int) -> Link:
    """The tunnel of a host. The TEP's prefix in it is the whole pool: so others have one route, to all of it."""
    tep, address = IPv4Interface((pool.gateway, pool.prefix.prefixlen)), IPv4Interface(host.address)
    return tunnel_link(
        path,
        Interface(node=host.underlay.second, name=host.device, ipv4=tep, ipv6=None),
        Interface(node=host.node, name=host.device, ipv4=address, ipv6=None),
        mtu_bytes,
        _HEADERS,
    )


def _tunnels(path: Path, host: _Host, mtu_bytes: int) -> list[Tunnel]:
    """Both ends of a host's tunnel, which are made once it has its address."""
    tep = host.underlay.second
    return [
        make_tunnel(
            path,
            node=node,
            device=host.device,
            mtu_bytes=mtu_bytes,
            payload="ipv4",
            ways=[host.underlay],
            mapping={"kind": "fixed", "remote": str(host.underlay.local(peer))},
            after_stages=1 + host.number,
            prefixes=prefixes,
        )
        for node, peer, prefixes in ((host.node, tep, ()), (tep, host.node, (IPv4Network(host.address),)))
    ]


@dataclass(frozen=True, kw_only=True)
class _LeaseExchange:
    """The exchange of all hosts with the server."""

    hosts: Sequence[_Host]
    pool: _Pool
    lease_s: int

    @property
    def server(self) -> str:
        return self.hosts[0].asking.second

    @property
    def address(self) -> str:
        """Address at which it listens: the one that the first host reaches first."""
        return str(self.hosts[0].asking.local(self.server))

    @property
    def token(self) -> str:
        """Proof that a host may ask."""
        return sha256(f"{self.address} {self.pool.prefix}".encode()).hexdigest()[:32]

    @property
    def start(self) -> NodeRequest:
        end_points = {_asking_address(host): host.end_point for host in self.hosts}
        return NodeRequest(
            op="broker-start",
            fields={
                "address": self.address,
                "clients": list(end_points),
                "token": self.token,
                "addresses": {
                    "first": str(self.pool.leased(1)),
                    "last": str(self.pool.leased(self.pool.room)),
                    "gateway": str(self.pool.gateway),
                    "end_points": end_points,
                },
                "lifetime_s": self.lease_s,
                "max_clients": min(self.pool.room, _MAX_CLIENTS),
            },
            undo=NodeRequest(op="broker-stop", fields={}),
        )

    def ask(self, host: _Host) -> NodeRequest:
        return NodeRequest(
            op="broker-request",
            fields={
                "broker": self.address,
                "port": AnswerField(node=self.server, op="broker-start", field="port"),
                "token": self.token,
                "local": _asking_address(host),
                "device": host.device,
                "timeout_ns": TIMEOUT_NS,
            },
            check=lambda answer: _check(answer, host),
            undo=NodeRequest(op="broker-release", fields={"device": host.device}),
        )


def _asking_address(host: _Host) -> str:
    return str(host.asking.local(host.node))


def _check(answer: Mapping[str, Any], host: _Host) -> str | None:
    if answer.get("address") != f"{host.address}/32":
        return f"the server gave the address {answer.get('address')}, where {host.address}/32 was expected"
    if answer.get("remote") != host.end_point:
        return f"the server named the tunnel end point {answer.get('remote')}, where {host.end_point} was expected"
    return None


DSTM = Mechanism(
    name="dstm",
    doc="DSTM (draft-ietf-ngtrans-dstm): hosts of an IPv6 network lease IPv4 addresses, and tunnel to an end point.",
    family=lambda options: 4,
    install=_install,
    headers=_HEADERS,
    node_count=(2, 33),
    node_order="the hosts, then the tunnel end point",
    executed_by=(KERNEL, EBPF, USER),
    options=(
        *TUNNEL_OPTIONS,
        Parameter(
            name="server", kind="name", doc="the node that leases addresses", unless_given="the tunnel end point"
        ),
        Parameter(
            name="pool",
            kind="ipv4-prefix",
            doc="the addresses: the first is the tunnel end point's, the others are leased",
            default=DEFAULT_POOL,
        ),
        Parameter(
            name="lease",
            kind="duration",
            doc="time for which an address is leased, in whole seconds; hosts renew it at half of that",
            minimum=_NS_PER_S,
            maximum=MAX_LEASE_NS,
            default=MAX_LEASE_NS,
        ),
    ),
    sample=("h1", "r2"),
)
