"""Teredo (RFC 4380): IPv6 in UDP, for hosts in an IPv4 network, with a server, and with a relay to native IPv6."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Interface, IPv6Network

from ..model.device import Device, Tunnel
from ..model.headers import HEADERS as SIZES
from ..model.leg import Address
from ..model.network import Network, passages_of
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.stage import NodeRequest, Stage
from ..model.topology import ETHERNET_MIN_MTU_V6, Interface, Topology
from . import miredo
from .common import (
    address_at,
    carrier,
    check_overlap,
    check_router,
    family_of,
    finish,
    ipv4_of,
    is_private,
    make_tunnel,
    tunnel_link,
    with_links,
    without_family,
)
from .kind import Mechanism, MechanismError
from .mesh import Mesh, mesh_of

HEADERS = ("ipv4", "udp", "teredo")
PREFIX = IPv6Network("2001::/32")
"""RFC 4380 section 2.6."""
SERVERS = IPv4Network("198.51.100.2/31")
"""The server's two addresses, one after the other (RFC 4380 section 2.19), which no link has (RFC 5737)."""
PORT = 3545
"""The UDP port of clients and relay."""
MTU_BYTES = ETHERNET_MIN_MTU_V6
"""RFC 4380 section 5: whatever the links have room for."""
FLAGS = 0xFFFF << 48
"""The flags of an address: twelve of these bits are random (RFC 5991 section 3). So descriptions have zeros."""
SERVER_DEVICE = "teredo-srv"


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    relay = path.nodes[-1] if topology.nodes[path.nodes[-1]].kind == "router" else None
    clients = [node for node in path.nodes if node != relay]
    _check_clients(topology, clients)
    server = _server(path, topology, relay)
    mesh = mesh_of(path, topology, path.nodes, through_nat=True)
    mapped = _nats(topology, mesh, server)
    _check_nats(topology, mapped, relay, between[0])
    known = {node: mesh.local[node] if nat is None else nat.address for node, nat in mapped.items()}
    _check_carriers(path, topology, mesh, known, server)
    carried = without_family(topology, mesh.carrier_links, 6)
    check_overlap(path, carried, [PREFIX, SERVERS])
    if relay is not None:
        _check_tests(carried, server, relay, set(between) - set(clients))
    addresses = {node: teredo_address(SERVERS[0], address, PORT) for node, address in known.items()}
    ends = {
        node: Interface(node=node, name=mesh.device, ipv4=None, ipv6=IPv6Interface((int(address), PREFIX.prefixlen)))
        for node, address in addresses.items()
    }
    links = [
        tunnel_link(path, ends[underlay.first], ends[underlay.second], MTU_BYTES, HEADERS) for underlay in mesh.ways
    ]
    tunnels = [
        replace(_tunnel(path, mesh, node, relay), mapped=None if (nat := mapped[node]) is None else nat.address)
        for node in path.nodes
    ]
    prepared = Device(
        node=server, device=SERVER_DEVICE, mtu_bytes=MTU_BYTES, prefixes=(SERVERS,), made_by=miredo.MADE_BY
    )
    network = finish(path, with_links(carried, links), between, tunnels, 6, stages=_stages(prepared, tunnels, ends))
    return replace(network, devices=(*network.devices, prepared))


def teredo_address(server: IPv4Address, mapped: IPv4Address, port: int, flags: int = 0) -> IPv6Address:
    """The address of a client (RFC 4380 section 4): address and port, as the server sees them, with all bits
    inverted."""
    obscured = (port ^ 0xFFFF) << 32 | (int(mapped) ^ 0xFFFFFFFF)
    return IPv6Address(int(PREFIX.network_address) | int(server) << 64 | flags << 48 | obscured)


def learned(described: IPv6Address, text: str) -> IPv6Address | None:
    """The address that a client got, of those that `ip address` said: as it is described but for the flags."""
    for word in text.split():
        address, slash, _ = word.partition("/")
        if slash and (int(IPv6Address(address)) ^ int(described)) & ~FLAGS == 0:
            return IPv6Address(address)
    return None


