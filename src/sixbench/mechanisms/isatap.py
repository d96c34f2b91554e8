"""ISATAP (RFC 5214): hosts in an IPv4 site, and the router that advertises a prefix to them."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Interface, IPv6Network
from typing import Any

from ..engines import EBPF, KERNEL, USER
from ..model.network import Network
from ..model.path import Path
from ..model.stage import NodeRequest, Stage
from ..model.topology import Topology
from .common import (
    TUNNEL_OPTIONS,
    TUNNEL_PREFIX_V6,
    check_overlap,
    family_of,
    finish,
    is_private,
    with_links,
    without_family,
)
from .kind import Mechanism, MechanismError
from .mesh import HEADERS, mesh_of

_LINK_LOCAL = IPv6Network("fe80::/64")
_PRIVATE_BIT = 0x5EFE
_GLOBAL_BIT = 0x0200_5EFE

ROUTER_LIFETIME_S = 1800
PREFIX_VALID_S = 86400
PREFIX_PREFERRED_S = 14400
"""RFC 4861 section 6.2.1's default of the router's lifetime; a day and four hours for the prefix."""

SOLICIT_TIMEOUT_NS = 5_000_000_000


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    *hosts, router = path.nodes
    if topology.nodes[router].kind != "router":
        raise MechanismError(f'"{router}" is a host; the ISATAP router is named last, after the hosts')
    for host in hosts:
        if topology.nodes[host].kind != "host":
            raise MechanismError(f'"{host}" is a router; ISATAP is for hosts, and the router is named last')
    mesh = mesh_of(path, topology, path.nodes)
    prefix = TUNNEL_PREFIX_V6
    addresses = {node: identified(prefix, address) for node, address in mesh.local.items()}
    gateway = identified(_LINK_LOCAL, mesh.local[router]).ip
    ends = {node: mesh.end(node, address) for node, address in addresses.items()}
    ends[router] = mesh.end(router, addresses[router], gateway)
    links = mesh.links(ends)
    tunnels = mesh.tunnels(
        lambda node: {"kind": "isatap", "routers": [] if node == router else [str(mesh.local[router])]},
        autoconfigured=hosts,
    )
    carried = without_family(topology, mesh.carrier_links, 6)
    check_overlap(path, carried, [prefix])
    stages: list[dict[str, Stage]] = [
        {router: Stage(requests=(_advertise(mesh.device, prefix, mesh.mtu_bytes),))},
        {
            host: Stage(
                requests=(_solicit(mesh.device, prefix, gateway),),
                ip=(f"address add {addresses[host]} dev {mesh.device} nodad",),
            )
            for host in hosts
        },
    ]
    return finish(path, with_links(carried, links), between, tunnels, 6, stages=stages)


def identified(prefix: IPv6Network, address: IPv4Address) -> IPv6Interface:
    """The ISATAP address of a node in a prefix: RFC 5214 section 6.1. The universal bit says that the IPv4 address is
    globally unique; only RFC 1918's are not here."""
    identifier = (_PRIVATE_BIT if is_private(address) else _GLOBAL_BIT) << 32 | int(address)
    return IPv6Interface((int(prefix.network_address) + identifier, prefix.prefixlen))


def _advertise(device: str, prefix: IPv6Network, mtu_bytes: int) -> NodeRequest:
    return NodeRequest(
        op="router-advertise",
        fields={
            "device": device,
            "prefixes": [
                {
                    "prefix": str(prefix),
                    "on_link": True,
                    "autonomous": True,
                    "valid_s": PREFIX_VALID_S,
                    "preferred_s": PREFIX_PREFERRED_S,
                }
            ],
            "router_lifetime_s": ROUTER_LIFETIME_S,
            "mtu_bytes": mtu_bytes,
        },
    )


def _solicit(device: str, prefix: IPv6Network, gateway: IPv6Address) -> NodeRequest:
    def check(answer: Mapping[str, Any]) -> str | None:
        if answer.get("router") != str(gateway):
            return f"the router {answer.get('router')} advertised itself, where {gateway} was expected"
        results = [item.get("prefix") for item in answer.get("prefixes", []) if item.get("autonomous")]
        if str(prefix) not in results:
            return f"the router advertised {', '.join(map(str, results)) or 'no prefix'}, where {prefix} was expected"
        return None

    return NodeRequest(op="router-solicit", fields={"device": device, "timeout_ns": SOLICIT_TIMEOUT_NS}, check=check)


ISATAP = Mechanism(
    name="isatap",
    doc="Intra-Site Automatic Tunnel Addressing (RFC 5214): hosts solicit a prefix of their router over IPv4.",
    family=family_of,
    install=_install,
    headers=HEADERS,
    node_count=(2, 8),
    node_order="the hosts, then the router",
    executed_by=(KERNEL, EBPF, USER),
    options=TUNNEL_OPTIONS,
    sample=("h1", "r2"),
)
