"""A network around one device, for packets of a capture: a node on each side of it, which has no addresses and answers
nothing, and the node of the device between them. Pure.

Any packet may come from either side, whatever its addresses. So the node decides by the interface at which a packet
comes in, and not by its destination, whether it goes into the device, and its neighbours are entered and never asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...model.capture_file import addresses_of
from ...model.device import Device
from ...model.leg import Address
from ...model.network import Blueprint
from ...model.stage import NodeRequest, Stage
from ...model.topology import Family, Interface, Link, Node, Topology

Side = Literal["near", "far"]

SIDES: tuple[Side, Side] = ("near", "far")
NODE = "device"
MTU_BYTES = 65_521
"""MTU of the links and the device: a frame of it, with 14 bytes of Ethernet, is what a capture keeps whole (65535)."""

_GATEWAYS: Mapping[Family, str] = {4: "169.254.0.1", 6: "fe80::1"}
"""Addresses of a side in routes. No packet has these addresses."""
_INTO_DEVICE, FROM_NODE, BEYOND = 1000, 1001, 1002
"""Routing tables: of what comes to the device, of what the node itself sends, of what is for nobody."""
_NEVER_S = "86400"

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


def gateway_by(side: Side, family: Family) -> str:
    """The part of a route that leads to a side."""
    return f"via {_GATEWAYS[family]} dev {interface_towards(side)} onlink"


def neighbours(side: Side, family: Family) -> list[str]:
    """Entries that let a route to a side ask nobody for its address."""
    mac = mac_of(side, of_device=False)
    return [f"neigh replace {_GATEWAYS[family]} lladdr {mac} dev {interface_towards(side)} nud permanent"]


def exit_routes(side: Side, family: Family, source: Address | None, mtu_bytes: int | None = None) -> list[str]:
    """Routes that make packets of a family leave on a side, unless anything else says where they go."""
    default = "0.0.0.0/0" if family == 4 else "::/0"
    from_source = "" if source is None else f" src {source}"
    most = "" if mtu_bytes is None else f" mtu lock {mtu_bytes}"
    return [*neighbours(side, family), f"route add {default} {gateway_by(side, family)}{from_source}{most}"]


def entry_routes(device: Device, side: Side, family: Family) -> list[str]:
    """Routes that make packets of a family that come from a side go into the device."""
    default = "0.0.0.0/0" if family == 4 else "::/0"
    return [
        f"rule add from {default} iif {interface_towards(side)} lookup {_INTO_DEVICE}",
        f"route add {default} dev {device.device} table {_INTO_DEVICE}",
    ]


def blueprint_of(
    devices: Sequence[Device], lines: Sequence[str], names: tuple[str, str], ruleset: str = ""
) -> Blueprint:
    """The network with devices on their node, and a node on each side.

    Args:
        lines: for ip(8), on the node of the devices.
        names: of the nodes on the near and the far side.
        ruleset: of the node of the devices.
    """
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


def _rule(line: str) -> NodeRequest:
    """A rule of IPv6: ip(8) takes the family as an option alone, and `ip -batch` has none in its lines."""

    def refusal(answer: Mapping[str, Any]) -> str | None:
        return None if answer["exit"] == 0 else " ".join(str(answer["stderr"]).split())

    return NodeRequest(op="exec", fields={"argv": ["ip", "-6", *line.split()]}, check=refusal)
