"""DS-Lite (RFC 6333): subscribers' IPv4 over an IPv6 network (B4) to a carrier's address translation (AFTR)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import IPv4Interface, IPv4Network

from ..engines import EBPF, KERNEL, USER
from ..model.network import Network
from ..model.path import Path
from ..model.stage import Stage
from ..model.topology import Interface, Topology
from .common import (
    TUNNEL_OPTIONS,
    Carrier,
    carrier,
    check_overlap,
    check_site,
    device_mtu,
    finish,
    make_tunnel,
    site_links,
    tunnel_link,
    with_addresses,
    with_links,
    without_family,
)
from .kind import Mechanism, MechanismError

_HEADERS = ("ipv6",)
_B4 = IPv4Interface("192.0.0.2/29")
_AFTR = IPv4Interface("192.0.0.1/29")
"""The well-known addresses of the two ends (RFC 6333 section 5.7)."""

_SUBSCRIBER_POOL = IPv4Network("192.168.0.0/16")
"""The pool from whose first /24s every subscriber's own links have their addresses, the same for all subscribers."""
_FIRST_SUBNET = 1
_MAX_SUBNETS = 255

FIRST_TABLE = 100
"""Subscriber n, from 1, has routing table 100 + n, firewall mark n and connection tracking zone n."""


@dataclass(frozen=True, kw_only=True)
class _Subscriber:
    number: int
    node: str
    device: str
    way: Carrier


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    *homes, aftr = path.nodes
    if topology.nodes[aftr].kind != "router":
        raise MechanismError(f'"{aftr}" is a host; the AFTR is a router and named last, after the B4s')
    subscribers = [
        _Subscriber(
            number=number,
            node=node,
            device=f"{path.mechanism}-{number}",
            way=carrier(path, topology, node, aftr, 6),
        )
        for number, node in enumerate(homes, start=1)
    ]
    mtu_bytes = device_mtu(path, [one.way for one in subscribers], _HEADERS, 4)
    carrier_links = {link.name for one in subscribers for link in one.way.links}
    changed = without_family(topology, carrier_links, 4)
    for one in subscribers:
        changed = _give_private_addresses(path, changed, one, carrier_links)
    private = {link.name for link in changed.links if link.ipv4_domain is not None}
    check_overlap(path, changed, [_B4.network, _SUBSCRIBER_POOL], numbered=private)
    links = [
        tunnel_link(
            path,
            Interface(node=one.node, name=one.device, ipv4=_B4, ipv6=None),
            Interface(node=aftr, name=one.device, ipv4=_AFTR, ipv6=None),
            mtu_bytes,
            _HEADERS,
            ipv4_domain=_domain(one),
        )
        for one in subscribers
    ]
    tunnels = [
        make_tunnel(
            path,
            node=node,
            device=one.device,
            mtu_bytes=mtu_bytes,
            payload="ipv4",
            ways=[one.way],
            mapping={"kind": "fixed", "remote": str(one.way.local(peer))},
        )
        for one in subscribers
        for node, peer in ((one.node, aftr), (aftr, one.node))
    ]
    whole = with_links(changed, links)
    translation = Stage(
        ip=tuple(line for one in subscribers for line in _policy(one)), nft=_ruleset(subscribers), tracks=frozenset({4})
    )
    _check_way_out(whole, aftr, between)
    return finish(path, whole, between, tunnels, 4, stages=({aftr: translation},), translating={aftr})


def _domain(one: _Subscriber) -> str:
    return f"subscriber {one.number}"


def _give_private_addresses(path: Path, topology: Topology, one: _Subscriber, carrier_links: set[str]) -> Topology:
    site = site_links(topology, one.node, carrier_links)
    check_site(path, site, one.node, path.nodes)
    if len(site) > _MAX_SUBNETS:
        raise MechanismError(f'behind "{one.node}" are {len(site)} links, and {_SUBSCRIBER_POOL} has {_MAX_SUBNETS}')
    taken = [link.name for link in site if link.ipv4_domain is not None]
    if taken:
        raise MechanismError(f'the link "{taken[0]}" is in the networks of two subscribers of ds-lite')
    base = int(_SUBSCRIBER_POOL.network_address)
    addresses = {
        link.name: (
            IPv4Interface((base + (number << 8) + 1, 24)),
            IPv4Interface((base + (number << 8) + 2, 24)),
        )
        for number, link in enumerate(site, start=_FIRST_SUBNET)
    }
    changed = with_addresses(topology, addresses, 4)
    return replace(
        changed,
        links=tuple(
            replace(link, ipv4_domain=_domain(one)) if link.name in addresses else link for link in changed.links
        ),
    )


def _check_way_out(topology: Topology, aftr: str, between: tuple[str, str]) -> None:
    """Raises `MechanismError` where the route does not lead out of one subscriber's network, and that for good:
    addresses are translated for connections from there alone."""
    client, server = between
    way = topology.route(client, server, 4) or []
    domains = [link.ipv4_domain for link in way]
    entered = [link for link in way if link.is_tunnel]
    leaves_once = None in domains and all(domain is None for domain in domains[domains.index(None) :])
    if len(entered) != 1 or not leaves_once:
        raise MechanismError(
            f'with ds-lite, no route leads from "{client}" out of one subscriber\'s network through "{aftr}" '
            f'to "{server}" over IPv4: connections begin behind a B4, which is named before the AFTR'
        )


def _policy(one: _Subscriber) -> list[str]:
    """The rules that send a subscriber's answers into its own tunnel, whatever its address."""
    table = FIRST_TABLE + one.number
    return [
        f"route add default via {_B4.ip} dev {one.device} table {table}",
        f"rule add fwmark {one.number} lookup {table} priority {table}",
    ]


def _ruleset(subscribers: list[_Subscriber]) -> str:
    """NAT44 keyed by softwire (RFC 6333 section 6.6): connections of a subscriber are tracked in a zone of its own, so
    that two with the same private address do not meet; answers are told apart by their public port."""
    zones = "\n".join(f'    iifname "{one.device}" ct original zone set {one.number}' for one in subscribers)
    marks = "\n".join(f'    iifname "{one.device}" ct mark set {one.number}' for one in subscribers)
    return f"""table ip sixbench_aftr {{
  chain zones {{
    type filter hook prerouting priority raw; policy accept;
{zones}
  }}
  chain marks {{
    type filter hook prerouting priority mangle; policy accept;
{marks}
    ct direction reply meta mark set ct mark
  }}
  chain translation {{
    type nat hook postrouting priority srcnat; policy accept;
    ct mark != 0 ct direction original masquerade
  }}
}}
"""


DS_LITE = Mechanism(
    name="ds-lite",
    doc="Dual-Stack Lite (RFC 6333): IPv4 in IPv6 from B4s to an AFTR, which translates addresses (NAT44).",
    family=lambda options: 4,
    install=_install,
    headers=_HEADERS,
    carriers=frozenset({4, 6}),
    node_count=(2, 33),
    node_order="the B4s, then the AFTR",
    executed_by=(KERNEL, EBPF, USER),
    options=TUNNEL_OPTIONS,
    sample=("r1", "r2"),
)