def _check_clients(topology: Topology, clients: Sequence[str]) -> None:
    for node in clients:
        if topology.nodes[node].kind != "host":
            raise MechanismError(f'"{node}" is a router; Teredo clients are hosts, and the relay is named last')


def _server(path: Path, topology: Topology, relay: str | None) -> str:
    server = path.options.get("server", relay)
    if server is None:
        raise MechanismError("Teredo clients without a relay need a server: name a router, as in server: r1", "server")
    check_router(topology, str(server), "a Teredo server", "server")
    return str(server)


@dataclass(frozen=True, kw_only=True)
class _Nat:
    """The NAT in front of a client: its node, and the address by which all others know the client."""

    node: str
    address: IPv4Address


def _nats_between(topology: Topology, first: str, second: str) -> list[_Nat]:
    """Those on the way from a node to another, with their addresses towards the latter."""
    return [
        _Nat(node=passage.near, address=ipv4_of(address_at(passage.link, passage.near, 4)))
        for passage in passages_of(topology, first, second, 4)[1:]
        if topology.nodes[passage.near].masquerade
    ]


def _nats(topology: Topology, mesh: Mesh, server: str) -> dict[str, _Nat | None]:
    """The NAT between each node and the server, if there is one. Raises `MechanismError` where there are several, or
    packets between two nodes pass others or not all of theirs."""
    results: dict[str, _Nat | None] = {}
    for node in mesh.of:
        nats = _nats_between(topology, node, server) if node != server else []
        if len(nats) > 1:
            raise MechanismError(
                f'"{nats[0].node}" and "{nats[1].node}", between "{node}" and the server "{server}", masquerade; '
                "there can be one NAT in front of a client"
            )
        results[node] = nats[0] if nats else None
    for underlay in mesh.ways:
        for first, second in ((underlay.first, underlay.second), (underlay.second, underlay.first)):
            edge, others = results[first], results[second]
            passed = _nats_between(topology, first, second)
            if edge is not None and edge not in passed:
                raise MechanismError(
                    f'"{edge.node}" masquerades between "{first}" and the Teredo server "{server}", but not with that '
                    f'address between "{first}" and "{second}": all must know "{first}" by one address'
                )
            known = {nat.node for nat in (edge, others) if nat is not None}
            strange = next((nat.node for nat in passed if nat.node not in known), None)
            if strange is not None:
                raise MechanismError(
                    f'"{strange}", between "{first}" and "{second}", masquerades, and is between neither of them and '
                    f'the Teredo server "{server}", which tells them their addresses: name a server beyond it',
                    "server",
                )
    return results


def _check_nats(topology: Topology, mapped: Mapping[str, _Nat | None], relay: str | None, sender: str) -> None:
    """Raises `MechanismError` where another node than the path's client is behind a NAT, or this one is behind one that
    others cannot know it by."""
    for node, nat in mapped.items():
        if nat is None:
            continue
        if topology.nodes[nat.node].nat_ports == "random":
            raise MechanismError(
                f'"{node}" is behind "{nat.node}", a symmetric NAT, which forgets its sessions before each trial and '
                "then chooses another port than the one in the client's address (RFC 4380 section 5.2.1 has clients "
                "give up there): leave nat-ports out"
            )
        if node == sender:
            continue
        if node == relay:
            raise MechanismError(
                f'the Teredo relay "{node}" is behind "{nat.node}", which masquerades: a relay has a public address '
                "(RFC 4380 section 5.4)"
            )
        raise MechanismError(
            f'"{node}" is behind "{nat.node}", which masquerades and forgets its sessions before each trial: only '
            f'the node that sends first can be behind a NAT, and that is "{sender}"'
        )


