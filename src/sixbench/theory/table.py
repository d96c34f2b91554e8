"""Rows of the tables that `sixbench theory` shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model.headers import ETHERNET, GAP_BYTES, PREAMBLE_BYTES
from .packets import (
    TCP_TIMESTAMPS_BYTES,
    TRANSPORT_HEADERS,
    Transport,
    message_packets,
    tcp_payload_bytes,
)
from .stacks import CrossedLink, hop_over


@dataclass(frozen=True, kw_only=True)
class Row:
    """A message of one transport over one mechanism, on one link.

    Attributes:
        payload_bytes: the message, as the application hands it over.
        packets: how many segments or fragments it takes.
        header_bytes: Ethernet, network and transport headers of all packets, with options but without FCS and padding.
        frame_bytes: all frames with FCS and padding. With one packet it is the frame size of RFC 2544.
        wire_bytes: all frames with preambles and gaps.
        overhead_ratio: headers to payload, as Table 1 of raicu-stack-rtt has it.
        efficiency_ratio: payload to wire.
        goodput_limit_bps: payload per second back to back; None without a rate.
    """

    mechanism: str
    transport: Transport
    mtu_bytes: int
    payload_bytes: int
    packets: int
    header_bytes: int
    frame_bytes: int
    wire_bytes: int
    overhead_ratio: float
    efficiency_ratio: float
    goodput_limit_bps: float | None


@dataclass(frozen=True, kw_only=True)
class FullPacket:
    """The largest packet of an Ethernet, layer by layer: a column of Table 1 of raicu-stack-rtt.

    `total_bytes` is the frame without FCS, which the paper calls "Total Ethernet MTU".
    """

    mechanism: str
    transport: Transport
    payload_bytes: int
    transport_header_bytes: int
    ip_payload_bytes: int
    ip_header_bytes: int
    ethernet_header_bytes: int
    total_bytes: int
    overhead_ratio: float


def table(
    mechanisms: Sequence[str] = ("native4", "native6"),
    transports: Sequence[Transport] = ("tcp", "udp"),
    sizes_bytes: Sequence[int | None] = (None,),
    mtu_bytes: int = 1500,
    rate_bps: int | None = None,
    mss_bytes: int | None = None,
    timestamps: bool = True,
) -> list[Row]:
    """One row for each mechanism, transport and size, in that order.

    Args:
        sizes_bytes: sizes of messages, each sent on its own. None: the size that fills one packet.
        timestamps: whether TCP carries them, as Linux does by default.

    Raises:
        ValueError: an unknown mechanism, or a message that cannot exist.
    """
    options_bytes = TCP_TIMESTAMPS_BYTES if timestamps else 0
    rows = []
    for mechanism in mechanisms:
        hop = hop_over(mechanism, mtu_bytes, rate_bps)
        for transport in transports:
            for size_bytes in sizes_bytes:
                message_bytes = (
                    _full_payload_bytes(transport, hop, mss_bytes, options_bytes) if size_bytes is None else size_bytes
                )
                rows.append(_row(mechanism, transport, message_bytes, hop, mss_bytes, options_bytes))
    return rows


def full_packet(mechanism: str, transport: Transport) -> FullPacket:
    """The largest packet over a mechanism, at an MTU of 1500 and without options of TCP. Raises `ValueError` on an
    unknown mechanism."""
    hop = hop_over(mechanism, 1500)
    payload_bytes = _full_payload_bytes(transport, hop, None, 0)
    transport_header_bytes = TRANSPORT_HEADERS[transport].size_bytes
    headers_bytes = transport_header_bytes + hop.network_bytes + ETHERNET.size_bytes
    return FullPacket(
        mechanism=mechanism,
        transport=transport,
        payload_bytes=payload_bytes,
        transport_header_bytes=transport_header_bytes,
        ip_payload_bytes=transport_header_bytes + payload_bytes,
        ip_header_bytes=hop.network_bytes,
        ethernet_header_bytes=ETHERNET.size_bytes,
        total_bytes=headers_bytes + payload_bytes,
        overhead_ratio=headers_bytes / payload_bytes,
    )


def raicu_table_1() -> list[FullPacket]:
    """Table 1 of raicu-stack-rtt: TCP over IPv4 and IPv6, then UDP over both."""
    transports: tuple[Transport, ...] = ("tcp", "udp")
    return [full_packet(mechanism, transport) for transport in transports for mechanism in ("native4", "native6")]


def _full_payload_bytes(transport: Transport, hop: CrossedLink, mss_bytes: int | None, options_bytes: int) -> int:
    if transport == "tcp":
        return tcp_payload_bytes(hop, mss_bytes, options_bytes)
    return hop.mtu_bytes - hop.network_bytes - TRANSPORT_HEADERS[transport].size_bytes


def _row(
    mechanism: str,
    transport: Transport,
    message_bytes: int,
    hop: CrossedLink,
    mss_bytes: int | None,
    options_bytes: int,
) -> Row:
    packets = message_packets(transport, message_bytes, hop, mss_bytes, options_bytes)
    header_bytes = packets.total_bytes - message_bytes + packets.count * ETHERNET.size_bytes
    on_wire_bytes = packets.wire_bytes
    frames_bytes = on_wire_bytes - packets.count * (PREAMBLE_BYTES + GAP_BYTES)
    return Row(
        mechanism=mechanism,
        transport=transport,
        mtu_bytes=hop.mtu_bytes,
        payload_bytes=message_bytes,
        packets=packets.count,
        header_bytes=header_bytes,
        frame_bytes=frames_bytes,
        wire_bytes=on_wire_bytes,
        overhead_ratio=header_bytes / message_bytes,
        efficiency_ratio=message_bytes / on_wire_bytes,
        goodput_limit_bps=None if hop.rate_bps is None else hop.rate_bps * message_bytes / on_wire_bytes,
    )
