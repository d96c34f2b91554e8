"""6to4 (RFC 3056): the site of IPv4 address V4 is 2002:V4::/48; with a relay to native IPv6 (RFC 3068, RFC 7526)."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Interface, IPv6Network

from ..engines import EBPF, KERNEL, USER
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.topology import Topology
from .common import TUNNEL_OPTIONS, check_overlap, check_router, family_of, finish, is_private
from .kind import Mechanism, MechanismError
from .mesh import HEADERS, mesh_of
from .sites import compatible, join

PREFIX = IPv6Network("2002::/16")
PRIVATE = Parameter(
    name="private",
    kind="flag",
    doc="whether to take private IPv4 addresses, which RFC 3964 section 5.3 says to drop",
    default=False,
)


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    relay = path.options.get("relay")
    sites = [node for node in path.nodes if node != relay]
    others = [str(relay)] if relay is not None else []
    _check_members(path, topology, sites, others)
    mesh = mesh_of(path, topology, [*sites, *others])
    ends = {node: mesh.end(node, _device_address(mesh.local[node])) for node in sites}
    ends |= {node: mesh.end(node, _device_address(mesh.local[node]), compatible(mesh.local[node])) for node in others}
    whole, numbered = join(mesh, topology, sites=sites, prefix_of=site_prefix, ends=ends)
    allows_private = path.options.get("private") is True
    for node, address in mesh.local.items():
        _check_address(node, address, allows_private)
    check_overlap(path, whole, [PREFIX], numbered=numbered)
    tunnels = mesh.tunnels(
        lambda node: {
            "kind": "6to4",
            "relay": str(mesh.local[others[0]]) if others and node != relay else None,
            "allow_private": allows_private,
        }
    )
    return finish(path, whole, between, tunnels, 6)


def site_prefix(address: IPv4Address) -> IPv6Network:
    """RFC 3056 section 2."""
    return IPv6Network(((0x2002 << 112) | (int(address) << 80), 48))


def _device_address(address: IPv4Address) -> IPv6Interface:
    """The address of the pseudo-interface, on which all 6to4 sites are on-link."""
    return IPv6Interface((int(site_prefix(address).network_address) + 1, PREFIX.prefixlen))


def _check_members(path: Path, topology: Topology, sites: list[str], others: list[str]) -> None:
    for node in others:
        check_router(topology, node, "a relay", "relay")
    if len(sites) + len(others) < 2:
        raise MechanismError(
            "6to4 joins two sites, or a site and a relay: name two nodes, such as [r1, r2], or one and relay: r2"
        )


def _check_address(node: str, address: IPv4Address, allows_private: bool) -> None:
    """Raises `MechanismError` for an address that is not globally unique (RFC 3056 section 2, RFC 3964 section
    5.3.1)."""
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
    headers=HEADERS,
    node_count=(1, 8),
    node_order="the routers (or hosts) of the sites",
    executed_by=(KERNEL, EBPF, USER),
    options=(
        *TUNNEL_OPTIONS,
        Parameter(
            name="relay",
            kind="name",
            doc="the router that leads to native IPv6, for which sites have a default route",
            unless_given="none",
        ),
        PRIVATE,
    ),
    sample=("r1", "r2"),
)