def _check_carriers(path: Path, topology: Topology, mesh: Mesh, known: Mapping[str, IPv4Address], server: str) -> None:
    """Raises `MechanismError` where packets of miredo would be dropped, or have no room."""
    for node, address in known.items():
        if is_private(address):
            raise MechanismError(
                f'Teredo at "{node}" would use the private address {address}, to which no packets are sent '
                "(RFC 4380 section 4): give the link another address"
            )
        if node != server:
            carrier(path, topology, node, server, 4, through_nat=True)
    least = MTU_BYTES + sum(SIZES[name].size_bytes for name in HEADERS)
    for link in (link for underlay in mesh.ways for link in underlay.links):
        if link.mtu_bytes < least:
            raise MechanismError(
                f"{link.name} has an MTU of {link.mtu_bytes}, and packets of Teredo have up to {least} bytes: "
                f"give the link an MTU of at least {least}"
            )


def _check_tests(carried: Topology, server: str, relay: str, natives: Collection[str]) -> None:
    """Raises `MechanismError` where the server cannot pass on the echo by which a client finds the relay of an IPv6
    host."""
    for native in sorted(natives):
        if not carried.route(server, native, 6):
            raise MechanismError(
                f'the Teredo server "{server}" does not reach "{native}" over IPv6, so that clients do not find their '
                f'relay (RFC 4380 section 5.2.9): name a router beyond the carrier, such as "{relay}"',
                "server",
            )


def _tunnel(path: Path, mesh: Mesh, node: str, relay: str | None) -> Tunnel:
    return make_tunnel(
        path,
        node=node,
        device=mesh.device,
        mtu_bytes=MTU_BYTES,
        payload="ipv6",
        ways=mesh.of[node],
        mapping={
            "kind": miredo.RELAY if node == relay else miredo.CLIENT,
            "server": str(SERVERS[0]),
            "relay": None if relay is None else str(mesh.local[relay]),
            "port": PORT,
        },
        made_by=miredo.MADE_BY,
        autoconfigured=True,
    )


def _stages(server: Device, tunnels: Sequence[Tunnel], ends: Mapping[str, Interface]) -> list[dict[str, Stage]]:
    """First the server, then clients and relay, then all have to be ready."""
    begun: dict[str, Stage] = {}
    ready: dict[str, Stage] = {}
    for tunnel in tunnels:
        stage, address = miredo.make(tunnel), ends[tunnel.node].ipv6
        assert address is not None, "every end has an address"
        if tunnel.mapping["kind"] == miredo.RELAY:
            stage = replace(stage, ip=(*stage.ip, f"address add {address} dev {tunnel.device} nodad"))
            waiting = miredo.listening(PORT, 1, "the Teredo relay")
        else:
            waiting = _qualified(tunnel, address.ip)
        begun[tunnel.node] = stage
        ready[tunnel.node] = Stage(requests=(waiting,))
    listening = miredo.listening(miredo.SERVER_PORT, SERVERS.num_addresses, "the Teredo server")
    begun[server.node] = replace(begun.get(server.node, Stage()), requests=(listening,))
    return [{server.node: miredo.make(server)}, begun, ready]


def _qualified(tunnel: Tunnel, described: IPv6Address) -> NodeRequest:
    """Waits for the address that the server has told a client, and until the kernel lets sockets have it."""

    def check(text: str) -> str | None:
        if learned(described, text) is None:
            return f"the Teredo client got {' '.join(text.split())}, where {described} was expected but for its flags"
        return None

    def learns(text: str) -> Mapping[Address, Address]:
        address = learned(described, text)
        return {} if address is None else {described: address}

    return miredo.awaited(
        f"ip -6 -o address show dev {tunnel.device} scope global -tentative | grep -o 'inet6 2001:[^ ]*'",
        f"the Teredo client got no address by the server {tunnel.mapping['server']}",
        check,
        learns,
    )


TEREDO = Mechanism(
    name="teredo",
    doc="Teredo (RFC 4380): IPv6 in UDP from hosts in an IPv4 network, with a server and a relay.",
    family=family_of,
    install=_install,
    headers=HEADERS,
    inner_mtu_bytes=MTU_BYTES,
    node_count=(2, 8),
    node_order="the clients, then the relay if there is one",
    executed_by=(miredo.MIREDO,),
    options=(
        Parameter(
            name="server",
            kind="name",
            doc="the router that gives clients their addresses, and passes on the packets that find the way",
            unless_given="the relay",
        ),
    ),
    sample=("h1", "r2"),
)
