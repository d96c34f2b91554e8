"""Packets of both families with what is special about them, and what two engines may make different of them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import ip_address

from ip_packets import ICMP, ICMPV6, TCP, UDP, checksum, ipv4, ipv6

DF, MORE = 0x4000, 0x2000
FRAGMENT, HOP_BY_HOP, ROUTING, NOTHING = 44, 0, 43, 59


@dataclass(frozen=True, kw_only=True)
class Ends:
    """Addresses of packets of one family: from there, to there."""

    source: str
    destination: str
    ports: tuple[int, int] = (40000, 53)

    @property
    def back(self) -> Ends:
        return Ends(source=self.destination, destination=self.source, ports=self.ports[::-1])


def pseudo(ends: Ends, protocol: int, length: int) -> bytes:
    return b"".join(ip_address(item).packed for item in (ends.source, ends.destination)) + struct.pack(
        "!II", length, protocol
    )


def sealed(ends: Ends, protocol: int, message: bytes, at: int) -> bytes:
    """A message with its checksum."""
    before = b"" if protocol == ICMP else pseudo(ends, protocol, len(message))
    value = checksum(before + message) or 0xFFFF
    return message[:at] + struct.pack("!H", value) + message[at + 2 :]


def udp(ends: Ends, length: int = 16) -> bytes:
    return sealed(ends, UDP, struct.pack("!HHHH", *ends.ports, length, 0) + bytes(length - 8), 6)


def tcp(ends: Ends) -> bytes:
    return sealed(ends, TCP, struct.pack("!HHIIHHHH", *ends.ports, 1, 0, 0x5002, 1000, 0, 0), 16)


def echo(ends: Ends, length: int = 24) -> bytes:
    is_ipv4 = "." in ends.source
    head = struct.pack("!BBHHH", 8 if is_ipv4 else 128, 0, 0, ends.ports[0], 1)
    return sealed(ends, ICMP if is_ipv4 else ICMPV6, head + bytes(length - 8), 2)


def error(ends: Ends, kind: int, code: int, rest: int, quoted: bytes) -> bytes:
    protocol = ICMP if "." in ends.source else ICMPV6
    return sealed(ends, protocol, struct.pack("!BBHI", kind, code, 0, rest) + quoted, 2)


def in4(ends: Ends, payload: bytes, protocol: int = UDP, flags: int = 0, **more: int) -> bytes:
    sent = {"source": ends.source, "destination": ends.destination, "protocol": protocol}
    return ipv4(payload, flags_and_offset=flags, identification=0x1234, **sent, **more)  # type: ignore[arg-type]


def in6(ends: Ends, payload: bytes, protocol: int = UDP, **more: int) -> bytes:
    return ipv6(payload, source=ends.source, destination=ends.destination, protocol=protocol, **more)  # type: ignore[arg-type]


def fragment6(ends: Ends, payload: bytes, offset: int, more: int, protocol: int = UDP) -> bytes:
    head = struct.pack("!BBHI", protocol, 0, offset | more, 0x5678)
    return in6(ends, head + payload, FRAGMENT)


def of_ipv4(ends: Ends) -> dict[str, bytes]:
    """Packets of IPv4, by what is special about them."""
    whole = udp(ends, 1300)
    option = in4(ends, udp(ends))
    option = bytes([0x46]) + option[1:2] + struct.pack("!H", len(option) + 4) + option[4:20] + b"\1\1\1\0" + option[20:]
    option = option[:10] + struct.pack("!H", checksum(option[:10] + b"\0\0" + option[12:24])) + option[12:]
    reverse = in4(ends.back, udp(ends.back), ttl=33)
    return {
        "udp": in4(ends, udp(ends)),
        "udp, DF": in4(ends, udp(ends), flags=DF, tos=0x2A),
        "tcp": in4(ends, tcp(ends), TCP, DF),
        "echo": in4(ends, echo(ends), ICMP),
        "no checksum": in4(ends, udp(ends)[:6] + b"\0\0" + udp(ends)[8:]),
        "options": option,
        "too long, DF": in4(ends, udp(ends, 1480), flags=DF),
        "too long": in4(ends, udp(ends, 1480)),
        "first fragment": in4(ends, whole[:800], flags=MORE),
        "last fragment": in4(ends, whole[800:], flags=800 // 8),
        "last fragment of one without checksum": in4(ends, whole[800:], flags=800 // 8),
        "first fragment of one without checksum": in4(ends, whole[:6] + b"\0\0" + whole[8:400], flags=MORE),
        "middle fragment of one without checksum": in4(ends, whole[400:800], flags=MORE | 400 // 8),
        "fragment of ICMP": in4(ends, echo(ends)[:16], ICMP, MORE),
        "port unreachable": in4(ends, error(ends, 3, 3, 0, reverse), ICMP),
        "fragmentation needed": in4(ends, error(ends, 3, 4, 1300, reverse), ICMP),
        "another protocol": in4(ends, bytes(40), 132),
        "TTL used up": in4(ends, udp(ends), ttl=1),
        "bad header checksum": in4(ends, udp(ends))[:10] + b"\x12\x34" + in4(ends, udp(ends))[12:],
        "bad UDP checksum": in4(ends, udp(ends)[:6] + b"\x12\x34" + udp(ends)[8:]),
        "cut off": in4(ends, udp(ends))[:30],
        "source route": routed(ends, 4),
        "source route at its end": routed(ends, 8),
    }


def routed(ends: Ends, pointer: int) -> bytes:
    """Packet with a loose source route of one address (RFC 791 section 3.1)."""
    plain = in4(ends, udp(ends))
    option = bytes([131, 7, pointer, 203, 0, 113, 5, 0])
    head = b"\x47" + plain[1:2] + struct.pack("!H", len(plain) + 8) + plain[4:10] + b"\0\0" + plain[12:20] + option
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + plain[20:]


def of_ipv6(ends: Ends) -> dict[str, bytes]:
    """Packets of IPv6, by what is special about them."""
    whole = udp(ends, 1300)
    reverse = in6(ends.back, udp(ends.back), hop_limit=33)
    return {
        "udp": in6(ends, udp(ends)),
        "tcp": in6(ends, tcp(ends), TCP, traffic_class=0x2A),
        "echo": in6(ends, echo(ends), ICMPV6),
        "no checksum": in6(ends, udp(ends)[:6] + b"\0\0" + udp(ends)[8:]),
        "1500 bytes": in6(ends, udp(ends, 1460)),
        "options": in6(ends, bytes([UDP, 0, 1, 4, 0, 0, 0, 0]) + udp(ends), HOP_BY_HOP),
        "first fragment": fragment6(ends, whole[:800], 0, 1),
        "last fragment": fragment6(ends, whole[800:], 800, 0),
        "atomic fragment": fragment6(ends, udp(ends), 0, 0),
        "port unreachable": in6(ends, error(ends, 1, 4, 0, reverse), ICMPV6),
        "packet too big, about a fragment": in6(
            ends, error(ends, 2, 0, 1400, fragment6(ends.back, whole[:16], 0, 1)), ICMPV6
        ),
        "packet too big": in6(ends, error(ends, 2, 0, 1400, reverse), ICMPV6),
        "another protocol": in6(ends, bytes(40), 132),
        "hop limit used up": in6(ends, udp(ends), hop_limit=1),
        "bad UDP checksum": in6(ends, udp(ends)[:6] + b"\x12\x34" + udp(ends)[8:]),
        "cut off": in6(ends, udp(ends))[:50],
    }


def as_compared(packet: bytes) -> bytes:
    """A packet without what a node on the way changes, and what each engine counts for itself: hop limits,
    identifications, and the checksums of headers and messages that have these in them."""
    if len(packet) >= 20 and packet[0] >> 4 == 4:
        start = 4 * (packet[0] & 15)
        head = packet[:4] + b"\0\0" + packet[6:8] + b"\0" + packet[9:10] + b"\0\0" + packet[12:start]
        is_first = not struct.unpack("!H", packet[6:8])[0] & 0x1FFF
        return head + _payload(packet[9] if is_first else NOTHING, packet[start:])
    if len(packet) >= 40 and packet[0] >> 4 == 6:
        head, payload, protocol = packet[:7] + b"\0" + packet[8:40], packet[40:], packet[6]
        if protocol == FRAGMENT and len(payload) >= 8:
            offset = struct.unpack("!H", payload[2:4])[0] & 0xFFF8
            return head + payload[:4] + bytes(4) + _payload(NOTHING if offset else payload[0], payload[8:])
        return head + _payload(protocol, payload)
    return packet


def _payload(protocol: int, payload: bytes) -> bytes:
    if protocol in (4, 41):
        return as_compared(payload)
    if protocol == 47:
        return payload[:4] + as_compared(payload[4:])
    errors = {ICMP: (3, 11, 12), ICMPV6: (1, 2, 3, 4)}.get(protocol, ())
    if len(payload) > 8 and payload[0] in errors:
        return payload[:2] + b"\0\0" + payload[4:8] + as_compared(payload[8:])
    return payload
