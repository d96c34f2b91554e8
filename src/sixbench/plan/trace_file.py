"""Reads a pcap or pcapng file as the datagrams that a trace sends.

The formats are those of draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. Every length is checked before it is
used. Messages name the byte at which something is wrong.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from ..model.files import open_regular
from ..model.trace import MAX_GAP_NS, MAX_PACKETS, MIN_MEAN_GAP_NS, Trace, encode
from ..model.workloads.common import HEADER_BYTES
from ..model.workloads.traffic_models import MAX_BYTES, TRACE
from .factors import Factors
from .reader import Reader
from .workload_file import WorkloadTemplate, values_of

MAX_RECORD_BYTES = 2**20
MAX_RECORDS = 2**20
MAX_INTERFACES = 1024
UDP_BYTES = 8
IPV6_BYTES = 40

_PCAP = {0xA1B2C3D4: 10**6, 0xA1B23C4D: 10**9}
"""Magic numbers, with the ticks per second of their times."""

_SECTION, _INTERFACE, _OBSOLETE, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_BYTE_ORDER = 0x1A2B3C4D
_TICKS, _OFFSET = 9, 14
"""Options of an interface: if_tsresol, if_tsoffset."""

_ETHERNET, _NULL, _SLL, _SLL2 = 1, 0, 113, 276
_IP = frozenset({12, 14, 101, 228, 229})
_VLAN_TYPES = frozenset({0x8100, 0x88A8})
_IP_TYPES = frozenset({0x0800, 0x86DD})


class TraceError(Exception):
    """A file is not a capture that can be sent. The message says at which byte, and why."""


@dataclass(frozen=True, kw_only=True)
class _Record:
    """A packet as it is in the file."""

    time_ns: int
    link_type: int
    data: bytes
    original_bytes: int


@dataclass(frozen=True, kw_only=True)
class _Interface:
    link_type: int
    ticks_per_s: int
    offset_s: int


def read_trace(path: Path) -> Trace:
    """Reads a capture. Each IP packet, whatever it carried, becomes a datagram whose packet is as long.

    The payload of the datagram is as long as the packet without its IP header and without a UDP header. Packets are
    taken in the order of their times.

    Raises:
        TraceError: the file is not a capture, is damaged, or has nothing or too much to send.
        OSError: the file cannot be read.
    """
    times_and_sizes: list[tuple[int, int]] = []
    skipped = padded = 0
    with open_regular(path) as stream:
        for record in _records(_File(stream)):
            payload_bytes = _payload_bytes(record)
            if payload_bytes is None:
                skipped += 1
                continue
            if len(times_and_sizes) == MAX_PACKETS:
                raise TraceError(
                    f"it has more than {MAX_PACKETS} IP packets; cut it, for example with: editcap -r IN OUT "
                    f"1-{MAX_PACKETS}"
                )
            padded += payload_bytes < HEADER_BYTES
            times_and_sizes.append((record.time_ns, min(max(payload_bytes, HEADER_BYTES), MAX_BYTES)))
        stream.seek(0)
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    times_and_sizes.sort(key=lambda pair: pair[0])
    times_ns = [time_ns for time_ns, _ in times_and_sizes]
    if len(times_ns) < 2:
        raise TraceError(f"it has {len(times_ns)} IP packets; at least two are needed to know how often to send")
    duration_ns = times_ns[-1] - times_ns[0]
    if duration_ns < MIN_MEAN_GAP_NS * (len(times_ns) - 1):
        raise TraceError(f"it has {len(times_ns)} IP packets in {duration_ns} ns; at most 1 a microsecond can be sent")
    gaps_ns = [0, *(late - early for early, late in pairwise(times_ns))]
    if max(gaps_ns) > MAX_GAP_NS:
        raise TraceError("there is an hour or more between two of its packets; cut it")
    return Trace(
        packets=len(times_ns),
        duration_ns=duration_ns,
        padded=padded,
        skipped=skipped,
        sha256=sha256,
        datagrams=encode(gaps_ns, [size for _, size in times_and_sizes]),
    )


def read_traces(reader: Reader, factors: Factors, templates: Sequence[WorkloadTemplate]) -> dict[str, Trace]:
    """The captures that workloads name, by their names. Each is read once, and what is wrong with it is noted."""
    traces: dict[str, Trace] = {}
    for template in templates:
        for name in values_of(template, factors, TRACE.column):
            if str(name) in traces:
                continue
            try:
                traces[str(name)] = read_trace(reader.source.directory / str(name))
            except TraceError as error:
                reader.problem((*template.path, TRACE.name), f"{name}: {error}")
            except OSError as error:
                reader.problem((*template.path, TRACE.name), f"reading {name}: {error.strerror}")
    return traces


class _File:
    """A file that is read from start to end and knows its position."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.offset = 0

    def take(self, length: int, what: str) -> bytes:
        data = self.take_or_end(length, what)
        if not data:
            raise TraceError(f"at byte {self.offset}: the file ends where {what} should be")
        return data

    def take_or_end(self, length: int, what: str) -> bytes:
        """Reads that many bytes; empty at the end of the file."""
        data = self.stream.read(length)
        if data and len(data) < length:
            raise TraceError(f"at byte {self.offset}: the file ends in the middle of {what}")
        self.offset += len(data)
        return data


def _records(file: _File) -> Iterator[_Record]:
    start = file.take(4, "a capture")
    for order in "<>":
        magic = struct.unpack(f"{order}I", start)[0]
        if magic in _PCAP:
            return _bounded(_pcap(file, order, _PCAP[magic]))
        if magic == _SECTION:
            return _bounded(_pcapng(file))
    raise TraceError("at byte 0: it is neither pcap nor pcapng")


