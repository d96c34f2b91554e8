"""IP packets as bytes, and captures of them, for tests: written here alone, with nothing of what is tested."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address

ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58

HOST4, OTHER4 = "198.51.100.1", "198.51.100.2"
HOST6, OTHER6 = "2001:db8:1::1", "2001:db8:2::1"


def checksum(data: bytes) -> int:
    """RFC 1071, as it is written there."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(
    payload: bytes,
    *,
    source: str = HOST4,
    destination: str = OTHER4,
    protocol: int = UDP,
    flags_and_offset: int = 0,
    ttl: int = 64,
    tos: int = 0,
    identification: int = 0,
) -> bytes:
    head = struct.pack("!BBHHHBB", 0x45, tos, 20 + len(payload), identification, flags_and_offset, ttl, protocol)
    ends = IPv4Address(source).packed + IPv4Address(destination).packed
    return head + struct.pack("!H", checksum(head + b"\0\0" + ends)) + ends + payload


def ipv6(
    payload: bytes,
    *,
    source: str = HOST6,
    destination: str = OTHER6,
    protocol: int = UDP,
    hop_limit: int = 64,
    traffic_class: int = 0,
) -> bytes:
    head = struct.pack("!IHBB", 6 << 28 | traffic_class << 20, len(payload), protocol, hop_limit)
    return head + IPv6Address(source).packed + IPv6Address(destination).packed + payload


def datagram(
    source: IPv4Address | IPv6Address, destination: IPv4Address | IPv6Address, ports: tuple[int, int]
) -> bytes:
    """UDP with its checksum (RFC 768, RFC 8200 section 8.1)."""
    unsealed = struct.pack("!HHHH", *ports, 16, 0) + b"sixbench"
    pseudo = source.packed + destination.packed + struct.pack("!II", len(unsealed), UDP)
    return unsealed[:6] + struct.pack("!H", checksum(pseudo + unsealed)) + unsealed[8:]


def pcap(
    packets: Sequence[bytes], link_type: int = 101, time_ns: int = 0, times_ns: Sequence[int] | None = None
) -> bytes:
    """A capture, with packets 1 ns after one another or at these times."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, link_type)]
    times = times_ns or range(time_ns, time_ns + len(packets))
    for at, packet in zip(times, packets, strict=True):
        parts += [struct.pack("<IIII", at // 10**9, at % 10**9, len(packet), len(packet)), packet]
    return b"".join(parts)
