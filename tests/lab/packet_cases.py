"""Mechanisms of `sixbench translate` with their options, and packets for each of them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address, ip_address

from ip_packets import ICMP, ICMPV6, TCP
from lab.packets import (
    HOP_BY_HOP,
    MORE,
    NOTHING,
    Ends,
    echo,
    fragment6,
    in4,
    in6,
    of_ipv4,
    of_ipv6,
    sealed,
    udp,
)


@dataclass(frozen=True, kw_only=True)
class PacketCase:
    """A mechanism with its options, and the packets for it.

    Attributes:
        node: patterns of the names of packets that the device's node does not let pass, or changes, before the device
            has them. The core has no node.
    """

    words: Sequence[str]
    packets: Callable[[], dict[str, bytes]]
    node: Sequence[str] = ()


def both(ends4: Ends, ends6: Ends) -> dict[str, bytes]:
    return {f"IPv4 {name}": value for name, value in of_ipv4(ends4).items()} | {
        f"IPv6 {name}": value for name, value in of_ipv6(ends6).items()
    }


def embedded(prefix: str, address: str) -> str:
    return str(IPv6Address(int(IPv6Address(prefix)) + int(IPv4Address(address))))


SYN, RST, ACK = 2, 4, 16
OUTSIDE, PREFIX = "198.51.100.1", "2001:db8:64::"
ANSWER = Ends(source=OUTSIDE, destination="192.0.2.1", ports=(53, 40000))
HAIRPIN = Ends(source="2001:db8:1::1", destination=embedded(PREFIX, "192.0.2.2"))
"""From one server behind a border relay to another, by the address that the latter has for IPv4."""
SIIT = (
    Ends(source=OUTSIDE, destination="192.0.2.1"),
    Ends(source="2001:db8:1::1", destination=embedded(PREFIX, OUTSIDE)),
)
MAP_RULE = (*("--rule-prefix", "2001:db8:ce00::/40"), *("--rule-ipv4", "192.0.2.0/24"), *("--ea-bits", "16"))
MAP_T = ("map-t", *MAP_RULE, "--dmr-prefix", f"{PREFIX}/96", "--psid-offset", "6")
CE_IPV4, CE_PORT = "192.0.2.18", 0x34 << 2 | 1 << 10
CE_IPV6 = "2001:db8:ce12:3400:0:c000:212:34"
"""The customer edge with the EA bits 0x1234: the address and the ports that RFC 7597 section 5 gives it."""
TUNNEL4 = Ends(source="203.0.113.2", destination="203.0.113.1")
TUNNEL6 = Ends(source="2001:db8:f::2", destination="2001:db8:f::1")


def outer(ends: Ends, inner: dict[str, bytes], protocol: int) -> dict[str, bytes]:
    """Packets that come through a tunnel, and some that no tunnel would bring."""
    is_ipv4 = "." in ends.source
    gre = {4: b"\0\0\x08\0", 6: b"\0\0\x86\xdd"}

    def wrapped(ends: Ends, packet: bytes, **more: int) -> bytes:
        payload = gre[packet[0] >> 4] + packet if protocol == 47 else packet
        return in4(ends, payload, protocol, **more) if is_ipv4 else in6(ends, payload, protocol)

    first = next(iter(inner.values()))
    stranger = Ends(source="203.0.113.9" if is_ipv4 else "2001:db8:f::9", destination=ends.destination)
    wrapped_packets = {f"outer {name}": wrapped(ends, packet) for name, packet in inner.items()}
    wrapped_packets["outer, from a stranger"] = wrapped(stranger, first)
    wrapped_packets["outer, no inner packet"] = in4(ends, b"", protocol) if is_ipv4 else in6(ends, b"", protocol)
    # The other end may have a larger MTU: what is reassembled goes on by that of the next link (RFC 4213 section 3.2).
    long = next(packet for name, packet in inner.items() if name.endswith("udp"))
    end_of_long = (in4 if long[0] >> 4 == 4 else in6)(ends_of(long), udp(ends_of(long), 3000))
    for name, packet, cut in (("fragment", first, 24), ("long fragment", end_of_long, 1400)):
        whole = wrapped(ends, packet)[20 if is_ipv4 else 40 :]
        if is_ipv4:
            wrapped_packets[f"outer, first {name}"] = in4(ends, whole[:cut], protocol, MORE)
            wrapped_packets[f"outer, last {name}"] = in4(ends, whole[cut:], protocol, cut // 8)
        else:
            wrapped_packets[f"outer, first {name}"] = fragment6(ends, whole[:cut], 0, 1, protocol)
            wrapped_packets[f"outer, last {name}"] = fragment6(ends, whole[cut:], cut, 0, protocol)
    return wrapped_packets


def ends_of(packet: bytes) -> Ends:
    """Those of a UDP datagram without options."""
    start, length = (12, 4) if packet[0] >> 4 == 4 else (8, 16)
    source, destination = (ip_address(packet[at : at + length]) for at in (start, start + length))
    ports = struct.unpack("!HH", packet[start + 2 * length :][:4])
    return Ends(source=str(source), destination=str(destination), ports=ports)


def through_tunnel(ends: Ends, protocol: int, inner: dict[str, bytes]) -> dict[str, bytes]:
    return inner | outer(ends, {name: value for name, value in inner.items() if "used up" not in name}, protocol)


MAP_E_CE = "2001:db8:e:a00:0:c000:212:a"


def from_edge(port: int) -> Ends:
    return Ends(source=CE_IPV4, destination=OUTSIDE, ports=(port, 53))


IN4 = Ends(source="192.0.2.1", destination="198.51.100.1")
IN6 = Ends(source="2001:db8:1::1", destination="2001:db8:2::1")
ERROR_SOURCES = ("--own4", "192.0.2.254", "--own6", "2001:db8:1::fe")
FROM_LOCAL4 = ("--local", TUNNEL4.destination, "--remote", TUNNEL4.source)
FROM_LOCAL6 = ("--local", TUNNEL6.destination, "--remote", TUNNEL6.source)


def to_itself(own4: str, own6: str) -> dict[str, bytes]:
    """To the own addresses of a translator, which takes them as a node does on which nothing listens."""
    ends4, ends6 = Ends(source=OUTSIDE, destination=own4), Ends(source="2001:db8:1::1", destination=own6)
    more = {
        "IPv4 acknowledgement": in4(ends4, segment(ends4, ACK), TCP),
        "IPv4 reset": in4(ends4, segment(ends4, RST), TCP),
        "IPv4 SYN with data": in4(ends4, segment(ends4, SYN, b"data"), TCP),
        "IPv4 last fragment of an echo": in4(ends4, echo(ends4)[16:], ICMP, 2),
        "IPv6 acknowledgement": in6(ends6, segment(ends6, ACK), TCP),
        "IPv6 reset": in6(ends6, segment(ends6, RST), TCP),
        "IPv6 echo behind options": in6(ends6, bytes([ICMPV6, 0, 1, 4, 0, 0, 0, 0]) + echo(ends6), HOP_BY_HOP),
        "IPv6 other protocol behind options": in6(ends6, bytes([132, 0, 1, 4, 0, 0, 0, 0]) + bytes(40), HOP_BY_HOP),
        "IPv6 longer echo": in6(ends6, echo(ends6, 1200), ICMPV6),
        "IPv6 nothing": in6(ends6, b"", NOTHING),
    }
    return {f"to itself, {name}": packet for name, packet in (both(ends4, ends6) | more).items()}


NODES_OWN = ("to itself, IPv4 udp, DF", "to itself, IPv4 source route*")
"""Linux gives errors the TOS of the packet that they are about, and follows source routes through itself."""
TRACKED = ("*used up", "*bad *", "*fragment*", "*another protocol")
"""Packets that a node which tracks connections treats itself: it puts fragments together, and knows ports of TCP and
UDP alone."""

MECHANISMS = {
    "siit": PacketCase(
        words=("siit", "--prefix", f"{PREFIX}/96", "--eam", "192.0.2.1/32=2001:db8:1::1/128", "--mtu4", "1400"),
        packets=lambda: both(*SIIT),
    ),
    "siit, computing checksums": PacketCase(
        words=(
            *("siit", "--prefix", f"{PREFIX}/96", "--eam", "192.0.2.1/32=2001:db8:1::1/128"),
            *("--zero-checksum", "compute", "--mtu6", "1280", "--tell", "no-mapping", "--deny", "198.51.100.0/28"),
        ),
        node=("*used up",),
        packets=lambda: (
            both(SIIT[0].back.back, Ends(source="2001:db8:1::2", destination=SIIT[1].destination))
            | of_ipv4(Ends(source="203.0.113.77", destination="192.0.2.1"))
        ),
    ),
    "siit, private addresses in the well-known prefix": PacketCase(
        words=(
            *("siit", "--prefix", "64:ff9b::/96", "--allow-private"),
            *("--eam", "192.0.2.1/32=2001:db8:1::1/128", "--own4", "192.0.2.254", "--own6", "2001:db8:1::fe"),
        ),
        node=NODES_OWN,
        packets=lambda: (
            both(
                Ends(source="10.0.0.1", destination="192.0.2.1"),
                Ends(source="2001:db8:1::1", destination=embedded("64:ff9b::", "10.0.0.1")),
            )
            | to_itself("192.0.2.254", "2001:db8:1::fe")
        ),
    ),
    "map-t, border relay": PacketCase(
        words=MAP_T,
        node=NODES_OWN,
        packets=lambda: (
            both(
                Ends(source=OUTSIDE, destination=CE_IPV4, ports=(53, CE_PORT)),
                Ends(source=CE_IPV6, destination=embedded(PREFIX, OUTSIDE), ports=(CE_PORT, 53)),
            )
            | to_itself("192.0.0.8", embedded(PREFIX, "192.0.0.8"))
        ),
    ),
    "map-t, border relay of two rules, hairpin": PacketCase(
        # The second rule's End-user IPv6 prefixes have 80 bits.
        words=(*MAP_T, "--rule", "2001:db8:cf:1::/64,203.0.113.0/24,16", "--hairpin"),
        packets=lambda: (
            of_ipv4(Ends(source=OUTSIDE, destination="203.0.113.18", ports=(53, CE_PORT)))
            | {
                f"{name} to {to}": packet
                for to in ("203.0.113.18", CE_IPV4, "203.0.114.18")
                for name, packet in of_ipv6(
                    Ends(source=CE_IPV6, destination=embedded(PREFIX, to), ports=(CE_PORT, CE_PORT))
                ).items()
            }
        ),
    ),
    "map-t, customer edge": PacketCase(
        words=(*MAP_T, "--ce", "2001:db8:ce12:3400::/56"),
        packets=lambda: both(
            Ends(source=CE_IPV4, destination=OUTSIDE, ports=(CE_PORT, 53)),
            Ends(source=embedded(PREFIX, OUTSIDE), destination=CE_IPV6, ports=(53, CE_PORT)),
        ),
    ),
    "464xlat, CLAT": PacketCase(
        words=("464xlat", "--role", "clat", "--prefix", f"{PREFIX}/96", "--clat-prefix", "2001:db8:c1a7::/96"),
        packets=lambda: both(
            Ends(source="192.0.0.2", destination=OUTSIDE),
            Ends(source=embedded(PREFIX, OUTSIDE), destination=embedded("2001:db8:c1a7::", "192.0.0.2")),
        ),
    ),
    "nat64": PacketCase(
        words=("nat64", "--prefix", f"{PREFIX}/96", "--pool", "192.0.2.1/32:1024-65535", "--own4", "192.0.2.254"),
        packets=lambda: (
            of_ipv6(SIIT[1])
            | {f"back, {name}": value for name, value in of_ipv4(ANSWER).items()}
            | to_itself("192.0.2.254", embedded(PREFIX, "192.0.2.254"))
        ),
        node=(*TRACKED, "*no checksum", "back, too long, DF"),
    ),
    "464xlat, PLAT": PacketCase(
        words=("464xlat", "--role", "plat", "--prefix", f"{PREFIX}/96", "--pool", "192.0.2.1/32:1024-65535"),
        packets=lambda: of_ipv6(SIIT[1]) | {f"back, {name}": value for name, value in of_ipv4(ANSWER).items()},
        node=(*TRACKED, "*no checksum", "back, too long, DF"),
    ),
    "lw4o6, lwB4": PacketCase(
        words=("lw4o6", "--role", "b4", "--br", TUNNEL6.source, "--binding", f"192.0.2.1,6,39,{TUNNEL6.destination}"),
        packets=lambda: of_ipv4(IN4) | outer(TUNNEL6, of_ipv4(IN4.back), 4),
        node=(*TRACKED, "too long"),
    ),
    "map-e, customer edge": PacketCase(
        words=(
            *("map-e", "--br", TUNNEL6.source, "--rule-prefix", "2001:db8:e::/52", "--ce", "2001:db8:e:a00::/56"),
            *("--rule-ipv4", "192.0.2.18/32", "--ea-bits", "4", "--psid-offset", "0"),
        ),
        packets=lambda: (
            of_ipv4(from_edge(0xA123))
            | outer(Ends(source=TUNNEL6.source, destination=MAP_E_CE), of_ipv4(from_edge(0xA123).back), 4)
        ),
        node=(*TRACKED, "too long"),
    ),
    "siit-dc, border relay": PacketCase(
        words=(
            *("siit-dc", "--role", "br", "--prefix", f"{PREFIX}/96", "--eam", "192.0.2.1/32=2001:db8:1::1/128"),
            *("--eam", "192.0.2.2/32=2001:db8:2::2/128"),
        ),
        packets=lambda: both(*SIIT) | {f"hairpin, {name}": packet for name, packet in of_ipv6(HAIRPIN).items()},
    ),
    "siit, hairpin": PacketCase(
        words=(
            *("siit", "--hairpin", "--prefix", "2001:db8:100::/40", "--eam", "192.0.2.0/24=2001:db8:1::/120"),
            *("--mtu4", "576", "--zero-checksum", "compute"),
        ),
        packets=lambda: {
            f"{name} {to}": packet
            for to in ("2001:db8:1c0:2:2::", "2001:db8:1::2", "2001:db8:1c6:3364:1::")
            for name, packet in of_ipv6(Ends(source="2001:db8:1::1", destination=to)).items()
        },
    ),
    "6in4": PacketCase(
        words=("6in4", *FROM_LOCAL4, *ERROR_SOURCES[2:], "--mtu", "1480", "--tos", "40", "--ttl", "9", "--no-ecn"),
        node=("*used up",),
        packets=lambda: through_tunnel(TUNNEL4, 41, of_ipv6(IN6)),
    ),
    "lw4o6, lwAFTR": PacketCase(
        words=(
            *("lw4o6", "--role", "aftr", "--br", TUNNEL6.destination),
            *("--binding", f"192.0.2.1,6,39,{TUNNEL6.source}", "--binding", "192.0.2.1,6,0,2001:db8:f::3"),
        ),
        packets=lambda: (
            outer(TUNNEL6, of_ipv4(IN4), 4)
            | of_ipv4(IN4.back)
            | {"another's": in4(replace(IN4.back, ports=(53, 2000)), udp(replace(IN4.back, ports=(53, 2000))))}
        ),
        node=(*TRACKED, "*unreachable"),
    ),
    "map-e, border relay": PacketCase(
        words=(
            *("map-e", "--br", TUNNEL6.destination, "--rule-prefix", "2001:db8:e::/52"),
            *("--rule-ipv4", "192.0.2.18/32", "--ea-bits", "4", "--psid-offset", "6"),
        ),
        packets=lambda: (
            outer(Ends(source=MAP_E_CE, destination=TUNNEL6.destination), of_ipv4(from_edge(0xA << 6 | 1 << 10)), 4)
            | of_ipv4(from_edge(0xA << 6 | 1 << 10).back)
        ),
        node=(*TRACKED, "*unreachable"),
    ),
    "4in6": PacketCase(
        words=("4in6", *FROM_LOCAL6, *ERROR_SOURCES[:2], "--mtu", "1460"),
        node=("*used up", "*bad header checksum", "too long"),
        packets=lambda: through_tunnel(TUNNEL6, 4, of_ipv4(IN4)),
    ),
    "gre": PacketCase(
        words=("gre", *FROM_LOCAL4, *ERROR_SOURCES),
        node=("*used up", "*bad header checksum"),
        packets=lambda: through_tunnel(TUNNEL4, 47, both(IN4, IN6)),
    ),
    "6to4": PacketCase(
        words=("6to4", "--local", "203.0.113.1", *ERROR_SOURCES[2:]),
        node=("*used up",),
        packets=lambda: (
            through_tunnel(TUNNEL4, 41, of_ipv6(Ends(source="2002:cb00:7102::1", destination="2002:cb00:7101::1")))
            | {"out": in6(Ends(source="2002:cb00:7101::1", destination="2002:cb00:7102::1"), b"", NOTHING)}
        ),
    ),
    "6rd": PacketCase(
        words=("6rd", "--local", "203.0.113.1", "--prefix", "2001:db8::/32", "--br", "203.0.113.2", *ERROR_SOURCES[2:]),
        node=("*used up",),
        packets=lambda: (
            through_tunnel(
                TUNNEL4, 41, of_ipv6(Ends(source="2001:db8:cb00:7103::1", destination="2001:db8:cb00:7101::1"))
            )
            | of_ipv6(Ends(source="2001:db8:cb00:7101::1", destination="2001:4860::1"))
        ),
    ),
}


def segment(ends: Ends, flags: int, data: bytes = b"") -> bytes:
    return sealed(ends, TCP, struct.pack("!HHIIHHHH", *ends.ports, 1, 7, 0x5000 | flags, 1000, 0, 0) + data, 16)
