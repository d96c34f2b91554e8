"""6to4 (RFC 3056): the site of IPv4 address V4 is 2002:V4::/48; with a relay to native IPv6 (RFC 3068, RFC 7526)."""

from __future__ import annotations

from functools import partial
from ipaddress import IPv4Address, IPv6Interface, IPv6Network

from ..model.network import Network
from ..model.path import Path
from ..model.topology import Topology
from ..model.workload import Parameter
from .common import TUNNEL_OPTIONS, check_overlap, check_router, device_mtu, family_of, finish, is_private, make_tunnel
from .kind import Mechanism, MechanismError
from .sites import join

PREFIX = IPv6Network("2002::/16")
_HEADERS = ("ipv4",)


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    relay = path.options.get("relay")
    sites = [node for node in path.nodes if node != relay]
    others = [str(relay)] if relay is not None else []
    _check_members(path, topology, sites, others)
    device = f"{path.mechanism}-1"
    members = join(
        path,
        topology,
        sites=sites,
        others=others,
        prefix_of=site_prefix,
        device_address=_device_address,
        gateway_of=dict.fromkeys(others, _compatible),
        headers=_HEADERS,
        mtu_of=partial(device_mtu, path, headers=_HEADERS, inner=6),
        device=device,
    )
    allows_private = path.options.get("private") is True
    for node, address in members.local.items():
        _check_address(node, address, allows_private)
    mtu_bytes = device_mtu(path, members.ways, _HEADERS, 6)
    check_overlap(path, members.topology, [PREFIX], numbered=members.numbered)
    tunnels = [
        make_tunnel(
            path,
            node=node,
            device=device,
            mtu_bytes=mtu_bytes,
            payload="ipv6",
            ways=members.of[node],
            mapping={
                "kind": "6to4",
                "relay": str(members.local[others[0]]) if others and node != relay else None,
                "allow_private": allows_private,
            },
        )
        for node in (*sites, *others)
    ]
    return finish(path, members.topology, between, tunnels, 6)


def site_prefix(address: IPv4Address) -> IPv6Network:
    """RFC 3056 section 2."""
    return IPv6Network(((0x2002 << 112) | (int(address) << 80), 48))


def _device_address(address: IPv4Address) -> IPv6Interface:
    """Of the pseudo-interface, on which all 6to4 sites are on-link."""
    return IPv6Interface((int(site_prefix(address).network_address) + 1, PREFIX.prefixlen))


def _compatible(address: IPv4Address) -> IPv6Interface:
    """The next hop `::V4`, by which Linux names an outer destination that the inner one does not embed."""
    return IPv6Interface((int(address), 128))


def _check_members(path: Path, topology: Topology, sites: list[str], others: list[str]) -> None:
    for node in others:
        check_router(topology, node, "a relay", "relay")
    if len(sites) + len(others) < 2:
        raise MechanismError(
            "6to4 joins two sites, or a site and a relay: name two nodes, such as [r1, r2], or one and relay: r2"
        )


def _check_address(node: str, address: IPv4Address, allows_private: bool) -> None:
    """RFC 3056 section 2: a globally unique address; RFC 3964 section 5.3.1 for what is not."""
    if is_private(address) and not allows_private:
        raise MechanismError(
            f'6to4 at "{node}" would use the private address {address}, whose packets are dropped '
            "(RFC 3056 section 2, RFC 3964 section 5.3): give the link another address, or the path private: true",
            "private",
        )


SIX_TO_FOUR = Mechanism(
    name="6to4",
    doc="Sites whose IPv6 prefix embeds their router's IPv4 address (RFC 3056), with the checks of RFC 3964.",
    family=family_of,
    install=_install,
    headers=_HEADERS,
    carriers=frozenset({4, 6}),
    node_count=(1, 8),
    node_order="the routers (or hosts) of the sites",
    engines=("kernel", "ebpf", "user"),
    options=(
        *TUNNEL_OPTIONS,
        Parameter(
            name="relay",
            column="relay",
            kind="name",
            doc="the router that leads to native IPv6, for which sites have a default route",
            default="none",
        ),
        Parameter(
            name="private",
            column="private",
            kind="flag",
            doc="whether private IPv4 addresses are taken, which RFC 3964 section 5.3 has dropped",
            default="false",
        ),
    ),
    sample=("r1", "r2"),
)
