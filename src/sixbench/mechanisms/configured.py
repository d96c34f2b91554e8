"""Tunnels whose two ends are configured with one another's addresses: 6in4, 4in6, GRE, VXLAN."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..model.network import Network, Payload
from ..model.path import Path
from ..model.topology import Family, Interface, Link, Topology
from ..model.workload import Parameter
from .common import (
    TUNNEL_OPTIONS,
    Carrier,
    carrier,
    check_overlap,
    device_mtu,
    family_of,
    finish,
    make_tunnel,
    tunnel_pair_v4,
    tunnel_pair_v6,
    with_links,
    without_family,
)
from .kind import Mechanism, MechanismError, Options

DEVICE_NUMBER = 1


def link_between(
    path: Path, way: Carrier, headers: tuple[str, ...], mtu_bytes: int, inner: Family, device: str
) -> Link:
    """The tunnel as a link between the two ends of a carrier, with addresses of the inner family."""
    ends = (
        Interface(node=way.first, name=device, ipv4=None, ipv6=None),
        Interface(node=way.second, name=device, ipv4=None, ipv6=None),
    )
    if inner == 6:
        ends = (replace(ends[0], ipv6=tunnel_pair_v6(0)[0]), replace(ends[1], ipv6=tunnel_pair_v6(0)[1]))
    else:
        ends = (replace(ends[0], ipv4=tunnel_pair_v4(0)[0]), replace(ends[1], ipv4=tunnel_pair_v4(0)[1]))
    return Link(
        name=f"{path.mechanism}:{way.first}-{way.second}", ends=ends, mtu_bytes=mtu_bytes, offload=True, headers=headers
    )


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
        way = carrier(path, topology, path.nodes[0], path.nodes[1], below)
        mtu_bytes = device_mtu(path, [way], headers, inner)
        device = f"{path.mechanism}-{DEVICE_NUMBER}"
        link = link_between(path, way, headers, mtu_bytes, inner, device)
        carried = without_family(topology, {link.name for link in way.links}, inner)
        check_overlap(path, carried, [tunnel_pair_v6(0)[0].network if inner == 6 else tunnel_pair_v4(0)[0].network])
        tunnels = [
            make_tunnel(
                path,
                node=node,
                device=device,
                mtu_bytes=mtu_bytes,
                payload=payload,
                ways=[way],
                mapping={"kind": "fixed", "remote": str(way.local(peer))},
                key=None if key is None else int(key),
            )
            for node, peer in ((way.first, way.second), (way.second, way.first))
        ]
        return finish(path, with_links(carried, [link]), between, tunnels, inner)

    return install


def headers_of(payload: Payload, outer: Family, *, has_key: bool) -> tuple[str, ...]:
    """What such a tunnel puts before a packet, outermost first."""
    first = "ipv4" if outer == 4 else "ipv6"
    if payload == "gre":
        return (first, "gre", "gre-key") if has_key else (first, "gre")
    return (first, "udp", "vxlan", "ethernet") if payload == "ethernet" else (first,)


def _inner(options: Options) -> Family:
    return 4 if options.get("inner") == "ipv4" else 6


def _outer(options: Options) -> Family:
    return 6 if options.get("outer") == "ipv6" else 4


def _key(doc: str, most: int) -> Parameter:
    return Parameter(name="key", column="key", kind="count", doc=doc, minimum=0, maximum=most)


_FAMILIES = (
    Parameter(
        name="inner",
        column="inner",
        kind="choice",
        choices=("ipv6", "ipv4"),
        doc="family of the packets inside",
        default="ipv6",
    ),
    Parameter(
        name="outer",
        column="outer",
        kind="choice",
        choices=("ipv4", "ipv6"),
        doc="family of the carrier",
        default="ipv4",
    ),
)
_ENDS = "its two ends"

SIX_IN_FOUR = Mechanism(
    name="6in4",
    doc="A configured tunnel of IPv6 in IPv4 (RFC 4213 section 3).",
    family=family_of,
    install=_installer("ipv6", family_of, lambda options: 4),
    headers=("ipv4",),
    carriers=frozenset({4, 6}),
    node_count=(2, 2),
    node_order=_ENDS,
    engines=("kernel", "ebpf", "user"),
    options=TUNNEL_OPTIONS,
    sample=("r1", "r2"),
)
FOUR_IN_SIX = Mechanism(
    name="4in6",
    doc="A configured tunnel of IPv4 in IPv6 (RFC 2473).",
    family=lambda options: 4,
    install=_installer("ipv4", lambda options: 4, lambda options: 6),
    headers=("ipv6",),
    carriers=frozenset({4, 6}),
    node_count=(2, 2),
    node_order=_ENDS,
    engines=("kernel", "ebpf", "user"),
    options=TUNNEL_OPTIONS,
    sample=("r1", "r2"),
)
GRE = Mechanism(
    name="gre",
    doc="Generic Routing Encapsulation (RFC 2784, RFC 2890, RFC 7676).",
    family=_inner,
    install=_installer("gre", _inner, _outer),
    headers=("ipv4", "gre"),
    carriers=frozenset({4, 6}),
    node_count=(2, 2),
    node_order=_ENDS,
    engines=("kernel", "ebpf", "user"),
    options=(*TUNNEL_OPTIONS, *_FAMILIES, _key("32 bits; other keys are dropped (RFC 2890)", 2**32 - 1)),
    sample=("r1", "r2"),
)
VXLAN = Mechanism(
    name="vxlan",
    doc="Ethernet in UDP (RFC 7348), with IPv6 or IPv4 in the Ethernet.",
    family=_inner,
    install=_installer("ethernet", _inner, _outer),
    headers=("ipv4", "udp", "vxlan", "ethernet"),
    carriers=frozenset({4, 6}),
    node_count=(2, 2),
    node_order=_ENDS,
    engines=("kernel",),
    options=(*TUNNEL_OPTIONS, *_FAMILIES, _key("the network's identifier (VNI)", 2**24 - 1)),
    sample=("r1", "r2"),
)
