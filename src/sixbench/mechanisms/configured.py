"""Tunnels whose two ends are configured with one another's addresses: 6in4, 4in6, GRE, VXLAN."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Interface, IPv6Interface

from ..engines import EBPF, KERNEL, USER
from ..model.device import Payload
from ..model.network import Network
from ..model.parameter import Parameter
from ..model.path import Path
from ..model.topology import Family, Interface, Topology
from .common import (
    TUNNEL_OPTIONS,
    TUNNEL_PREFIX_V4,
    TUNNEL_PREFIX_V6,
    carrier,
    check_overlap,
    device_mtu,
    family_of,
    finish,
    make_tunnel,
    tunnel_link,
    with_links,
    without_family,
)
from .kind import Mechanism, MechanismError, Options


def _installer(
    payload: Payload, family: Callable[[Options], Family], outer: Callable[[Options], Family]
) -> Callable[[Path, Topology, tuple[str, str]], Network]:
    def install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
        inner, below = family(path.options), outer(path.options)
        if inner == below:
            raise MechanismError(
                f"{path.mechanism} would carry IPv{inner} in IPv{below}, and then its own outer packets too: "
                f"give it the other family inside or outside",
                "inner" if "inner" in path.options else "outer",
            )
        key = path.options.get("key")
        headers = headers_of(payload, below, has_key=key is not None)
        underlay = carrier(path, topology, path.nodes[0], path.nodes[1], below)
        mtu_bytes = device_mtu(path, [underlay], headers, inner)
        device = f"{path.mechanism}-1"
        first, second = (
            _end(node, device, inner, number) for number, node in ((1, underlay.first), (2, underlay.second))
        )
        link = tunnel_link(path, first, second, mtu_bytes, headers)
        carried = without_family(topology, {link.name for link in underlay.links}, inner)
        check_overlap(path, carried, [TUNNEL_PREFIX_V6 if inner == 6 else TUNNEL_PREFIX_V4])
        tunnels = [
            make_tunnel(
                path,
                node=node,
                device=device,
                mtu_bytes=mtu_bytes,
                payload=payload,
                ways=[underlay],
                mapping={"kind": "fixed", "remote": str(underlay.local(peer))},
                key=None if key is None else int(key),
            )
            for node, peer in ((underlay.first, underlay.second), (underlay.second, underlay.first))
        ]
        return finish(path, with_links(carried, [link]), between, tunnels, inner)

    return install


def _end(node: str, device: str, inner: Family, number: int) -> Interface:
    """An interface with the address of that number in the tunnels' prefix of the inner family."""
    ipv4 = IPv4Interface((int(TUNNEL_PREFIX_V4.network_address) + number, TUNNEL_PREFIX_V4.prefixlen))
    ipv6 = IPv6Interface((int(TUNNEL_PREFIX_V6.network_address) + number, TUNNEL_PREFIX_V6.prefixlen))
    return Interface(node=node, name=device, ipv4=ipv4 if inner == 4 else None, ipv6=ipv6 if inner == 6 else None)


def headers_of(payload: Payload, outer: Family, *, has_key: bool) -> tuple[str, ...]:
    """The headers that such a tunnel puts before a packet, outermost first."""
    first = "ipv4" if outer == 4 else "ipv6"
    if payload == "gre":
        return (first, "gre", "gre-key") if has_key else (first, "gre")
    return (first, "udp", "vxlan", "ethernet") if payload == "ethernet" else (first,)


def _inner(options: Options) -> Family:
    return 4 if options.get("inner") == "ipv4" else 6


def _outer(options: Options) -> Family:
    return 6 if options.get("outer") == "ipv6" else 4


GRE_KEY = Parameter(
    name="key",
    kind="count",
    doc="32 bits; packets with another key are dropped (RFC 2890)",
    minimum=0,
    maximum=2**32 - 1,
    unless_given="no key",
)
VXLAN_KEY = Parameter(name="key", kind="count", doc="the network's identifier (VNI)", minimum=0, maximum=2**24 - 1)
_FAMILIES = (
    Parameter(
        name="inner", kind="choice", choices=("ipv6", "ipv4"), doc="family of the packets inside", default="ipv6"
    ),
    Parameter(name="outer", kind="choice", choices=("ipv4", "ipv6"), doc="family of the carrier", default="ipv4"),
)

SIX_IN_FOUR = Mechanism(
    name="6in4",
    doc="A configured tunnel of IPv6 in IPv4 (RFC 4213 section 3).",
    family=family_of,
    install=_installer("ipv6", family_of, lambda options: 4),
    headers=("ipv4",),
    node_count=(2, 2),
    node_order="its two ends",
    executed_by=(KERNEL, EBPF, USER),
    options=TUNNEL_OPTIONS,
    sample=("r1", "r2"),
)
FOUR_IN_SIX = replace(
    SIX_IN_FOUR,
    name="4in6",
    doc="A configured tunnel of IPv4 in IPv6 (RFC 2473).",
    family=lambda options: 4,
    install=_installer("ipv4", lambda options: 4, lambda options: 6),
    headers=("ipv6",),
)
GRE = replace(
    SIX_IN_FOUR,
    name="gre",
    doc="Generic Routing Encapsulation (RFC 2784, RFC 2890, RFC 7676).",
    family=_inner,
    install=_installer("gre", _inner, _outer),
    headers=("ipv4", "gre"),
    options=(*TUNNEL_OPTIONS, *_FAMILIES, GRE_KEY),
)
VXLAN = replace(
    SIX_IN_FOUR,
    name="vxlan",
    doc="Ethernet in UDP (RFC 7348), with IPv6 or IPv4 in the Ethernet.",
    family=_inner,
    install=_installer("ethernet", _inner, _outer),
    headers=("ipv4", "udp", "vxlan", "ethernet"),
    executed_by=(KERNEL,),
    options=(*TUNNEL_OPTIONS, *_FAMILIES, VXLAN_KEY),
)
