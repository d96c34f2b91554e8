"""DS-Lite (RFC 6333): subscribers' IPv4 over an IPv6 network (B4) to a carrier's address translation (AFTR)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Interface, IPv4Network

from ..engines import EBPF, KERNEL, USER
from ..model.device import Tunnel
from ..model.network import Network
from ..model.path import Path
from ..model.stage import SourceNat, Stage
from ..model.topology import Family, Interface, Topology
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

HEADERS = ("ipv6",)
B4 = IPv4Interface("192.0.0.2/29")
AFTR = IPv4Interface("192.0.0.1/29")
"""The well-known addresses of the two ends (RFC 6333 section 5.7)."""

SUBSCRIBER_POOL = IPv4Network("192.168.0.0/16")
"""The pool from whose first /24s every subscriber's own links have their addresses, the same for all subscribers."""
_FIRST_SUBNET = 1
_MAX_SUBNETS = 255

FIRST_TABLE = 100
"""Subscriber n, from 1, has routing table 100 + n, firewall mark n and connection tracking zone n."""


@dataclass(frozen=True, kw_only=True)
class Subscriber:
    """A subscriber: its number from 1 on, its B4, the device at both ends of its softwire, and the way between them."""

    number: int
    node: str
    device: str
    underlay: Carrier


@dataclass(frozen=True, kw_only=True)
class Softwires:
    """The softwires of all subscribers, installed."""

    subscribers: Sequence[Subscriber]
    topology: Topology
    tunnels: Sequence[Tunnel]


def softwires(path: Path, topology: Topology, between: tuple[str, str], routed: Family = 4) -> Softwires:
    """The tunnels from each subscriber to the AFTR, which is named last. Raises `MechanismError`.

    Args:
        routed: the family, of those routed into the devices, that needs the larger MTU.
    """
    *homes, aftr = path.nodes
    if topology.nodes[aftr].kind != "router":
        raise MechanismError(f'"{aftr}" is a host; the AFTR is a router and named last, after the B4s')
    subscribers = [
        Subscriber(
            number=number,
            node=node,
            device=f"{path.mechanism}-{number}",
            underlay=carrier(path, topology, node, aftr, 6),
        )
        for number, node in enumerate(homes, start=1)
    ]
    mtu_bytes = device_mtu(path, [item.underlay for item in subscribers], HEADERS, routed)
    carrier_links = {link.name for item in subscribers for link in item.underlay.links}
    changed = without_family(topology, carrier_links, 4)
    for subscriber in subscribers:
        changed = with_private_addresses(path, changed, subscriber, carrier_links)
    private = {link.name for link in changed.links if link.ipv4_domain is not None}
    check_overlap(path, changed, [B4.network, SUBSCRIBER_POOL], numbered=private)
    links = [
        tunnel_link(
            path,
            Interface(node=item.node, name=item.device, ipv4=B4, ipv6=None),
            Interface(node=aftr, name=item.device, ipv4=AFTR, ipv6=None),
            mtu_bytes,
            HEADERS,
            ipv4_domain=_domain(item),
        )
        for item in subscribers
    ]
    tunnels = [
        make_tunnel(
            path,
            node=node,
            device=item.device,
            mtu_bytes=mtu_bytes,
            payload="ipv4",
            ways=[item.underlay],
            mapping={"kind": "fixed", "remote": str(item.underlay.local(peer))},
        )
        for item in subscribers
        for node, peer in ((item.node, aftr), (aftr, item.node))
    ]
    whole = with_links(changed, links)
    _check_way_out(path, whole, aftr, between)
    return Softwires(subscribers=subscribers, topology=whole, tunnels=tunnels)


def _install(path: Path, topology: Topology, between: tuple[str, str]) -> Network:
    result, aftr = softwires(path, topology, between), path.nodes[-1]
    translation = Stage(
        ip=tuple(line for subscriber in result.subscribers for line in policy(subscriber)),
        nft=_ruleset(result.subscribers),
        tracks=frozenset({4}),
        nat44=SourceNat(),
    )
    return finish(path, result.topology, between, result.tunnels, 4, stages=({aftr: translation},), translating={aftr})


