"""The translation of an IP packet (RFC 7915), as the agent's translators do it."""

from __future__ import annotations

from dataclasses import replace

from ..model.device import Translator
from ..model.topology import ETHERNET_MIN_MTU_V6, Family
from .packets import FRAGMENT_UNIT_BYTES
from .pieces import Piece, TooLong, header_of

SMALL_BYTES = 1260
"""An IPv4 packet of at most this length, with no Fragment header before, may be fragmented (RFC 7915 section 5.1)."""


def translate(piece: Piece, device: Translator, to: Family) -> list[Piece]:
    """The pieces that a packet becomes in the other family. Raises `TooLong` with the MTU of which its source is told,
    in the source's own family."""
    return _to_ipv6(piece, device) if to == 6 else [_to_ipv4(piece, device)]


def _to_ipv6(piece: Piece, device: Translator) -> list[Piece]:
    """RFC 7915 section 4: what may be fragmented is cut so that it passes every IPv6 link."""
    header = header_of(6)
    mtu_bytes = int(device.mapping["mtu6"])
    size_bytes = piece.size_bytes(6)
    if piece.is_df:
        if size_bytes > mtu_bytes:
            more_bytes = size_bytes - piece.size_bytes(4)
            raise TooLong(f"{size_bytes} bytes over an MTU of {mtu_bytes}", mtu_bytes - more_bytes)
        return [piece]
    most_bytes = min(int(device.mapping["lowest_ipv6_mtu"]), mtu_bytes)
    if size_bytes <= most_bytes:
        return [replace(piece, is_df=True)]
    room_bytes = (most_bytes - header.size_bytes - header.fragment_bytes) // FRAGMENT_UNIT_BYTES * FRAGMENT_UNIT_BYTES
    starts = range(0, piece.payload_bytes, room_bytes)
    return [
        Piece(
            offset_bytes=piece.offset_bytes + start,
            payload_bytes=min(room_bytes, piece.payload_bytes - start),
            has_more=piece.has_more or start != starts[-1],
            is_df=True,
        )
        for start in starts
    ]


def _to_ipv4(piece: Piece, device: Translator) -> Piece:
    """RFC 7915 section 5.1: without a Fragment header, only short packets may be fragmented."""
    mtu_bytes = int(device.mapping["mtu4"])
    if piece.is_marked:
        return replace(piece, is_df=False, is_atomic=False)
    size_bytes = piece.size_bytes(4)
    is_df = size_bytes > SMALL_BYTES
    if is_df and size_bytes > mtu_bytes:
        more_bytes = header_of(6).size_bytes - header_of(4).size_bytes
        told_bytes = min(max(mtu_bytes + more_bytes, ETHERNET_MIN_MTU_V6), int(device.mapping["mtu6"]))
        raise TooLong(f"{size_bytes} bytes over an MTU of {mtu_bytes}", told_bytes)
    return replace(piece, is_df=is_df)
