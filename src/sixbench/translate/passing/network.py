"""A network around one device, for packets of a capture: a node on each side of it, which has no addresses and answers
nothing, and the node of the device between them. Pure.

Any packet may come from either side, whatever its addresses. So the node decides by the interface at which a packet
comes in, and not by its destination, whether it goes into the device, and its neighbours are entered and never asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any, Literal

from ...mechanisms import embedding
from ...mechanisms.binding import Binding, PortSet, binding_table
from ...mechanisms.common import Carrier
from ...mechanisms.dslite import AFTR, Subscriber, policy
from ...mechanisms.mapdomain import napt_within
from ...mechanisms.nat44 import nat44
from ...mechanisms.nat64 import INSIDE
from ...model.capture_file import addresses_of
from ...model.device import Device, Translator, Tunnel
from ...model.headers import GRE, GRE_KEY, HEADERS, IPV6
from ...model.leg import Address
from ...model.network import Blueprint
from ...model.stage import Request, Stage
from ...model.topology import Family, Interface, Link, Node, Topology

Side = Literal["near", "far"]

SIDES: tuple[Side, Side] = ("near", "far")
NODE = "device"
MTU_BYTES = 65_521
"""MTU of the links and the device: a frame of it, with 14 bytes of Ethernet, is what a capture keeps whole (65535)."""
OWN4 = IPv4Address("192.0.0.8")
"""Source of errors of a node without an IPv4 address (RFC 7600)."""

_GATEWAYS: Mapping[Family, str] = {4: "169.254.0.1", 6: "fe80::1"}
"""Addresses of a side in routes. No packet has these addresses."""
_INTO, _BY_NODE, _BEYOND = 1000, 1001, 1002
"""Routing tables: of what comes to the device, of what the node itself sends, of what is for nobody."""
_NEVER_S = "86400"
_SHARED_BITS = 10
"""The length of the prefix of shared address space: 100.64.0.0/10 (RFC 6598 section 7)."""

_QUIET = {
    "net.ipv6.conf.all.addr_gen_mode": "1",
    "net.ipv6.conf.default.addr_gen_mode": "1",
}
"""Without an address there is neither neighbour discovery nor duplicate address detection."""
_SAYS_NOTHING = """table inet sixbench_passing {
  chain own {
    type filter hook output priority raw; policy accept;
    meta l4proto igmp drop
    icmpv6 type { 130-137, 143 } drop
  }
}
"""
"""Messages that a node sends about itself on its links, and so into a tunnel too: its groups (RFC 3810), and its
requests and answers to neighbours (RFC 4861)."""
_SILENT = {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"}
_OPEN = {
    "net.ipv4.conf.all.accept_local": "1",
    "net.ipv4.conf.all.accept_source_route": "1",
    "net.ipv4.conf.all.send_redirects": "0",
    "net.ipv4.conf.default.send_redirects": "0",
    "net.ipv4.icmp_ratelimit": "0",
    "net.ipv6.icmp.ratelimit": "0",
    "net.ipv6.auto_flowlabels": "0",
    "net.ipv4.ipfrag_time": _NEVER_S,
    "net.ipv6.ip6frag_time": _NEVER_S,
}
"""Settings for the node's own packets: no error is held back, and none tells of fragments that came with another
packet. Redirects would tell that a packet leaves by the link on which it came. What has a source route comes to the
device, which says what becomes of it (RFC 7915 section 4.1). Its own packets have no flow label that the kernel draws,
so that the same packets come out of the same ones."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """An lwB4 or customer edge: its IPv4 address and ports, the address at which its softwire ends, and the one by
    which it knows the other end."""

    address: str
    ports: PortSet
    softwire: str
    relay: str


@dataclass(frozen=True, kw_only=True)
class PassingNetwork:
    """The network, and which side of it a packet belongs to.

    Attributes:
        sides: the nodes on both sides, with the interface of the device's node towards each.
        outer: of a tunnel, the family of its outer packets; they come from the far side. None: a translator, which has
            IPv4 on its near side and IPv6 on its far side.
        local: of a tunnel, the addresses of this end.
        carries_outer: whether a tunnel carries the family of its outer packets.
        protocol: of a tunnel's outer packets, what follows their header.
    """

    blueprint: Blueprint
    sides: Mapping[Side, str]
    outer: Family | None = None
    local: frozenset[Address] = frozenset()
    carries_outer: bool = False
    protocol: int | None = None

    def side_of(self, packet: bytes) -> Side | None:
        """Origin of a packet; None: it is no IP packet, or has no whole IP header."""
        addresses = addresses_of(packet)
        if addresses is None:
            return None
        version = addresses[0].version
        if self.outer is None:
            return "near" if version == 4 else "far"
        is_outer = version == self.outer and (not self.carries_outer or addresses[1] in self.local)
        return "far" if is_outer else "near"


def destination_of(packet: bytes) -> Address | None:
    """The destination; None where the header is not whole."""
    addresses = addresses_of(packet)
    return None if addresses is None else addresses[1]


def interface_towards(side: Side) -> str:
    """The interface of the device's node towards a side."""
    return "eth0" if side == "near" else "eth1"


