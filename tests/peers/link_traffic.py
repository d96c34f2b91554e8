"""Frames with known contents on their way over two links at once, and when and how each came out.

Both ends of each link are watched by packet sockets, whose times are the kernel's: what the sender does late is in
both of them. What the sockets saw is read when all is over, so that nothing of ours runs meanwhile but the sender.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
import struct
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address

FRAME_BYTES = 600
"""Nothing else here has frames of this size: another content is a corrupted frame."""
FAMILIES = (4, 6)
"""Frames are of one and the other in turn."""

ETH_P_ALL = 3
SEES_NOTHING = 0
"""The protocol of a socket that only sends."""
CLONE_NEWNET = 0x40000000
SO_TIMESTAMPNS = 35
SO_SNDBUFFORCE = 32
SO_RCVBUFFORCE = 33
BUFFER_BYTES = 2**25
SOURCES = {4: IPv4Address("198.18.1.2"), 6: IPv6Address("2001:2:0:1::2")}
DESTINATIONS = {4: IPv4Address("198.18.2.2"), 6: IPv6Address("2001:2:0:2::2")}
ETHERTYPES = {4: 0x0800, 6: 0x86DD}
UDP = 17
PATTERN = bytes(range(256)) * 4
SENDER_MAC, RECEIVER_MAC = bytes.fromhex("020000000101"), bytes.fromhex("020000000102")


@dataclass(frozen=True, kw_only=True)
class FrameLink:
    """A link that frames are sent over.

    Attributes:
        sender: a socket to send by, which does not see what it sends.
        entrance, exit: sockets at both of its ends; what waits for a rate has not yet passed the entrance.
        sent, arriving: the frame of a number, as it goes in and as it has to come out.
    """

    sender: socket.socket
    entrance: socket.socket
    exit: socket.socket
    sent: Callable[[int], bytes]
    arriving: Callable[[int], bytes]


@dataclass(kw_only=True)
class Outcome:
    """Outcome of the frames in one direction.

    Attributes:
        delays_ns: by number of the frame, of each of its copies that came.
        order: the numbers as they came.
        corrupted: frames that came with another content.
    """

    count: int
    delays_ns: dict[int, list[int]] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    corrupted: int = 0

    def of(self, family: int) -> list[int]:
        """The delays of the first copies of a family's frames."""
        return [copies[0] for number, copies in self.delays_ns.items() if family_of(number) == family]

    def lost(self, family: int) -> int:
        """Number of frames of a family that did not come whole."""
        return sum(family_of(number) == family and number not in self.delays_ns for number in range(self.count))


def family_of(number: int) -> int:
    """The IP version of a frame."""
    return FAMILIES[number % 2]


def packet_socket(pid: int, interface: str, protocol: int = ETH_P_ALL) -> socket.socket:
    """One on an interface in the network namespace of a process, that sees what comes and what others send."""

    def opened() -> socket.socket:
        with open(f"/proc/{pid}/ns/net") as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"entering the namespace of {pid}")
        raw_socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
        for buffer in (SO_RCVBUFFORCE, SO_SNDBUFFORCE):
            raw_socket.setsockopt(socket.SOL_SOCKET, buffer, BUFFER_BYTES)
        raw_socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        raw_socket.bind((interface, protocol))
        raw_socket.setblocking(False)
        return raw_socket

    # A thread of its own, which ends: a namespace is entered by a thread alone.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(opened).result()


def frame(number: int, source: bytes, destination: bytes, hops: int = 64) -> bytes:
    """The frame of a number, with these hardware addresses and hops left."""
    family = family_of(number)
    payload = number.to_bytes(4, "big")
    header_bytes = 14 + (20 if family == 4 else 40) + 8
    payload += PATTERN[number % 256 :][: FRAME_BYTES - header_bytes - len(payload)]
    udp_bytes = 8 + len(payload)
    addresses = SOURCES[family].packed + DESTINATIONS[family].packed
    udp = struct.pack("!HHHH", 4789, 4789, udp_bytes, 0)
    pseudo = addresses + struct.pack("!IHBB", udp_bytes, 0, 0, UDP)
    udp = udp[:6] + struct.pack("!H", _checksum(pseudo + udp + payload) or 0xFFFF)
    if family == 6:
        header = struct.pack("!IHBB", 6 << 28, udp_bytes, UDP, hops) + addresses
    else:
        header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + udp_bytes, number & 0xFFFF, 0, hops, UDP, 0) + addresses
        header = header[:10] + struct.pack("!H", _checksum(header)) + header[12:]
    return destination + source + struct.pack("!H", ETHERTYPES[family]) + header + udp + payload


def send(ways: list[FrameLink], count: int, rate_per_s: float, under_way_s: float) -> list[Outcome]:
    """Sends frames over all ways, each number at the same time, and waits until none is under way any more."""
    sent = [[link.sent(number) for number in range(count)] for link in ways]
    for link in ways:
        _drain(link.entrance)
        _drain(link.exit)
    started = time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, started + number / rate_per_s - time.monotonic()))
        for link, frames in zip(ways, sent, strict=True):
            # A queue that is full may tell its sender; such a frame is lost like others.
            with contextlib.suppress(OSError):
                link.sender.send(frames[number])
    time.sleep(under_way_s)
    return [_outcome(link, count) for link in ways]


def _outcome(link: FrameLink, count: int) -> Outcome:
    entered = {data: at_ns for data, at_ns, is_outgoing in _drain(link.entrance) if is_outgoing}
    numbers = {link.arriving(number): number for number in range(count)}
    outcome = Outcome(count=count)
    for data, at_ns, is_outgoing in _drain(link.exit):
        if is_outgoing or len(data) != FRAME_BYTES:
            continue
        number = numbers.get(data)
        if number is None:
            outcome.corrupted += 1
            continue
        outcome.order.append(number)
        outcome.delays_ns.setdefault(number, []).append(at_ns - entered[link.sent(number)])
    return outcome


def _drain(watched: socket.socket) -> list[tuple[bytes, int, bool]]:
    """Frames that a socket saw: the frame, its time, and True if it went out there."""
    seen = []
    while True:
        try:
            data, ancillary, _, address = watched.recvmsg(2 * FRAME_BYTES, 64)
        except BlockingIOError:
            return seen
        seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
        seen.append((data, seconds * 10**9 + nanoseconds, address[2] == socket.PACKET_OUTGOING))


def _checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
