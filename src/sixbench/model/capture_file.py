"""Captures as files: pcap and pcapng are read, and pcap is written.

The formats are those of draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. Every length is checked before it is
used. Messages name the byte at which something is wrong.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import BinaryIO

MAX_RECORD_BYTES = 2**20
MAX_RECORDS = 2**20
MAX_INTERFACES = 1024
MAX_PACKET_BYTES = 40 + 65_535
"""The longest packet without a jumbo payload: IPv6's header, and what its length field can say (RFC 8200 section 3)."""

RAW_IP = 101
"""LINKTYPE_RAW: packets begin with their IP header."""

_PCAP = {0xA1B2C3D4: 10**6, 0xA1B23C4D: 10**9}
"""Magic numbers, with the ticks per second of their times."""
_NANOSECOND_PCAP = 0xA1B23C4D

_SECTION, _INTERFACE, _OBSOLETE, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_BYTE_ORDER = 0x1A2B3C4D
_TICKS, _OFFSET = 9, 14
"""Options of an interface: if_tsresol, if_tsoffset."""

ETHERNET = 1
"""LINKTYPEETHERNET: packets begin with their Ethernet header."""

_NULL, _SLL, _SLL2 = 0, 113, 276
_IP = frozenset({12, 14, RAW_IP, 228, 229})
_VLAN_TYPES = frozenset({0x8100, 0x88A8})
_IP_TYPES = frozenset({0x0800, 0x86DD})


class CaptureError(Exception):
    """A file is not a capture that can be read. The message says at which byte, and why."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """A packet as it is in the file.

    Attributes:
        at: the byte at which it begins in the file.
        time_ns: since 1970; None where the file has no times.
        original_bytes: its length before it was cut off for the capture.
    """

    at: int
    time_ns: int | None
    link_type: int
    data: bytes
    original_bytes: int


@dataclass(frozen=True, kw_only=True)
class _Interface:
    link_type: int
    most_bytes: int
    ticks_per_s: int
    offset_s: int


def read_capture(stream: BinaryIO) -> Iterator[Record]:
    """The packets of a capture, one after the other.

    Raises:
        CaptureError: it is no capture, is damaged, or has more packets than are read.
        OSError: it cannot be read.
    """
    return _records(_File(stream))


class _File:
    """A file that is read from start to end and knows its position."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.offset = 0

    def take(self, length: int, what: str) -> bytes:
        data = self.take_or_end(length, what)
        if not data:
            raise CaptureError(f"at byte {self.offset}: the file ends where {what} should be")
        return data

    def take_or_end(self, length: int, what: str) -> bytes:
        """Reads that many bytes; empty at the end of the file."""
        data = self.stream.read(length)
        if data and len(data) < length:
            raise CaptureError(f"at byte {self.offset}: the file ends in the middle of {what}")
        self.offset += len(data)
        return data


def _records(file: _File) -> Iterator[Record]:
    start = file.take(4, "a capture")
    for order in "<>":
        magic = struct.unpack(f"{order}I", start)[0]
        if magic in _PCAP:
            return _bounded(_pcap(file, order, _PCAP[magic]))
        if magic == _SECTION:
            return _bounded(_pcapng(file))
    raise CaptureError("at byte 0: it is neither pcap nor pcapng")


def _bounded(records: Iterator[Record]) -> Iterator[Record]:
    for count, record in enumerate(records):
        if count == MAX_RECORDS:
            raise CaptureError(f"it has more than {MAX_RECORDS} packets; filter or cut it")
        yield record