def mac_of(side: Side, *, of_device: bool) -> str:
    """The address of the end of a side's link, at the device's node or at the side's."""
    return f"02:00:00:00:{0 if side == 'near' else 1:02x}:{2 if of_device else 1:02x}"


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
        *_ways_out("near", 4, own4, links[4]),
        *_ways_out("far", 6, own6, links[6]),
        *_into(device, "near", 4),
        *_into(device, "far", 6),
        # The node's own errors about translated packets go back through the translator.
        f"rule add from 0.0.0.0/0 iif lo lookup {_BY_NODE}",
        f"rule add from ::/0 iif lo lookup {_BY_NODE}",
        *(f"route add {prefix} dev {device.device} table {_BY_NODE}" for prefix in dict.fromkeys(through)),
    ]
    if hosts_are == 4:
        lines.append(f"route add 0.0.0.0/0 dev {device.device} table {_BY_NODE}")
        # The node's own hosts may include all addresses.
        lines += [f"route replace {host} {_by('near', 4)} table {_BY_NODE}" for host in own_hosts]
    # The node's own address is local already.
    lines += [f"route add local {prefix} dev lo" for prefix in pool if IPv4Network(prefix) != IPv4Network(own4)]
    return PassingNetwork(
        blueprint=_blueprint([device], lines, ("ipv4", "ipv6"), ruleset), sides={"near": "ipv4", "far": "ipv6"}
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
    own = [] if domain is None else [domain["own"]]
    return (
        [*(row[1] for row in rows), *(rule["ipv6"] for rule in own)],
        [*(row[0] for row in rows), *(rule["ipv4"] for rule in own)],
    )


def napt_network(
    told: Mapping[str, Any], own: Mapping[str, Any], relay: str, ipv4: IPv4Address, ranges: Sequence[str]
) -> PassingNetwork:
    """The network of an lwB4 or a customer edge of MAP-E: a tunnel to the relay, and a NAPT44 within ranges of ports,
    as in experiments."""
    fixed = {**told, "mapping": {"kind": "fixed", "remote": relay}}
    return tunnel_network(fixed, own, napt_within(ipv4, ranges, f"{told['device']}-1"))


def tunnel_network(told: Mapping[str, Any], own: Mapping[str, Any], ruleset: str = "") -> PassingNetwork:
    """The network of one end of a tunnel.

    Args:
        told: the tunnel, as the first line for `sixbench-agent translate` has it.
        own: the addresses of its node.
        ruleset: of its node.
    """
    outer: Family = 4 if told["outer"] == "ipv4" else 6
    inner: Family = 4 if outer == 6 else 6
    own4, own6 = (ip_address(own[name]) if name in own else None for name in ("own4", "own6"))
    local = ip_address(told["local"])
    # A GRE header may have a key.
    overhead_bytes = HEADERS[told["outer"]].size_bytes + GRE_KEY.size_bytes
    overhead_bytes += GRE.size_bytes if told["payload"] == "gre" else 0
    device = Tunnel(
        node=NODE,
        device=f"{told['device']}-1",
        mtu_bytes=min(told["mtu_bytes"], MTU_BYTES - overhead_bytes),
        addresses=tuple(dict.fromkeys(address for address in (local, own4, own6) if address is not None)),
        outer=outer,
        payload=told["payload"],
        local=local,
        underlay=(interface_towards("far"),),
        mapping=dict(told["mapping"]),
        key=told.get("gre_key"),
        **_settings_of(told),
    )
    carries: Sequence[Family] = (4, 6) if device.payload == "gre" else (inner,)
    everything = {4: "0.0.0.0/0", 6: "::/0"}
    sources = {4: own4, 6: own6}
    lines = [line for family in (4, 6) for line in _neighbours("far", family)]
    for family in carries:
        lines += _ways_out("near", family, sources[family])
        lines += _into(device, "near", family)
    # Outer packets, from the program or from the slow path. If inner packets may have the same family, only those to
    # the other end.
    far = str(device.mapping["remote"]) if outer in carries else everything[outer]
    lines.append(f"route add {far} {_by('far', outer)} src {local} table {_BY_NODE}")
    lines += [
        f"rule add from {everything[outer]} iif {name} lookup {_BY_NODE}" for name in ("lo", f"{device.device}.far")
    ]
    for family in (4, 6):
        lines.append(f"rule add from {everything[family]} iif {interface_towards('far')} lookup {_BEYOND}")
        lines.append(f"route add blackhole {everything[family]} table {_BEYOND}")
    if inner not in carries or outer not in carries:
        lines.append(f"rule add from {everything[outer]} iif {interface_towards('near')} lookup {_BEYOND}")
    return PassingNetwork(
        blueprint=_blueprint([device], lines, ("inside", "outside"), ruleset),
        sides={"near": "inside", "far": "outside"},
        outer=outer,
        local=frozenset({local}),
        carries_outer=outer in carries,
        protocol={"ipv4": 4, "ipv6": 41, "gre": 47}[device.payload],
    )


def softwires_network(rows: Sequence[Row], own: Mapping[str, Any], told: Mapping[str, Any]) -> PassingNetwork:
    """The network of an lwAFTR or a border relay of MAP-E: a tunnel to each lwB4 or customer edge, and a ruleset that
    knows by addresses and ports which one a packet is for, as in experiments.

    Args:
        own: the addresses of its node.
        told: of the tunnels, what does not differ among them, as the first line for `sixbench-agent translate` has it.
    """
    own4, own6 = (ip_address(own[name]) if name in own else None for name in ("own4", "own6"))
    tunnels, bindings, lines = [], [], [line for family in (4, 6) for line in _neighbours("far", family)]
    subscribers: dict[tuple[str, str], Subscriber] = {}
    for row in rows:
        # A subscriber may have several rows, but has only one tunnel.
        if (subscriber := subscribers.get((row.softwire, row.relay))) is None:
            number = len(subscribers) + 1
            local = IPv6Address(row.relay)
            name = f"{told['device']}-{number}"
            addresses = (address for address in (local, own4, own6) if address is not None)
            tunnels.append(
                Tunnel(
                    node=NODE,
                    device=name,
                    mtu_bytes=min(told["mtu_bytes"], MTU_BYTES - IPV6.size_bytes),
                    addresses=tuple(dict.fromkeys(addresses)) if number == 1 else (local,),
                    outer=6,
                    payload="ipv4",
                    local=local,
                    underlay=(interface_towards("far"),),
                    mapping={"kind": "fixed", "remote": row.softwire},
                    **_settings_of(told),
                )
            )
            way = Carrier(first=NODE, second="outside", family=6, links=())
            subscriber = Subscriber(number=number, node=NODE, device=name, way=way)
            subscribers[row.softwire, row.relay] = subscriber
            lines += [f"address add {AFTR} dev {name}", *policy(subscriber)]
            lines.append(f"rule add from ::/0 iif {name}.far lookup {_BY_NODE}")
        bindings.append(Binding(subscriber=subscriber, address=IPv4Address(row.address), ports=row.ports))
    shared = "{ " + ", ".join(dict.fromkeys(row.address for row in rows)) + " }"
    lines += [
        *_ways_out("near", 4, own4, own.get("mtu4_bytes")),
        f"rule add from 0.0.0.0/0 iif {interface_towards('near')} lookup {_BEYOND} priority 30000",
        f"route add ::/0 {_by('far', 6)} table {_BY_NODE}" + (f" src {own6}" if own6 is not None else ""),
        f"rule add from ::/0 iif lo lookup {_BY_NODE}",
        f"rule add from ::/0 iif {interface_towards('far')} lookup {_BEYOND}",
        f"rule add from ::/0 iif {interface_towards('near')} lookup {_BEYOND}",
        f"route add blackhole 0.0.0.0/0 table {_BEYOND}",
        f"route add blackhole ::/0 table {_BEYOND}",
    ]
    return PassingNetwork(
        blueprint=_blueprint(
            tunnels, lines, ("inside", "outside"), binding_table("sixbench_softwires", shared, bindings)
        ),
        sides={"near": "inside", "far": "outside"},
        outer=6,
        local=frozenset(tunnel.local for tunnel in tunnels),
        protocol=4,
    )


def _settings_of(told: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "ttl": None if told["ttl"] == "inherit" else told["ttl"],
        "tos": None if told["tos"] == "inherit" else told["tos"],
        "ecn": told["ecn"],
        "pmtu": told["pmtu"],
    }


def _by(side: Side, family: Family) -> str:
    return f"via {_GATEWAYS[family]} dev {interface_towards(side)} onlink"


def _neighbours(side: Side, family: Family) -> list[str]:
    mac = mac_of(side, of_device=False)
    return [f"neigh replace {_GATEWAYS[family]} lladdr {mac} dev {interface_towards(side)} nud permanent"]


def _ways_out(side: Side, family: Family, own: Address | None, mtu_bytes: int | None = None) -> list[str]:
    """Routes that make packets of a family leave on a side, unless anything else says where they go."""
    default = "0.0.0.0/0" if family == 4 else "::/0"
    source = "" if own is None else f" src {own}"
    most = "" if mtu_bytes is None else f" mtu lock {mtu_bytes}"
    return [*_neighbours(side, family), f"route add {default} {_by(side, family)}{source}{most}"]


def _into(device: Device, side: Side, family: Family) -> list[str]:
    """Routes that make packets of a family that come from a side go into the device."""
    default = "0.0.0.0/0" if family == 4 else "::/0"
    return [
        f"rule add from {default} iif {interface_towards(side)} lookup {_INTO}",
        f"route add {default} dev {device.device} table {_INTO}",
    ]


def _blueprint(devices: Sequence[Device], lines: Sequence[str], names: tuple[str, str], ruleset: str = "") -> Blueprint:
    of_ipv6 = [line for line in lines if line.startswith("rule add from ::/0")]
    rules = tuple(_rule(line) for line in of_ipv6)
    nodes = {name: Node(name=name, kind="host", sysctl=_SILENT) for name in names}
    nodes[NODE] = Node(name=NODE, kind="router", sysctl=_QUIET | _OPEN)
    links = tuple(
        Link(
            name=f"{name}-{NODE}",
            ends=(Interface(node=name, name="eth0"), Interface(node=NODE, name=interface_towards(side))),
            mtu_bytes=MTU_BYTES,
            offload=False,
        )
        for name, side in zip(names, SIDES, strict=True)
    )
    return Blueprint(
        topology=Topology(nodes=nodes, links=links),
        devices=tuple(devices),
        stages=(
            {
                NODE: Stage(
                    requests=rules, ip=tuple(line for line in lines if line not in of_ipv6), nft=_SAYS_NOTHING + ruleset
                )
            },
        ),
    )


def _rule(line: str) -> Request:
    """A rule of IPv6: ip(8) takes the family as an option alone, and `ip -batch` has none in its lines."""

    def refusal(answer: Mapping[str, Any]) -> str | None:
        return None if answer["exit"] == 0 else " ".join(str(answer["stderr"]).split())

    return Request(op="exec", fields={"argv": ["ip", "-6", *line.split()]}, check=refusal)
