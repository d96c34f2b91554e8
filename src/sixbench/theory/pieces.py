"""Pieces of an IP packet at one node: those in which its source sends it, in which a router passes it on, and in which
a node that tracks connections does. Linux's arithmetic (net/ipv4/ip_output.c, net/ipv6/ip6_output.c)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..model.headers import IPV4, IPV6, Header
from ..model.topology import ETHERNET_MIN_MTU_V6, Family
from .packets import fragments

Policy = Literal["clear", "set", "probe", "kernel", "atomic"]
"""A sender's policy about fragmentation (IP_MTU_DISCOVER, IPV6_MTU_DISCOVER):

- `clear` never sets DF, and fragments packets that do not fit (IP_PMTUDISC_DONT).
- `set` sets DF, and refuses packets that are longer than the path MTU it knows (IP_PMTUDISC_DO).
- `probe` sets DF, and heeds only the MTU of the device (IP_PMTUDISC_PROBE).
- `kernel` is Linux's default. It sets DF as long as a packet fits the path MTU it knows, and else sends fragments
  without DF (IP_PMTUDISC_WANT).
- `atomic` is for IPv6 only. Each packet is an atomic fragment (RFC 6946), and is refused if it is longer than the path
  MTU it knows."""

POLICIES: tuple[Policy, ...] = ("clear", "set", "probe", "kernel", "atomic")

MIN_LEARNED_MTU_V4 = 552
"""net.ipv4.route.min_pmtu. Linux uses it in place of a smaller "next-hop MTU"; DF is off then (`ip_mtu_locked`)."""


class TooLong(ValueError):
    """A node does not send a packet. `mtu_bytes` is the size that it says would fit. None: no size would help."""

    def __init__(self, message: str, mtu_bytes: int | None = None) -> None:
        super().__init__(message)
        self.mtu_bytes = mtu_bytes


@dataclass(frozen=True, kw_only=True)
class Piece:
    """An IP packet: whole, or a fragment of one.

    Attributes:
        offset_bytes: the place of its payload in the payload of the whole packet.
        payload_bytes: bytes after the IPv4 header, or after the IPv6 header and its Fragment header if it has one.
        has_more: the flag More Fragments.
        is_df: the flag Don't Fragment of IPv4. Always true over IPv6, whose routers do not fragment.
        is_atomic: whether it is whole and yet has a Fragment header (RFC 6946).
    """

    offset_bytes: int
    payload_bytes: int
    has_more: bool
    is_df: bool
    is_atomic: bool = False

    @property
    def is_fragment(self) -> bool:
        """True if it is only a part of a packet."""
        return self.has_more or self.offset_bytes > 0

    @property
    def is_marked(self) -> bool:
        """True if its headers say that it is a fragment, even if it is whole."""
        return self.is_fragment or self.is_atomic

    def size_bytes(self, family: Family) -> int:
        """The size of the packet, IP headers included."""
        header = header_of(family)
        return header.size_bytes + (header.fragment_bytes if self.is_marked else 0) + self.payload_bytes


def header_of(family: Family) -> Header:
    """The IP header of that version."""
    return IPV4 if family == 4 else IPV6


def originate(
    payload_bytes: int, family: Family, policy: Policy, device_bytes: int, known_bytes: int | None
) -> list[Piece]:
    """A packet as its source sends it.

    Args:
        payload_bytes: the payload of IP, with the transport header.
        device_bytes: the MTU of the link that it leaves by.
        known_bytes: the path MTU that the source has learned. None: it has learned none yet.

    Raises:
        TooLong: the policy forbids fragments, or it is longer than a packet can be.
    """
    header = header_of(family)
    mtu_bytes = device_bytes if known_bytes is None or policy == "probe" else min(device_bytes, known_bytes)
    if policy == "atomic":
        whole = Piece(offset_bytes=0, payload_bytes=payload_bytes, has_more=False, is_df=True, is_atomic=True)
        if whole.size_bytes(family) > mtu_bytes:
            raise TooLong(f"an atomic fragment of {whole.size_bytes(family)} bytes is over an MTU of {mtu_bytes}")
        return [whole]
    try:
        packets = fragments(payload_bytes, mtu_bytes, header)
    except ValueError as error:
        raise TooLong(str(error)) from error
    if packets.count == 1:
        is_df = family == 6 or policy in ("set", "probe") or (policy == "kernel" and not _is_locked(known_bytes))
        return [Piece(offset_bytes=0, payload_bytes=payload_bytes, has_more=False, is_df=is_df)]
    if policy in ("set", "probe"):
        raise TooLong(f"{header.size_bytes + payload_bytes} bytes are over an MTU of {mtu_bytes}, and DF is {policy}")
    headers_bytes = header.size_bytes + header.fragment_bytes
    return _numbered([size - headers_bytes for size in packets.sizes_bytes], is_df=family == 6)


def forward(piece: Piece, family: Family, mtu_bytes: int) -> list[Piece]:
    """A packet as a router passes it on to a link of that MTU: whole or, over IPv4, cut (RFC 791 section 3.2). Raises
    `TooLong` where its source must be told (RFC 1191, RFC 8201)."""
    if piece.size_bytes(family) <= mtu_bytes:
        return [piece]
    if family == 6 or piece.is_df:
        raise TooLong(f"{piece.size_bytes(family)} bytes over an MTU of {mtu_bytes}", mtu_bytes)
    sizes = fragments(piece.payload_bytes, mtu_bytes, IPV4).sizes_bytes
    cut = _numbered([size - IPV4.size_bytes for size in sizes], is_df=False, start_bytes=piece.offset_bytes)
    return [*cut[:-1], replace(cut[-1], has_more=piece.has_more)]


def forward_reassembled(pieces: Sequence[Piece], family: Family, mtu_bytes: int) -> list[Piece]:
    """All fragments of a packet as a router passes them on that has put them together first, as Linux does where it
    tracks connections: in the pieces that came where each fits, else anew. Over IPv6 none may be longer than the MTU,
    over IPv4 none gets longer than the longest that came (`frag_max_size`). An atomic fragment loses its
    Fragment header first. Raises `TooLong`."""
    pieces = [replace(piece, is_atomic=False) for piece in pieces]
    largest_bytes = max(piece.size_bytes(family) for piece in pieces)
    if family == 6:
        if largest_bytes > mtu_bytes:
            raise TooLong(f"{largest_bytes} bytes over an MTU of {mtu_bytes}", mtu_bytes)
        room_bytes = max(largest_bytes, ETHERNET_MIN_MTU_V6)
    else:
        room_bytes = min(largest_bytes, mtu_bytes)
    if largest_bytes <= room_bytes:
        return pieces
    sizes = fragments(payload_of(pieces), room_bytes, header_of(family)).sizes_bytes
    return _numbered([size - IPV4.size_bytes for size in sizes], is_df=False)


def payload_of(pieces: Iterable[Piece]) -> int:
    """The payload of the whole packet that the fragments belong to."""
    return sum(piece.payload_bytes for piece in pieces)


def is_complete(pieces: Sequence[Piece]) -> bool:
    """True if they are all fragments of a packet, in order."""
    at = 0
    for piece in pieces:
        if piece.offset_bytes != at:
            return False
        at += piece.payload_bytes
    return bool(pieces) and not pieces[-1].has_more


def learned(known_bytes: int | None, told_bytes: int, family: Family) -> int:
    """The path MTU that a source takes from an error that names one."""
    least_bytes = ETHERNET_MIN_MTU_V6 if family == 6 else MIN_LEARNED_MTU_V4
    told_bytes = max(told_bytes, least_bytes)
    return told_bytes if known_bytes is None else min(known_bytes, told_bytes)


def _is_locked(known_bytes: int | None) -> bool:
    return known_bytes is not None and known_bytes <= MIN_LEARNED_MTU_V4


def _numbered(payloads_bytes: Sequence[int], *, is_df: bool, start_bytes: int = 0) -> list[Piece]:
    pieces = []
    at = start_bytes
    for index, payload_bytes in enumerate(payloads_bytes):
        has_more = index < len(payloads_bytes) - 1
        pieces.append(Piece(offset_bytes=at, payload_bytes=payload_bytes, has_more=has_more, is_df=is_df))
        at += payload_bytes
    return pieces