def _bounded(records: Iterator[_Record]) -> Iterator[_Record]:
    for count, record in enumerate(records):
        if count == MAX_RECORDS:
            raise TraceError(f"it has more than {MAX_RECORDS} packets; filter or cut it")
        yield record


def _pcap(file: _File, order: str, ticks_per_s: int) -> Iterator[_Record]:
    *_, link_type = struct.unpack(f"{order}HHiIII", file.take(20, "the header of a pcap file"))
    while head := file.take_or_end(16, "a packet's header"):
        at = file.offset - 16
        seconds, fraction, kept_bytes, original_bytes = struct.unpack(f"{order}IIII", head)
        if kept_bytes > MAX_RECORD_BYTES:
            raise TraceError(f"at byte {at}: a packet cannot have {kept_bytes} bytes; the file is damaged")
        data = file.take(kept_bytes, "a packet") if kept_bytes else b""
        time_ns = seconds * 10**9 + fraction * (10**9 // ticks_per_s)
        # The upper bits of the link type say how long the frame check sequence is.
        yield _Record(time_ns=time_ns, link_type=link_type & 0xFFFF, data=data, original_bytes=original_bytes)


def _pcapng(file: _File) -> Iterator[_Record]:
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
                raise TraceError(f"at byte {at}: a section has no byte order; the file is damaged")
            interfaces = []
        length = struct.unpack(f"{order}I", length_bytes)[0]
        if length % 4 or not 12 + len(body) <= length <= MAX_RECORD_BYTES + 64:
            raise TraceError(f"at byte {at}: a block cannot have {length} bytes; the file is damaged")
        rest_bytes = length - 12 - len(body)
        body += file.take(rest_bytes, "a block") if rest_bytes else b""
        if struct.unpack(f"{order}I", file.take(4, "the end of a block"))[0] != length:
            raise TraceError(f"at byte {at}: a block's two lengths differ; the file is damaged")
        if kind == _INTERFACE:
            if len(interfaces) == MAX_INTERFACES:
                raise TraceError(f"at byte {at}: it has more than {MAX_INTERFACES} interfaces")
            interfaces.append(_interface(body, order, at))
        elif kind == _ENHANCED:
            yield _enhanced(body, order, at, interfaces)
        elif kind in (_SIMPLE, _OBSOLETE):
            raise TraceError(
                f"at byte {at}: a packet has no time, or is of the obsolete kind; convert the file with: editcap IN OUT"
            )
        kind_bytes = file.take_or_end(4, "a block's type")


def _interface(body: bytes, order: str, at: int) -> _Interface:
    if len(body) < 8:
        raise TraceError(f"at byte {at}: the description of an interface is too short")
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
    return _Interface(link_type=struct.unpack(f"{order}H", body[:2])[0], ticks_per_s=ticks_per_s, offset_s=offset_s)


def _enhanced(body: bytes, order: str, at: int, interfaces: list[_Interface]) -> _Record:
    if len(body) < 20:
        raise TraceError(f"at byte {at}: a packet's block is too short")
    number, high, low, kept_bytes, original_bytes = struct.unpack(f"{order}IIIII", body[:20])
    if number >= len(interfaces):
        raise TraceError(f"at byte {at}: a packet came by interface {number}, which the file does not describe")
    if kept_bytes > len(body) - 20:
        raise TraceError(f"at byte {at}: a packet of {kept_bytes} bytes does not fit in its block")
    interface = interfaces[number]
    time_ns = ((high << 32) | low) * 10**9 // interface.ticks_per_s + interface.offset_s * 10**9
    data = body[20 : 20 + kept_bytes]
    return _Record(time_ns=time_ns, link_type=interface.link_type, data=data, original_bytes=original_bytes)


def _payload_bytes(record: _Record) -> int | None:
    """The payload of a UDP datagram of the same length with the same IP header; None if the packet is not IP."""
    start = _ip_start(record)
    packet = record.data[start:] if start is not None else b""
    whole_bytes = record.original_bytes - (start or 0)
    if len(packet) >= 20 and packet[0] >> 4 == 4:
        # A length of 0 is a segment before segmentation offload.
        length = struct.unpack("!H", packet[2:4])[0] or whole_bytes
        return max(0, length - 4 * (packet[0] & 0xF) - UDP_BYTES)
    if len(packet) >= IPV6_BYTES and packet[0] >> 4 == 6:
        payload_bytes = struct.unpack("!H", packet[4:6])[0] or whole_bytes - IPV6_BYTES
        return max(0, payload_bytes - UDP_BYTES)
    return None


def _ip_start(record: _Record) -> int | None:
    """The offset of the IP header; None if the packet has none."""
    data, kind = record.data, record.link_type
    if kind in _IP:
        return 0
    if kind == _NULL:
        return 4
    if kind == _SLL2:
        return 20 if struct.unpack("!H", data[:2].ljust(2, b"\0"))[0] in _IP_TYPES else None
    if kind not in (_ETHERNET, _SLL):
        raise TraceError(f"link type {kind} cannot be read; Ethernet, Linux cooked, BSD loopback and raw IP can")
    at = 12 if kind == _ETHERNET else 14
    while len(data) >= at + 2:
        ether_type = struct.unpack("!H", data[at : at + 2])[0]
        if ether_type not in _VLAN_TYPES:
            return at + 2 if ether_type in _IP_TYPES else None
        at += 4
    return None
