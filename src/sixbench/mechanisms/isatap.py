"""ISATAP (RFC 5214): hosts in an IPv4 site, and the router that advertises a prefix to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, IPv6Interface, IPv6Network
from itertools import combinations
from typing import Any

from ..model.network import Network, Request, Stage
from ..model.path import Path
from ..model.topology import Interface, Link, Topology
from .common import (
    TUNNEL_OPTIONS,
    check_overlap,
    device_mtu,
    family_of,
    finish,
    ipv4_of,
    is_private,
    make_tunnel,
    tunnel_prefix_v6,
    with_links,
    without_family,
)
from .kind import Mechanism, MechanismError
from .sites import carriers_of

_HEADERS = ("ipv4",)
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
    ways, own = carriers_of(path, topology, list(path.nodes))
    local = {node: ipv4_of(own[node][0].local(node)) for node in path.nodes}
    mtu_bytes = device_mtu(path, ways, _HEADERS, 6)
    device = f"{path.mechanism}-1"
    prefix = tunnel_prefix_v6(0)
    addresses = {node: identified(prefix, address) for node, address in local.items()}
    gateway = identified(_LINK_LOCAL, local[router]).ip
    links = []
    for first, second in combinations(path.nodes, 2):
        ends = [Interface(node=node, name=device, ipv4=None, ipv6=addresses[node]) for node in (first, second)]
        if second == router:
            ends[1] = replace(ends[1], gateway=gateway)
        links.append(
            Link(
                name=f"{path.mechanism}:{first}-{second}",
                ends=(ends[0], ends[1]),
                mtu_bytes=mtu_bytes,
                offload=True,
                headers=_HEADERS,
            )
        )
    tunnels = [
        make_tunnel(
            path,
            node=node,
            device=device,
            mtu_bytes=mtu_bytes,
            payload="ipv6",
            ways=own[node],
            mapping={"kind": "isatap", "routers": [] if node == router else [str(local[router])]},
            autoconfigured=node != router,
        )
        for node in path.nodes
    ]
    carried = without_family(topology, {link.name for way in ways for link in way.links}, 6)
    check_overlap(path, carried, [prefix])
    stages: list[dict[str, Stage]] = [
        {router: Stage(requests=(_advertise(device, prefix, mtu_bytes),))},
        {
            host: Stage(
                requests=(_solicit(device, prefix, gateway),), ip=(f"address add {addresses[host]} dev {device} nodad",)
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


def _advertise(device: str, prefix: IPv6Network, mtu_bytes: int) -> Request:
    return Request(
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


def _solicit(device: str, prefix: IPv6Network, gateway: IPv6Address) -> Request:
    def check(answer: Mapping[str, Any]) -> str | None:
        if answer.get("router") != str(gateway):
            return f"the router {answer.get('router')} advertised itself, where {gateway} was expected"
        found = [item.get("prefix") for item in answer.get("prefixes", []) if item.get("autonomous")]
        if str(prefix) not in found:
            return f"the router advertised {', '.join(map(str, found)) or 'no prefix'}, where {prefix} was expected"
        return None

    return Request(op="router-solicit", fields={"device": device, "timeout_ns": SOLICIT_TIMEOUT_NS}, check=check)


ISATAP = Mechanism(
    name="isatap",
    doc="Intra-Site Automatic Tunnel Addressing (RFC 5214): hosts solicit a prefix of their router over IPv4.",
    family=family_of,
    install=_install,
    headers=_HEADERS,
    carriers=frozenset({4, 6}),
    node_count=(2, 8),
    node_order="the hosts, then the router",
    engines=("kernel", "ebpf", "user"),
    options=TUNNEL_OPTIONS,
    sample=("h1", "r2"),
)
