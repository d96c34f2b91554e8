"""Captured packets as a pcapng file (draft-ietf-opsawg-pcapng), which Wireshark, tshark and tcpdump read."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from ...model.observation import Packet

LINKTYPE_ETHERNET = 1
_NANOSECONDS = 9


def to_pcapng(packets: Iterable[Packet], interface: str, snaplen_bytes: int) -> bytes:
    """A section with one interface.

    Args:
        packets: in the order of the file.
        interface: its name, such as `eth1 of r1 on r1-r2`.
    """
    content = bytearray(_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))
    options = _option(2, interface.encode()) + _option(9, bytes([_NANOSECONDS])) + _option(0, b"")
    content += _block(1, struct.pack("<HHI", LINKTYPE_ETHERNET, 0, snaplen_bytes) + options)
    for packet in packets:
        data = bytes.fromhex(packet.data)
        time_ns = packet.realtime_ns or 0
        direction = 2 if packet.outgoing else 1
        fixed = struct.pack(
            "<IIIII", 0, time_ns >> 32, time_ns & 0xFFFFFFFF, len(data), max(packet.wire_bytes, len(data))
        )
        content += _block(6, fixed + _padded(data) + _option(2, struct.pack("<I", direction)) + _option(0, b""))
    return bytes(content)


def _block(kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
