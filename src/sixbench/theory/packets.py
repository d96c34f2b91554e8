"""A message cut into packets: TCP segments, or the fragments of a datagram."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ..model.headers import ICMP, TCP, UDP, Header, wire_bytes
from .stacks import CrossedLink

Transport = Literal["tcp", "udp", "icmp"]

TRANSPORT_HEADERS: dict[Transport, Header] = {"tcp": TCP, "udp": UDP, "icmp": ICMP}

TCP_TIMESTAMPS_BYTES = 12
"""The timestamps option with its padding, in every segment (RFC 7323 appendix A): Linux's default."""

FRAGMENT_UNIT_BYTES = 8
"""Fragment offsets count these (RFC 791 section 3.1, RFC 8200 section 4.5)."""

MAX_LENGTH_FIELD = 65535
"""The largest Total Length (RFC 791) and Payload Length (RFC 8200)."""


@dataclass(frozen=True, kw_only=True)
class Packets:
    """Packets that a message becomes on one link: a number of packets of one size, and a last packet.

    Sizes are of IP packets, network headers included; `full_bytes` is 0 if the last packet is the only one.
    """

    full_count: int
    full_bytes: int
    last_bytes: int

    @property
    def count(self) -> int:
        return self.full_count + 1

    @property
    def sizes_bytes(self) -> list[int]:
        """The size of each packet, in order."""
        return [self.full_bytes] * self.full_count + [self.last_bytes]

    @property
    def total_bytes(self) -> int:
        """The bytes of all packets, network headers included."""
        return self.full_count * self.full_bytes + self.last_bytes

    @property
    def wire_bytes(self) -> int:
        """The bytes that all packets take on the wire of the link."""
        return self.full_count * wire_bytes(self.full_bytes) + wire_bytes(self.last_bytes)


def tcp_payload_bytes(hop: CrossedLink, mss_bytes: int | None = None, options_bytes: int = TCP_TIMESTAMPS_BYTES) -> int:
    """The data in a full TCP segment.

    `mss_bytes` is TCP_MAXSEG, which like the MSS option counts the segment without its options, and from which the
    options are then taken (RFC 6691 section 2). Raises `ValueError` where no room is left for data.
    """
    room_bytes = hop.mtu_bytes - hop.network_bytes - TCP.size_bytes
    if mss_bytes is not None:
        room_bytes = min(room_bytes, mss_bytes)
    if room_bytes <= options_bytes:
        raise ValueError(
            f"{room_bytes} bytes after the headers leave no room for data beside {options_bytes} bytes of options"
        )
    return room_bytes - options_bytes


def message_packets(
    transport: Transport,
    message_bytes: int,
    hop: CrossedLink,
    mss_bytes: int | None = None,
    options_bytes: int = TCP_TIMESTAMPS_BYTES,
) -> Packets:
    """A message on its own, on a link: in TCP segments, or as one datagram in the fragments that its source makes.

    Raises `ValueError` where such a message cannot exist.
    """
    if message_bytes < 1:
        raise ValueError(f"a message of {message_bytes} bytes is too short; it has at least 1 byte")
    header = hop.stack[-1]
    outer_bytes = hop.network_bytes - header.size_bytes
    if transport == "tcp":
        packets = _segments(message_bytes, hop, mss_bytes, options_bytes)
    else:
        payload_bytes = message_bytes + TRANSPORT_HEADERS[transport].size_bytes
        packets = fragments(payload_bytes, hop.mtu_bytes - outer_bytes, header)
    return replace(
        packets,
        full_bytes=packets.full_bytes + outer_bytes if packets.full_count else 0,
        last_bytes=packets.last_bytes + outer_bytes,
    )


def fragments(payload_bytes: int, mtu_bytes: int, header: Header) -> Packets:
    """An IP payload as one packet where it fits, else in fragments (RFC 791 section 3.2, RFC 8200 section 4.5).

    They are cut as Linux does it. Each but the last carries as many units of 8 bytes as fit. The last may use all of
    the MTU over IPv4, but over IPv6 no more than the others, although RFC 8200 would let it: at an MTU of 1500 an IPv6
    datagram of 2889 bytes takes three fragments (seen on Linux 6.18). Raises `ValueError` where the payload is over the
    length field.
    """
    largest_bytes = MAX_LENGTH_FIELD - (0 if header.fragment_bytes else header.size_bytes)
    if payload_bytes > largest_bytes:
        raise ValueError(f"{payload_bytes} bytes do not fit in one {header.name} packet: at most {largest_bytes}")
    if header.size_bytes + payload_bytes <= mtu_bytes:
        return Packets(full_count=0, full_bytes=0, last_bytes=header.size_bytes + payload_bytes)
    headers_bytes = header.size_bytes + header.fragment_bytes
    room_bytes = mtu_bytes - headers_bytes
    aligned_bytes = room_bytes // FRAGMENT_UNIT_BYTES * FRAGMENT_UNIT_BYTES
    if aligned_bytes <= 0:
        raise ValueError(
            f"an MTU of {mtu_bytes} bytes leaves no room for fragments beside {headers_bytes} bytes of headers"
        )
    last_bytes = aligned_bytes if header.fragment_bytes else room_bytes
    full_count = max(0, -(-(payload_bytes - last_bytes) // aligned_bytes))
    return Packets(
        full_count=full_count,
        full_bytes=headers_bytes + aligned_bytes if full_count else 0,
        last_bytes=headers_bytes + payload_bytes - full_count * aligned_bytes,
    )


def _segments(message_bytes: int, hop: CrossedLink, mss_bytes: int | None, options_bytes: int) -> Packets:
    payload_bytes = tcp_payload_bytes(hop, mss_bytes, options_bytes)
    headers_bytes = hop.stack[-1].size_bytes + TCP.size_bytes + options_bytes
    full_count = (message_bytes - 1) // payload_bytes
    return Packets(
        full_count=full_count,
        full_bytes=headers_bytes + payload_bytes if full_count else 0,
        last_bytes=headers_bytes + message_bytes - full_count * payload_bytes,
    )