def _domain(subscriber: Subscriber) -> str:
    """The name of a subscriber's own network."""
    return f"subscriber {subscriber.number}"


def with_private_addresses(path: Path, topology: Topology, subscriber: Subscriber, carrier_links: set[str]) -> Topology:
    """The topology in which a subscriber's own links have the addresses that all subscribers have. Raises
    `MechanismError`."""
    site = site_links(topology, subscriber.node, carrier_links)
    check_site(path, site, subscriber.node, path.nodes)
    if len(site) > _MAX_SUBNETS:
        raise MechanismError(
            f'behind "{subscriber.node}" are {len(site)} links, and {SUBSCRIBER_POOL} has {_MAX_SUBNETS}'
        )
    taken = [link.name for link in site if link.ipv4_domain is not None]
    if taken:
        raise MechanismError(f'the link "{taken[0]}" is in the networks of two subscribers of {path.mechanism}')
    base = int(SUBSCRIBER_POOL.network_address)
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
            replace(link, ipv4_domain=_domain(subscriber)) if link.name in addresses else link for link in changed.links
        ),
    )


def _check_way_out(path: Path, topology: Topology, aftr: str, between: tuple[str, str]) -> None:
    """Raises `MechanismError` where the route does not lead out of one subscriber's network, and that for good:
    addresses are translated for connections from there alone."""
    client, server = between
    route = topology.route(client, server, 4) or []
    domains = [link.ipv4_domain for link in route]
    entered = [link for link in route if link.is_tunnel]
    leaves_once = None in domains and all(domain is None for domain in domains[domains.index(None) :])
    if len(entered) != 1 or not leaves_once:
        raise MechanismError(
            f'with {path.mechanism}, no route leads from "{client}" out of one subscriber\'s network through "{aftr}" '
            f'to "{server}" over IPv4: connections begin behind a B4, which is named before the AFTR'
        )


def policy(subscriber: Subscriber) -> list[str]:
    """The rules that send a subscriber's answers into its own tunnel, whatever its address."""
    table = FIRST_TABLE + subscriber.number
    return [
        f"route add default via {B4.ip} dev {subscriber.device} table {table}",
        f"rule add fwmark {subscriber.number} lookup {table} priority {table}",
    ]


def _ruleset(subscribers: Sequence[Subscriber]) -> str:
    """NAT44 keyed by softwire (RFC 6333 section 6.6): connections of a subscriber are tracked in a zone of its own, so
    that two with the same private address do not meet; answers are told apart by their public port. What Linux calls
    invalid and does not translate goes no further; otherwise it would go out with its private address. Into softwires
    goes what answers connections, and nothing else: nobody outside reaches a B4 by its well-known address."""
    zones = "\n".join(
        f'    iifname "{subscriber.device}" ct original zone set {subscriber.number}' for subscriber in subscribers
    )
    invalid = "\n".join(
        f'    iifname "{subscriber.device}" ct state invalid counter drop' for subscriber in subscribers
    )
    marks = "\n".join(
        f'    iifname "{subscriber.device}" ct mark set {subscriber.number}' for subscriber in subscribers
    )
    devices = ", ".join(f'"{subscriber.device}"' for subscriber in subscribers)
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
  chain untranslated {{
    type filter hook forward priority filter; policy accept;
    oifname {{ {devices} }} ct state != {{ established, related }} counter drop
{invalid}
  }}
}}
"""


DS_LITE = Mechanism(
    name="ds-lite",
    doc="Dual-Stack Lite (RFC 6333): IPv4 in IPv6 from B4s to an AFTR, which translates addresses (NAT44).",
    family=lambda options: 4,
    install=_install,
    headers=HEADERS,
    node_count=(2, 33),
    node_order="the B4s, then the AFTR",
    executed_by=(KERNEL, EBPF, USER),
    options=TUNNEL_OPTIONS,
    sample=("r1", "r2"),
)
