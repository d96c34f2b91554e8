"""Networks around a translator, with a node on each side that has packets of one family. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

from ...mechanisms import embedding
from ...mechanisms.nat44 import nat44
from ...mechanisms.nat64 import INSIDE
from ...model.device import Translator
from ...model.topology import Family
from .network import FROM_NODE, MTU_BYTES, NODE, PassingNetwork, blueprint_of, entry_routes, exit_routes, gateway_by

OWN4 = IPv4Address("192.0.0.8")
"""Source of errors of a node without an IPv4 address (RFC 7600)."""
_SHARED_BITS = 10
"""The length of the prefix of shared address space: 100.64.0.0/10 (RFC 6598 section 7)."""


def translator_network(
    name: str,
    settings: Mapping[str, Any],
    *,
    hosts_are: Family,
    own4: IPv4Address = OWN4,
    knows_mtus: bool = True,
    through_node: bool = False,
    pool: Sequence[str] = (),
    ruleset: str = "",
) -> PassingNetwork:
    """The network of a translator.

    Args:
        own4: the node's address, unless the settings have another.
        knows_mtus: whether the translator itself sees to it that packets fit the links; if not, its device and the
            node do.
        settings: as the first line for `sixbench-agent translate` has them.
        hosts_are: the family of the hosts that its table is about. What the node itself sends to them does not go
            through the translator: IPv6 hosts of servers or of a MAP domain, or the IPv4 hosts of a customer edge.
        through_node: whether the node translates IPv4 addresses besides, by the ruleset.
        pool: the IPv4 prefixes that it then has.
    """
    own4 = IPv4Address(settings.get("own4", str(own4)))
    prefixes = [IPv6Network(prefix) for prefix in settings.get("prefixes", [])]
    embedded = embedding.embed(prefixes[0], own4) if prefixes else None
    own6 = IPv6Address(settings["own6"]) if "own6" in settings else embedded
    mtus: Mapping[Family, int] = {4: settings.get("mtu4", 1500), 6: settings.get("mtu6", 1500)}
    # The node's own errors to IPv4 hosts must fit their link, too.
    links = {4: mtus[4], 6: None} if knows_mtus else mtus
    device = Translator(
        node=NODE,
        device=f"{name}-1",
        mtu_bytes=MTU_BYTES if knows_mtus else max(mtus.values()),
        addresses=tuple(address for address in (own4, own6) if address is not None),
        mapping={"kind": "siit", "prefixes": [], "explicit": [], "mtu4": mtus[4], "mtu6": mtus[6]}
        | {"zero_checksum": "drop", "lowest_ipv6_mtu": 1280}
        | dict(settings),
        through_node=through_node,
    )
    through, own_hosts = _translated(settings, hosts_are)
    lines = [
        *exit_routes("near", 4, own4, links[4]),
        *exit_routes("far", 6, own6, links[6]),
        *entry_routes(device, "near", 4),
        *entry_routes(device, "far", 6),
        # The node's own errors about translated packets go back through the translator.
        f"rule add from 0.0.0.0/0 iif lo lookup {FROM_NODE}",
        f"rule add from ::/0 iif lo lookup {FROM_NODE}",
        *(f"route add {prefix} dev {device.device} table {FROM_NODE}" for prefix in dict.fromkeys(through)),
    ]
    if hosts_are == 4:
        lines.append(f"route add 0.0.0.0/0 dev {device.device} table {FROM_NODE}")
        # The node's own hosts may include all addresses.
        lines += [f"route replace {host} {gateway_by('near', 4)} table {FROM_NODE}" for host in own_hosts]
    # The node's own address is local already.
    lines += [f"route add local {prefix} dev lo" for prefix in pool if IPv4Network(prefix) != IPv4Network(own4)]
    return PassingNetwork(
        blueprint=blueprint_of([device], lines, ("ipv4", "ipv6"), ruleset), sides={"near": "ipv4", "far": "ipv6"}
    )


def nat64_network(
    name: str, settings: Mapping[str, Any], hosts: Sequence[IPv6Address], pool: IPv4Network, ports: str
) -> PassingNetwork:
    """The network of a NAT64: a translator that gives each IPv6 host an address that nobody outside sees, and the
    node's NAT44 with a pool, as in experiments.

    Args:
        ports: of each address of the pool, such as `1024-65535`.
    """
    inside = _apart_from(pool)
    rows = [[f"{inside[number]}/32", f"{host}/128"] for number, host in enumerate(hosts, start=1)]
    target = f"snat to {pool[0]}-{pool[-1]}:{ports}" if pool.num_addresses > 1 else f"snat to {pool[0]}:{ports}"
    return translator_network(
        name,
        {"zero_checksum": "compute", **settings, "explicit": rows},
        hosts_are=6,
        through_node=True,
        pool=[str(pool)],
        ruleset=nat44(
            f"{name}-1", [inside], f"meta l4proto {{ tcp, udp, icmp }} {target}", f"snat to {pool[0]}", pool=pool
        ),
    )


def _apart_from(pool: IPv4Network) -> IPv4Network:
    """The addresses between translator and NAT44, which are those of experiments unless the pool has some of these."""
    shared = INSIDE.supernet(new_prefix=_SHARED_BITS).subnets(new_prefix=INSIDE.prefixlen)
    return next((network for network in shared if not network.overlaps(pool)), INSIDE)


def _translated(settings: Mapping[str, Any], hosts_are: Family) -> tuple[list[str], list[str]]:
    """The prefixes of what is behind the translator as its node sees it, and those of the IPv4 hosts in front of it."""
    rows, domain = settings.get("explicit", []), settings.get("domain")
    if hosts_are == 6:
        rules = [] if domain is None else [rule["ipv4"] for rule in domain["rules"]]
        return [*settings.get("prefixes", []), *(row[0] for row in rows), *rules], []
    edges = [] if domain is None else [domain["own"]]
    return (
        [*(row[1] for row in rows), *(rule["ipv6"] for rule in edges)],
        [*(row[0] for row in rows), *(rule["ipv4"] for rule in edges)],
    )