def _pcap(file: _File, order: str, ticks_per_s: int) -> Iterator[Record]:
    *_, link_type = struct.unpack(f"{order}HHiIII", file.take(20, "the header of a pcap file"))
    while head := file.take_or_end(16, "a packet's header"):
        at = file.offset - 16
        seconds, fraction, kept_bytes, original_bytes = struct.unpack(f"{order}IIII", head)
        if kept_bytes > MAX_RECORD_BYTES:
            raise CaptureError(f"at byte {at}: a packet cannot have {kept_bytes} bytes; the file is damaged")
        data = file.take(kept_bytes, "a packet") if kept_bytes else b""
        time_ns = seconds * 10**9 + fraction * (10**9 // ticks_per_s)
        # The upper bits of the link type have the length of the frame check sequence.
        kind = link_type & 0xFFFF
        yield Record(at=at, time_ns=time_ns, link_type=kind, data=data, original_bytes=original_bytes)


def _pcapng(file: _File) -> Iterator[Record]:
    """Reads block by block. The type of the first block has been read."""
    order, interfaces = "<", list[_Interface]()
    kind_bytes = struct.pack("<I", _SECTION)
    while kind_bytes:
        at = file.offset - 4
        length_bytes = file.take(4, "a block's length")
        kind = struct.unpack(f"{order}I", kind_bytes)[0]
        body = b""
        if kind == _SECTION:
            body = file.take(4, "a section's byte order")
            order = next((o for o in "<>" if struct.unpack(f"{o}I", body)[0] == _BYTE_ORDER), "")
            if not order:
                raise CaptureError(f"at byte {at}: a section has no byte order; the file is damaged")
            interfaces = []
        length = struct.unpack(f"{order}I", length_bytes)[0]
        if length % 4 or not 12 + len(body) <= length <= MAX_RECORD_BYTES + 64:
            raise CaptureError(f"at byte {at}: a block cannot have {length} bytes; the file is damaged")
        rest_bytes = length - 12 - len(body)
        body += file.take(rest_bytes, "a block") if rest_bytes else b""
        if struct.unpack(f"{order}I", file.take(4, "the end of a block"))[0] != length:
            raise CaptureError(f"at byte {at}: a block's two lengths differ; the file is damaged")
        if kind == _INTERFACE:
            if len(interfaces) == MAX_INTERFACES:
                raise CaptureError(f"at byte {at}: it has more than {MAX_INTERFACES} interfaces")
            interfaces.append(_interface(body, order, at))
        elif kind == _ENHANCED:
            yield _enhanced(body, order, at, interfaces)
        elif kind == _SIMPLE:
            yield _simple(body, order, at, interfaces)
        elif kind == _OBSOLETE:
            raise CaptureError(f"at byte {at}: a packet is of the obsolete kind; convert the file with: editcap IN OUT")
        kind_bytes = file.take_or_end(4, "a block's type")


def _interface(body: bytes, order: str, at: int) -> _Interface:
    if len(body) < 8:
        raise CaptureError(f"at byte {at}: the description of an interface is too short")
    ticks_per_s, offset_s = 10**6, 0
    rest = body[8:]
    while len(rest) >= 4:
        code, length = struct.unpack(f"{order}HH", rest[:4])
        value, rest = rest[4 : 4 + length], rest[4 + length + -length % 4 :]
        if code == 0:
            break
        if code == _TICKS and length == 1:
            exponent = value[0] & 0x7F if value else 0
            ticks_per_s = 2**exponent if value and value[0] & 0x80 else 10**exponent
        if code == _OFFSET and len(value) == 8:
            offset_s = struct.unpack(f"{order}q", value)[0]
    link_type, _, most_bytes = struct.unpack(f"{order}HHI", body[:8])
    return _Interface(link_type=link_type, most_bytes=most_bytes, ticks_per_s=ticks_per_s, offset_s=offset_s)


def _enhanced(body: bytes, order: str, at: int, interfaces: list[_Interface]) -> Record:
    if len(body) < 20:
        raise CaptureError(f"at byte {at}: a packet's block is too short")
    number, high, low, kept_bytes, original_bytes = struct.unpack(f"{order}IIIII", body[:20])
    if number >= len(interfaces):
        raise CaptureError(f"at byte {at}: a packet is of interface {number}, which the file does not describe")
    if kept_bytes > len(body) - 20:
        raise CaptureError(f"at byte {at}: a packet of {kept_bytes} bytes does not fit in its block")
    interface = interfaces[number]
    time_ns = ((high << 32) | low) * 10**9 // interface.ticks_per_s + interface.offset_s * 10**9
    data = body[20 : 20 + kept_bytes]
    return Record(at=at, time_ns=time_ns, link_type=interface.link_type, data=data, original_bytes=original_bytes)


def _simple(body: bytes, order: str, at: int, interfaces: list[_Interface]) -> Record:
    if len(body) < 4 or not interfaces:
        raise CaptureError(f"at byte {at}: a packet's block is too short, or the file describes no interface before it")
    original_bytes, interface = struct.unpack(f"{order}I", body[:4])[0], interfaces[0]
    kept_bytes = min(original_bytes, interface.most_bytes or original_bytes)
    if kept_bytes > len(body) - 4:
        raise CaptureError(f"at byte {at}: a packet of {kept_bytes} bytes does not fit in its block")
    data = body[4 : 4 + kept_bytes]
    return Record(at=at, time_ns=None, link_type=interface.link_type, data=data, original_bytes=original_bytes)


def ip_start(record: Record) -> int | None:
    """The offset of the IP header in `data`; None if the packet has none.

    Raises:
        CaptureError: its link type is none of those that are read.
    """
    data, kind = record.data, record.link_type
    if kind in _IP:
        return 0
    if kind == _NULL:
        return 4
    if kind == _SLL2:
        return 20 if struct.unpack("!H", data[:2].ljust(2, b"\0"))[0] in _IP_TYPES else None
    if kind not in (ETHERNET, _SLL):
        raise CaptureError(f"link type {kind} cannot be read; Ethernet, Linux cooked, BSD loopback and raw IP can")
    at = 12 if kind == ETHERNET else 14
    while len(data) >= at + 2:
        ether_type = struct.unpack("!H", data[at : at + 2])[0]
        if ether_type not in _VLAN_TYPES:
            return at + 2 if ether_type in _IP_TYPES else None
        at += 4
    return None


def addresses_of(packet: bytes) -> tuple[IPv4Address, IPv4Address] | tuple[IPv6Address, IPv6Address] | None:
    """Source and destination of an IP packet; None where its header is not whole."""
    if len(packet) >= 20 and packet[0] >> 4 == 4:
        return IPv4Address(packet[12:16]), IPv4Address(packet[16:20])
    if len(packet) >= 40 and packet[0] >> 4 == 6:
        return IPv6Address(packet[8:24]), IPv6Address(packet[24:40])
    return None


class PcapWriter:
    """Writes IP packets as a pcap file with times in nanoseconds."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        stream.write(struct.pack("<IHHiIII", _NANOSECOND_PCAP, 2, 4, 0, 0, MAX_PACKET_BYTES, RAW_IP))

    def write(self, time_ns: int, packet: bytes) -> None:
        """Writes a packet. Raises `CaptureError` where pcap has no room for its time."""
        seconds, rest_ns = divmod(time_ns, 10**9)
        if not 0 <= seconds < 2**32:
            raise CaptureError(f"a pcap file has no room for its time, {seconds} s since 1970")
        self._stream.write(struct.pack("<IIII", seconds, rest_ns, len(packet), len(packet)) + packet)
